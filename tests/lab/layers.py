"""The overlay layers that hosts share: what every host has, what a Mac has, what its RDMA tools are."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.lab.paths import Paths, python_trees
from tests.lab.topology import GATEWAY, Host

FAKES = Path(__file__).with_name("fakes")
USER, UID, GID = "mac", 501, 20
BARE_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
LINUX_SUDO_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LIBEXEC = "usr/libexec/lab"

APPLE = {
    "/bin": ("launchctl",),
    "/usr/bin": (
        *("sw_vers", "uname", "pmset", "vm_stat", "memory_pressure", "caffeinate", "sntp"),
        *("fdesetup", "csrutil", "plutil", "last", "uptime", "stat"),
    ),
    "/usr/sbin": (
        *("sysctl", "system_profiler", "networksetup", "scutil", "ipconfig", "systemsetup", "spctl", "nvram"),
    ),
    "/sbin": ("ifconfig", "route"),
    "/usr/libexec/ApplicationFirewall": ("socketfilterfw",),
    "/usr/libexec/lab": ("launchd",),
}
RDMA = {"/usr/bin": ("rdma_ctl", "ibv_devices", "ibv_devinfo")}
# Commands of Linux that would let a wrong code path pass on a "Mac".
FOREIGN = (
    *("ip", "ss", "nproc", "free", "lscpu", "lsmem", "ethtool", "getent", "hostnamectl", "timedatectl"),
    *("systemctl", "apt-get", "dpkg", "iptables", "tc", "brctl", "setsid", "flock", "timeout", "chattr"),
)
# The fakes' own copies of what a Mac does not have, or has in another form.
TOOLS = ("ip", "setsid", "stat")
# The commands that a careful administrator would allow without a password.
ALLOWED = (
    *("/sbin/ifconfig", "/sbin/route", "/usr/sbin/networksetup", "/usr/bin/pmset", "/usr/sbin/sysctl"),
    *("/bin/launchctl", "/usr/bin/sntp", "/usr/bin/powermetrics", "/usr/sbin/systemsetup"),
)
# Of several rules that fit, sudo takes the last.
SUDO = {
    "all": f"{USER} ALL=(ALL) NOPASSWD: ALL\n",
    "none": f"{USER} ALL=(ALL) ALL\n",
    "list": f"{USER} ALL=(ALL) ALL\n{USER} ALL=(root) NOPASSWD: {', '.join(ALLOWED)}\n",
}

SSHD_CONFIG = """\
Port 22
HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile .ssh/authorized_keys
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
UseDNS no
PrintMotd no
AcceptEnv LANG LC_*
Subsystem sftp internal-sftp
MaxStartups 100:30:200
PidFile /run/sshd.pid
"""


def _write(layer: Path, path: str, text: str, mode: int = 0o644) -> Path:
    target = layer / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    target.chmod(mode)
    return target


def _real(folder: str, layer: Path) -> Path:
    """Where a directory of the machine really lies; /sbin is a link on most systems of today."""
    return layer / Path(folder).resolve().relative_to("/")


def _install(layer: Path, commands: Mapping[str, tuple[str, ...]]) -> None:
    for folder, names in commands.items():
        target = _real(folder, layer)
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            shutil.copy(FAKES / f"{name}.sh", target / name)
            (target / name).chmod(0o755)


def _hide(layer: Path, names: Iterable[str]) -> None:
    """Whiteouts: character devices 0/0 make an overlay deny that the name exists."""
    for folder in ("/usr/bin", "/usr/sbin", "/bin", "/sbin"):
        for name in names:
            below = Path(folder).resolve() / name
            target = _real(folder, layer) / name
            if os.path.lexists(below) and not os.path.lexists(target):
                os.mknod(target, 0o20600, os.makedev(0, 0))


def _open_way(layer: Path) -> None:
    """Let another user walk to the caller's Python: in a merged directory the upper layer's mode counts."""
    for tree in python_trees():
        for folder in (tree, *tree.parents[:-1]):
            target = layer / folder.relative_to("/")
            target.mkdir(parents=True, exist_ok=True)
            target.chmod(0o755)


def _accounts(layer: Path, home: str, shell: str, zero: str) -> None:
    """A user of the machine's own accounts file, with Apple's numbers."""

    def others(name: str) -> list[str]:
        lines = Path("/etc", name).read_text().splitlines()
        return [line for line in lines if line.split(":")[0] not in (USER, "staff", "admin")]

    groups = [line for line in others("group") if line.split(":")[2] not in (str(GID), "80")]
    groups = [re.sub("^root:", f"{zero}:", line) for line in groups]
    passwd = f"{USER}:x:{UID}:{GID}:Lab User:{home}:{shell}"
    _write(layer, "etc/passwd", "\n".join((*others("passwd"), passwd, "")))
    _write(layer, "etc/shadow", "\n".join((*others("shadow"), f"{USER}:*:19000:0:99999:7:::", "")), 0o640)
    _write(layer, "etc/group", "\n".join((*groups, f"staff:x:{GID}:{USER}", f"admin:x:80:{USER}", "")))


def _home(layer: Path, home: str, public_key: str) -> None:
    _write(layer, f"{home}/.ssh/authorized_keys", public_key, 0o600)
    _write(layer, f"{home}/.zshrc", "")
    folder = layer / home.lstrip("/")
    folder.chmod(0o755)
    (folder / ".ssh").chmod(0o700)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, UID, GID)


def hosts_file(hosts: Iterable[Host]) -> str:
    names = (f"{host.lan_ip} {host.name} {host.name}.local" for host in hosts)
    return "\n".join(("127.0.0.1 localhost", f"{GATEWAY} ctl", *names, ""))


def _base(layer: Path, hosts: Iterable[Host]) -> None:
    switch = (
        Path("/etc/nsswitch.conf").read_text().splitlines() if Path("/etc/nsswitch.conf").exists() else []
    )
    kept = [line for line in switch if not line.startswith("hosts:")]
    # No resolver answers here: looking names up in DNS would cost seconds each time.
    _write(layer, "etc/nsswitch.conf", "\n".join((*kept, "hosts: files", "")))
    _write(layer, "etc/resolv.conf", "nameserver 127.0.0.1\n")
    _write(layer, "etc/hosts", hosts_file(hosts))
    _write(
        layer, "etc/sudoers", "Defaults env_reset\nroot ALL=(ALL) ALL\n@includedir /etc/sudoers.d\n", 0o440
    )
    for folder in ("var/db", "Users", LIBEXEC):
        (layer / folder).mkdir(parents=True, exist_ok=True)
    for tool in TOOLS:
        shutil.copy(shutil.which(tool) or f"/usr/bin/{tool}", layer / LIBEXEC / tool)
    _open_way(layer)


def build(paths: Paths, hosts: list[Host], public_key: str) -> None:
    _base(paths.layer("base"), hosts)
    apple, linux = paths.layer("apple"), paths.layer("linux")
    _install(apple, APPLE)
    _install(paths.layer("rdma"), RDMA)
    shutil.copy(FAKES / "plist.py", apple / LIBEXEC / "plist.py")
    _hide(apple, FOREIGN)
    for folder in ("Library/LaunchDaemons", "Library/LaunchAgents", "usr/local/bin"):
        (apple / folder).mkdir(parents=True)
    _accounts(apple, f"/Users/{USER}", "/bin/zsh", zero="wheel")
    _home(apple, f"/Users/{USER}", public_key)
    _write(apple, "etc/ssh/sshd_config", f"{SSHD_CONFIG}SetEnv PATH={BARE_PATH}\n")
    _accounts(linux, f"/home/{USER}", "/bin/bash", zero="root")
    _home(linux, f"/home/{USER}", public_key)
    _write(linux, "etc/ssh/sshd_config", SSHD_CONFIG)
    _write(linux, "etc/sudoers.d/path", f'Defaults secure_path="{LINUX_SUDO_PATH}"\n', 0o440)


def stack(paths: Paths, host: Host) -> str:
    """Return the layers of a host, uppermost first."""
    names = ["apple", "base"] if host.hardware.is_mac else ["linux", "base"]
    if host.hardware.has_rdma_tools:
        names.insert(0, "rdma")
    return ":".join(str(paths.layer(name)) for name in names)


def write_upper(paths: Paths, host: Host) -> None:
    """What only this host has on its disk, apart from its host key and the answers of its commands."""
    base = paths.state / "hosts" / host.name
    for folder in ("upper", "work", "root"):
        (base / folder).mkdir(parents=True)
    (base / "layers").write_text(stack(paths, host))
    _write(base / "upper", f"etc/sudoers.d/{USER}", SUDO[host.hardware.nopasswd], 0o440)
    _write(base / "upper", "etc/hostname", f"{host.name}\n")
