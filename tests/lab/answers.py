"""The files a host's fake commands answer from, written when the lab comes up or its state is changed."""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from typing import Any

from tests.lab import network
from tests.lab.hardware import RDMA_SINCE, Hardware
from tests.lab.thunderbolt import as_json, as_text, identity, with_peer, without_peer
from tests.lab.topology import Host

Files = Iterator[tuple[str, str]]

GB = 1 << 30
MILLION = 1_000_000
NEW_SNTP = SAYS_FULL_DISK_ACCESS = (15,)
SILENT_SYSCTL = (26,)  # from this release on an unknown name is skipped without a word
FILE_SCALE = 30720
FILE_SCALES = ((32, 16), (16, 8), (0, 4))  # memory in GB from which on the kernel takes a scale


def _facts(host: Host) -> str:
    """Shell variables, because sourcing one file is the cheapest way to read many values."""
    hardware = host.hardware
    generation = int(hardware.darwin.partition(".")[0]) - 13
    release = f"root:xnu-{generation}377.1.9~3/RELEASE_ARM64_{hardware.soc}"
    values = {
        "version": hardware.macos,
        "build": hardware.build_name,
        "release": hardware.darwin,
        "kernel": f"Darwin Kernel Version {hardware.darwin}: Mon Nov  2 20:11:42 PST 2026; {release}",
        "strict_sysctl": "" if hardware.version >= SILENT_SYSCTL else "yes",
        "speaks_rdma": "yes" if hardware.speaks_rdma else "",
        "memory": str(hardware.memory_gb * GB),
        "pages": str(hardware.memory_gb * GB // 4096),
        "laptop": "yes" if hardware.laptop else "",
        "high_power": "yes" if hardware.high_power else "",
        "old_sntp": "" if hardware.version >= NEW_SNTP else "yes",
        "says_access": "yes" if hardware.version >= SAYS_FULL_DISK_ACCESS else "",
        "python": sys.executable,
    }
    return "".join(f"{key}={shlex.quote(value)}\n" for key, value in values.items())


def _levels(hardware: Hardware) -> Iterator[tuple[str, Any]]:
    for n, (name, count) in enumerate(hardware.levels):
        for leaf in ("physicalcpu", "physicalcpu_max", "logicalcpu", "logicalcpu_max"):
            yield f"hw.perflevel{n}.{leaf}", count
        yield f"hw.perflevel{n}.name", name


def _sysctls(hardware: Hardware) -> Iterator[tuple[str, Any]]:
    yield from (("hw.ncpu", hardware.cores), ("hw.activecpu", hardware.cores))
    yield from (("hw.physicalcpu", hardware.cores), ("hw.logicalcpu", hardware.cores))
    yield from (("hw.memsize", hardware.memory_gb * GB), ("hw.model", hardware.identifier))
    yield from (("hw.nperflevels", len(hardware.levels)), ("hw.pagesize", 16384), ("hw.optional.arm64", 1))
    yield from _levels(hardware)
    yield from (("machdep.cpu.brand_string", hardware.chip), ("machdep.cpu.core_count", hardware.cores))
    yield from (("kern.osproductversion", hardware.macos), ("kern.osversion", hardware.build_name))
    yield from (("kern.osrelease", hardware.darwin), ("kern.ostype", "Darwin"))
    scale = next(scale for least, scale in FILE_SCALES if hardware.memory_gb >= least)
    yield from (("kern.maxfiles", FILE_SCALE * scale), ("kern.maxfilesperproc", FILE_SCALE * scale // 2))
    yield from (("iogpu.wired_limit_mb", 0), ("iogpu.dynamic_lwm", 1), ("kern.ipc.maxsockbuf", 8388608))
    yield from (("net.inet.tcp.delayed_ack", 3), ("net.inet.tcp.mssdflt", 512))
    yield from (("net.inet.tcp.sendspace", 131072), ("net.inet.tcp.recvspace", 131072))
    yield from (("net.inet.tcp.autosndbufmax", 4194304), ("net.inet.tcp.autorcvbufmax", 4194304))
    yield from (("net.inet.tcp.win_scale_factor", 3), ("kern.ipc.somaxconn", 128))
    seconds, rest = divmod(time.time_ns() // 1000, MILLION)
    yield "kern.boottime", f"{{ sec = {seconds}, usec = {rest} }} {time.ctime(seconds)}"
    yield "vm.loadavg", "measured when it is asked for"
    yield "vm.swapusage", "total = 2048.00M  used = 512.00M  free = 1536.00M  (encrypted)"
    if hardware.version >= RDMA_SINCE:
        yield "debug.rdma.version", "Nov  2 2026 20:11:42 RDMA_family"


def processors(hardware: Hardware) -> str:
    """`number_processors`: the fields and their order have changed twice."""
    s, p, e = (hardware.count(name) for name in ("Super", "Performance", "Efficiency"))
    if hardware.version >= (27,):
        return f"proc {hardware.cores}:{s}:{p}:{e}"
    if hardware.version >= (26,):
        return f"proc {hardware.cores}:{s or p}:{e}:{p if s else 0}"
    return f"proc {hardware.cores}:{s + p}:{e}"


def _section(name: str, entries: list[dict[str, Any]]) -> str:
    """One data type of the JSON form, without the braces around the whole."""
    text = json.dumps({name: entries}, indent=2, separators=(",", " : "), sort_keys=True, ensure_ascii=False)
    return text[2:-2]


def _hardware_json(host: Host) -> str:
    hardware, serial = host.hardware, identity(host.name, "serial").replace("-", "")[:10]
    entry = {
        "_name": "hardware_overview",
        "activation_lock_status": "activation_lock_disabled",
        "boot_rom_version": f"{hardware.version[0]}000.61.4",
        "chip_type": hardware.chip,
        "machine_model": hardware.identifier,
        "machine_name": hardware.machine,
        "model_number": "ZLAB00000LL/A",
        "number_processors": processors(hardware),
        "os_loader_version": f"{hardware.version[0]}000.61.4",
        "physical_memory": f"{hardware.memory_gb} GB",
        "platform_UUID": identity(host.name, "platform"),
        "provisioning_UDID": f"00008{host.index:03d}-000{serial}000"[:25],
        "serial_number": serial,
    }
    return _section("SPHardwareDataType", [entry])


def _hardware_text(host: Host) -> str:
    hardware = host.hardware
    kinds = " and ".join(f"{count} {name.lower()}" for name, count in hardware.levels)
    lines = (
        f"Model Name: {hardware.machine}",
        f"Model Identifier: {hardware.identifier}",
        "Model Number: ZLAB00000LL/A",
        f"Chip: {hardware.chip}",
        f"Total Number of Cores: {hardware.cores} ({kinds})",
        f"Memory: {hardware.memory_gb} GB",
        f"System Firmware Version: {hardware.version[0]}000.61.4",
        f"Hardware UUID: {identity(host.name, 'platform')}",
    )
    body = textwrap.indent("\n".join(lines), "      ")
    return f"Hardware:\n\n    Hardware Overview:\n\n{body}\n\n"


def _displays(hardware: Hardware) -> Files:
    entry: dict[str, Any] = {
        "_name": hardware.chip,
        "spdisplays_mtlgpufamilysupport": "spdisplays_metal4"
        if hardware.version >= (26,)
        else "spdisplays_metal3",
        "spdisplays_ndrvs": [],
        "spdisplays_vendor": "sppci_vendor_Apple",
        "sppci_bus": "spdisplays_builtin",
        "sppci_cores": str(hardware.gpu_cores),
        "sppci_device_type": "spdisplays_gpu",
        "sppci_model": hardware.chip,
    }
    metal = "Metal 4" if hardware.version >= (26,) else "Metal 3"
    lines = (
        f"Chipset Model: {hardware.chip}",
        "Type: GPU",
        "Bus: Built-In",
        f"Total Number of Cores: {hardware.gpu_cores}",
        "Vendor: Apple (0x106b)",
        f"Metal Support: {metal}",
    )
    body = textwrap.indent("\n".join(lines), "      ")
    yield "profiler/SPDisplaysDataType.json", _section("SPDisplaysDataType", [entry])
    yield "profiler/SPDisplaysDataType.txt", f"Graphics/Displays:\n\n    {hardware.chip}:\n\n{body}\n\n"


def _profiler(host: Host) -> Files:
    yield "profiler/open", "{\n"
    yield "profiler/comma", ",\n"
    yield "profiler/close", "\n}\n"
    yield "profiler/SPHardwareDataType.json", _hardware_json(host)
    yield "profiler/SPHardwareDataType.txt", _hardware_text(host)
    yield from _displays(host.hardware)
    yield "thunderbolt/open", '  "SPThunderboltDataType" : [\n'
    yield "thunderbolt/close", "  ]"
    yield "thunderbolt/title", "Thunderbolt/USB4:\n\n"
    ports = sorted(host.hardware.ports, reverse=True)
    yield "thunderbolt/buses", "".join(f"{number} {device}\n" for number, device in ports)


def thunderbolt(host: Host, peers: Mapping[str, tuple[Host, bool]]) -> Files:
    """Files for each port; ``peers`` maps a name to its host and whether that host's RDMA is on."""
    lowest = min(number for number, _ in host.hardware.ports)
    for number, device in host.hardware.ports:
        forms = {"empty": without_peer(host, number)}
        if (cable := host.cable_at(device)) and cable.facing(host.name)[1].host in peers:
            peer, rdma = peers[cable.facing(host.name)[1].host]
            forms["up"] = with_peer(host, cable, peer, rdma=rdma)
            yield f"thunderbolt/{number}.offers_rdma", "yes\n" if rdma else "no\n"
        for form, bus in forms.items():
            yield f"thunderbolt/{number}.{form}.json", as_json(bus, last=number == lowest)
            yield f"thunderbolt/{number}.{form}.txt", as_text(bus, host.hardware.version)


def _power(hardware: Hardware) -> Files:
    common = {
        "Sleep On Power Button": 1,
        ("powermode" if hardware.high_power else "lowpowermode"): 0,
        "standby": 1 if hardware.laptop else 0,
        "ttyskeepawake": 1,
        "hibernatemode": 3 if hardware.laptop else 0,
        "powernap": 1,
        "hibernatefile": "/var/vm/sleepimage",
        "displaysleep": 10,
        "womp": 1,
        "networkoversleep": 0,
        "sleep": 1,
        "tcpkeepalive": 1,
        "disksleep": 10,
        **({} if hardware.laptop else {"autorestart": 0}),
    }
    extras: dict[str, dict[str, Any]] = {"AC": {}}
    if hardware.laptop:
        extras["Battery"] = {"lessbright": 1, "womp": 0}
    if hardware.ups:
        extras["UPS"] = {"haltlevel": -1, "haltafter": -1, "haltremain": -1}
    for source, extra in extras.items():
        settings = {**common, **extra}
        yield from ((f"pmset/{source} Power/{key}", f"{value}\n") for key, value in settings.items())
    yield "power_source", "AC Power\n"
    yield "power_log", power_event(time.time(), "Start", "powerd process is started")


def power_event(when: float, kind: str, text: str) -> str:
    """One line of `pmset -g log`; ``kind`` is Sleep, DarkWake, Wake, Start or the like."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S +0000", time.gmtime(when))
    return f"{stamp} {kind:<20}\t{text}\n"


def _services(host: Host) -> Files:
    """Hardware ports and services; with the bridge it takes all ports, without it each port has a service."""
    thunderbolts = [f"{device} Thunderbolt {number}" for number, device in host.hardware.ports]
    lan = "en0 Wi-Fi" if host.hardware.laptop else "en0 Ethernet"
    wireless = [] if host.hardware.laptop else ["en1 Wi-Fi"]
    bridge = ["bridge0 Thunderbolt Bridge"] if host.bridge_ip else []
    yield "ports", "\n".join((lan, *bridge, *wireless, *thunderbolts, ""))
    services = (lan, *(bridge or thunderbolts), *wireless)
    yield "services", "".join(f"on {service}\n" for service in services)


def _rdma(host: Host) -> Files:
    yield "rdma", "enabled\n" if host.hardware.rdma else "disabled\n"
    devices = []
    for n, (_, device) in enumerate(host.hardware.ports, 1):
        guid = identity(host.name, device, "guid").replace("-", "")[:16].lower()
        devices.append(f"{n} {device} {guid} {network.mac(host.name, device)}\n")
    yield "rdma_devices", "".join(devices)


def _names(host: Host) -> Files:
    yield "names/ComputerName", f"Lab\u2019s {host.hardware.machine} {host.index + 1}\n"
    yield "names/LocalHostName", f"{host.name}\n"
    yield "names/HostName", "\n"


def _posture(hardware: Hardware) -> Files:
    """An empty line stands for what is not set, so that a state can be put back as it was."""
    yield "filevault", "on\n" if hardware.laptop else "off\n"
    yield from (("sip", "enabled\n"), ("gatekeeper", "enabled\n"))
    yield from (("firewall", "0\n"), ("stealth", "off\n"), ("firewall_apps", "\n"))
    yield from (("network_time", "on\n"), ("time_server", "time.apple.com\n"))
    yield from (("remote_login", "on\n"), ("full_disk_access", "\n"))
    yield from (("sntp/offset", "+0.004711\n"), ("sntp/error", "0.012345\n"))
    yield from ((f"sntp/{name}", "\n") for name in ("failure", "noise", "stepped"))


def _unwilling(hardware: Hardware) -> Files:
    yield "stubborn", " ".join(hardware.stubborn) + "\n"
    yield "readonly", "\n"


def boot_record() -> str:
    """One line of `last reboot`."""
    return f"reboot time                                {time.strftime('%a %b %e %H:%M')}\n"


def render(host: Host) -> Files:
    """Every file but those that speak of peers."""
    if host.hardware.is_mac:
        yield "facts", _facts(host)
        yield from ((f"sysctl/{key}", f"{value}\n") for key, value in _sysctls(host.hardware))
        yield from _profiler(host)
        yield from _power(host.hardware)
        yield from _services(host)
        yield from _rdma(host)
        yield from _names(host)
        yield from _posture(host.hardware)
        yield from _unwilling(host.hardware)
        yield "limits/maxfiles", "256 unlimited\n"
        yield "boots", boot_record()
        yield "thermal", "\n"
        yield "free_percent", "87\n"
