"""Links, addresses and faults: all through `ip`, `tc` and `iptables` inside the lab's own namespaces."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Collection, Container, Iterator, Sequence

from tests.lab.paths import Paths
from tests.lab.topology import GATEWAY, Cable, End, Host

SWITCH, CONTROLLER = "sw", "ctl"
LOOPED = ("ring", "mesh")


def inside(paths: Paths, name: str, *argv: str, text: str | None = None, check: bool = True) -> None:
    """Run a command in the network namespace of a host, the switch or the controller."""
    ran = subprocess.run(
        ("nsenter", f"--net={paths.namespace(name)}", *argv),
        input=text,
        text=True,
        capture_output=True,
        check=False,
        env=paths.environment(),
    )
    if check and ran.returncode:
        raise RuntimeError(f"{name}: {' '.join(argv)}: {ran.stderr.strip()}")


def batch(paths: Paths, name: str, lines: Sequence[str]) -> None:
    inside(paths, name, "ip", "-batch", "-", text="\n".join((*lines, "")))


def mac(host: str, interface: str) -> str:
    """An address of the range that Macs give their Thunderbolt ports: locally administered, stable."""
    digest = hashlib.sha256(f"{host}/{interface}".encode()).hexdigest()
    return ":".join(("36", *(digest[n : n + 2] for n in range(0, 10, 2))))


def _jack(host: Host, interface: str) -> str:
    """A port with nothing plugged in: its other half lies switched off in the switch's namespace."""
    return f"{host.name}-{interface}"


def dark_interfaces(host: Host) -> Iterator[str]:
    """Interfaces that a real machine shows and that lead nowhere."""
    cabled = {cable.facing(host.name)[0].interface for cable in host.cables}
    if host.hardware.is_mac:
        yield from (device for _, device in host.hardware.ports if device not in cabled)
        if not host.hardware.laptop:
            yield "en1"  # Wi-Fi


def _pairs(paths: Paths, hosts: Sequence[Host], cables: Sequence[Cable]) -> Iterator[str]:
    def half(host: str, interface: str) -> str:
        return f"{interface} address {mac(host, interface)} netns {paths.namespace(host)}"

    yield "link add br0 type bridge"
    yield f"link add en0 netns {paths.namespace(CONTROLLER)} type veth peer name {CONTROLLER}"
    for host in hosts:
        yield f"link add {half(host.name, 'en0')} type veth peer name {host.name}"
        for interface in dark_interfaces(host):
            yield f"link add {half(host.name, interface)} type veth peer name {_jack(host, interface)}"
    for cable in cables:
        a, b = cable.a, cable.b
        yield f"link add {half(a.host, a.interface)} type veth peer name {half(b.host, b.interface)}"
    yield "link set br0 up"
    yield from (f"link set {name} master br0 up" for name in (CONTROLLER, *(host.name for host in hosts)))


def _bridge(host: Host, mtu: int, *, looped: bool) -> Iterator[str]:
    """Apple's bridge over all Thunderbolt ports; spanning tree only where a loop would storm two cores."""
    members = [device for _, device in host.hardware.ports]
    address = mac(host.name, members[0])
    yield f"link add bridge0 address {address} type bridge stp_state {int(looped)} forward_delay 200"
    yield from (f"link set {device} master bridge0" for device in members)
    yield f"link set bridge0 mtu {mtu} up"
    yield f"addr add {host.bridge_ip}/16 brd + dev bridge0"


def host_lines(host: Host, mtu: int, unplugged: Container[str] = ()) -> Iterator[str]:
    """What a Mac's own system does at boot; whatever somebody set by `ifconfig` since then is forgotten."""
    yield "link set lo up"
    yield f"addr replace {host.lan_ip}/16 brd + dev en0"
    yield "link set en0 up"
    yield f"route replace default via {GATEWAY}"
    yield from (f"link set {interface} up" for interface in dark_interfaces(host))
    for cable in host.cables:
        own, _ = cable.facing(host.name)
        yield f"link set {own.interface} mtu {mtu}"
        if own.interface not in unplugged:
            yield f"link set {own.interface} up"
        if not host.bridge_ip:
            yield f"addr flush dev {own.interface} scope global"
            yield f"addr add {own.address}/30 brd + dev {own.interface}"


def build(paths: Paths, hosts: Sequence[Host], cables: Sequence[Cable], mtu: int, *, looped: bool) -> None:
    batch(paths, SWITCH, list(_pairs(paths, hosts, cables)))
    own = f"addr add {GATEWAY}/16 brd + dev en0"
    batch(paths, CONTROLLER, ["link set lo up", own, "link set en0 up"])
    for host in hosts:
        bridge = _bridge(host, mtu, looped=looped) if host.bridge_ip else ()
        batch(paths, host.name, [*host_lines(host, mtu), *bridge])


def power_off(paths: Paths, host: Host) -> None:
    """All links down, so that no FIN or RST gets out when the processes die."""
    links = ["en0", *(cable.facing(host.name)[0].interface for cable in host.cables)]
    batch(paths, host.name, [f"link set {link} down" for link in links])


def set_link(paths: Paths, name: str, interface: str, *, up: bool) -> None:
    batch(paths, name, [f"link set {interface} {'up' if up else 'down'}"])


def _silence(end: End) -> Iterator[tuple[str, ...]]:
    yield ("INPUT", "-i", end.interface, "-j", "DROP")
    yield ("OUTPUT", "-o", end.interface, "-j", "DROP")


def _refuse(end: End) -> tuple[str, ...]:
    """Refuse all TCP but resets, or the reset that the other side sends would be swallowed here."""
    no_reset = ("-p", "tcp", "!", "--tcp-flags", "RST", "RST")
    return ("INPUT", "-i", end.interface, *no_reset, "-j", "REJECT", "--reject-with", "tcp-reset")


def cut(paths: Paths, cable: Cable, how: str) -> None:
    """`down` takes the carrier on both sides, `drop` loses every packet in silence, `reset` refuses TCP."""
    if how == "down":
        set_link(paths, cable.a.host, cable.a.interface, up=False)
        return
    for end in (cable.a, cable.b):
        for rule in _silence(end) if how == "drop" else (_refuse(end),):
            inside(paths, end.host, "iptables", "-w", "-A", *rule)


def heal(paths: Paths, cable: Cable, powered: Collection[str]) -> None:
    """Undo every kind of cut; rules that were never set are no error. A host that is off gives no carrier."""
    for end in (cable.a, cable.b):
        if end.host in powered:
            set_link(paths, end.host, end.interface, up=True)
        for rule in (*_silence(end), _refuse(end)):
            inside(paths, end.host, "iptables", "-w", "-D", *rule, check=False)


def shape(paths: Paths, host: str, interface: str, rate: str) -> None:
    """Limit what a host sends on an interface, for example to `1gbit`; `off` lifts the limit."""
    if rate == "off":
        inside(paths, host, "tc", "qdisc", "del", "dev", interface, "root", check=False)
        return
    limit = ("rate", rate, "burst", "256k", "latency", "50ms")
    inside(paths, host, "tc", "qdisc", "replace", "dev", interface, "root", "tbf", *limit)


def lose(paths: Paths, host: str, interface: str, probability: float) -> None:
    """Lose a share of the packets that come in; 0 ends it."""
    chain = f"lose-{interface}"
    for rule in (("-D", "INPUT", "-j", chain), ("-F", chain), ("-X", chain)):
        inside(paths, host, "iptables", "-w", *rule, check=False)
    if probability:
        inside(paths, host, "iptables", "-w", "-N", chain)
        inside(paths, host, "iptables", "-w", "-I", "INPUT", "-j", chain)
        share = ("-m", "statistic", "--mode", "random", "--probability", str(probability))
        inside(paths, host, "iptables", "-w", "-A", chain, "-i", interface, *share, "-j", "DROP")
