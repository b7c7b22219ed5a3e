"""Makes namespaces and starts hosts, in a process of its own: the caller may have threads, a fork must not.

python -m tests.lab.boot namespaces PREFIX NAME...
python -m tests.lab.boot start PREFIX NAME...      (prints {name: pid}; `ctl` is the controller)
python -m tests.lab.boot wait PREFIX ADDRESS...    (returns when every sshd has sent its banner)
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import NoReturn

from tests.lab import kernel
from tests.lab.paths import FACTS, MARK, Paths, python_trees

BANNER_LIMIT_S = 60.0
CONTROLLER, SWITCH = "ctl", "sw"
PER_HOST = ("core/*", "ipv4/tcp_*", "ipv4/udp_*", "ipv4/ip_*")  # settings of Linux that each network has
# A shell as PID 1 reaps orphans; sshd detaches from it.
INIT = """\
trap 'exit 0' TERM
[ ! -x /usr/libexec/lab/launchd ] || /usr/libexec/lab/launchd boot
[ ! -d /etc/sysctl.d ] || [ -e /var/db/lab/facts ] || sysctl -q -e --system 2>/dev/null
/usr/sbin/sshd
while :; do sleep 86400 & wait $!; done
"""
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
LINKS = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
SHARED_KERNEL = ("proc/sys/kernel", "proc/sys/vm", "proc/sys/fs")
INIT_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


def make_namespaces(paths: Paths, names: list[str]) -> None:
    """One network namespace a name, kept alive by a bind mount inside the state directory."""
    for name in names:
        kernel.unshare(kernel.NEW_NET)
        target = paths.namespace(name)
        target.touch()
        kernel.mount("/proc/self/ns/net", target, flags=kernel.BIND)


def _hidden(tree: Path) -> bool:
    """An overlay shows one file system only, and hosts have a /tmp of their own."""
    return tree.stat().st_dev != Path("/").stat().st_dev or tree.is_relative_to("/tmp")


def _make_devices(dev: Path) -> None:
    """Only what every program needs: a host's root must not see the machine's disks."""
    kernel.mount("tmpfs", dev, "tmpfs", 0, "mode=755")
    for name, (major, minor) in DEVICES.items():
        os.mknod(dev / name, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        (dev / name).chmod(0o666)
    for name, target in LINKS.items():
        (dev / name).symlink_to(target)
    for name, kind, data in (("pts", "devpts", "newinstance,ptmxmode=0666"), ("shm", "tmpfs", "mode=1777")):
        (dev / name).mkdir()
        kernel.mount(kind, dev / name, kind, 0, data)


def _freeze(folder: Path) -> None:
    """These settings belong to the machine: no host may change them."""
    kernel.mount(folder, folder, None, kernel.BIND)
    kernel.mount(None, folder, None, kernel.BIND | kernel.REMOUNT | kernel.READ_ONLY)


def _assemble(paths: Paths, name: str) -> Path:
    """Mount a host's whole file system; return its root."""
    base = paths.state / "hosts" / name
    root = base / "root"
    layers = (base / "layers").read_text()
    data = f"lowerdir={layers}:/,upperdir={base / 'upper'},workdir={base / 'work'}"
    kernel.mount("overlay", root, "overlay", 0, data)
    _make_devices(root / "dev")
    kernel.mount("proc", root / "proc", "proc")
    kernel.mount("sysfs", root / "sys", "sysfs")
    for folder in SHARED_KERNEL:
        _freeze(root / folder)
    for folder, mode in (("run", "755"), ("tmp", "1777")):
        kernel.mount("tmpfs", root / folder, "tmpfs", 0, f"mode={mode}")
    for tree in filter(_hidden, python_trees()):
        target = root / tree.relative_to("/")
        target.mkdir(parents=True, exist_ok=True)
        kernel.mount(tree, target, None, kernel.BIND | kernel.RECURSIVE)
    return root


def _move_in(root: Path) -> None:
    """Make the assembled tree the root and let go of the machine's own."""
    for folder in ("sshd", "old"):
        (root / "run" / folder).mkdir()
    os.chdir(root)
    kernel.pivot_root(".", "run/old")
    os.chdir("/")
    kernel.unmount("/run/old")
    Path("/run/old").rmdir()


def _quiet(log: str) -> None:
    null, console = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for source, target in ((null, 0), (console, 1), (console, 2)):
        os.dup2(source, target)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def _given_name(paths: Paths, name: str) -> str:
    """A Mac that was given a HostName keeps it."""
    file = paths.upper(name) / FACTS / "names/HostName"
    return (file.read_text().strip() if file.exists() else "") or name


def _become_host(paths: Paths, name: str) -> NoReturn:
    kernel.set_host_name(_given_name(paths, name))
    kernel.mount(None, "/", None, kernel.RECURSIVE | kernel.PRIVATE)
    _move_in(_assemble(paths, name))
    _quiet("/run/console.log")
    os.execve("/bin/sh", ["init", "-c", INIT], {"PATH": INIT_PATH, "HOME": "/", MARK: paths.prefix})  # noqa: S606


def _become_controller(paths: Paths) -> NoReturn:
    """Keep the machine's own files, with the lab's names and ssh settings laid over them."""
    kernel.mount(None, "/", None, kernel.RECURSIVE | kernel.PRIVATE)
    kernel.mount("sysfs", "/sys", "sysfs")
    over = paths.state / "ctl"
    for source, target in (
        (over / "hosts", Path("/etc/hosts")),
        (over / "resolv.conf", Path("/etc/resolv.conf")),
        (paths.home / ".ssh/config", Path("/etc/ssh/ssh_config")),
        (paths.home / ".ssh", Path("~root/.ssh").expanduser()),
    ):
        if target.exists():
            kernel.mount(source, target, None, kernel.BIND)
    _quiet(os.devnull)
    os.execve("/bin/sleep", ["sleep", "infinity"], {MARK: paths.prefix})  # noqa: S606


def _fresh_settings(paths: Paths, name: str) -> None:
    """A network namespace outlives its host; the settings of one that nobody has touched put it back."""
    kernel.enter(paths.namespace(SWITCH))
    files = chain.from_iterable(map(Path("/proc/sys/net").glob, PER_HOST))
    fresh = {file: file.read_bytes() for file in files if _readable(file)}
    kernel.enter(paths.namespace(name))
    for file, text in fresh.items():
        with contextlib.suppress(OSError):
            if file.read_bytes() != text:
                file.write_bytes(text)


def _readable(file: Path) -> bool:
    return file.is_file() and bool(file.stat().st_mode & 0o400)


def _child(paths: Paths, name: str, report: int) -> NoReturn:
    kernel.die_with_parent()
    os.setsid()
    if name != CONTROLLER and not (paths.upper(name) / FACTS / "facts").exists():
        _fresh_settings(paths, name)
    kernel.enter(paths.namespace(name))
    if name == CONTROLLER:
        kernel.unshare(kernel.NEW_MOUNTS)
        os.write(report, str(os.getpid()).encode())
        kernel.outlive_parent()
        _become_controller(paths)
    kernel.unshare(kernel.NEW_MOUNTS | kernel.NEW_UTS | kernel.NEW_IPC | kernel.NEW_PIDS)
    if pid := os.fork():
        os.write(report, str(pid).encode())
        os._exit(0)
    _become_host(paths, name)


def start(paths: Paths, name: str) -> int:
    """Start one host; its pipe closes by itself once its PID 1 has been executed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _guarded(lambda: _child(paths, name, writer))
    os.close(writer)
    with os.fdopen(reader) as report:
        answer = report.read()
    if name != CONTROLLER:
        os.waitpid(child, 0)
    if not answer.isdigit():
        raise SystemExit(f"{name} does not start: {answer}")
    return int(answer)


def _guarded(action: Callable[[], NoReturn]) -> NoReturn:
    """A forked child must never return into its parent's code."""
    try:
        action()
    except BaseException as error:  # noqa: BLE001
        sys.stderr.write(f"lab: {error!r}\n")
    os._exit(1)


def _greets(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), 2) as connection:
            return connection.recv(64).startswith(b"SSH-")
    except OSError:
        return False


def wait_for_banners(paths: Paths, addresses: list[str]) -> None:
    """Look from the controller; without this a test would race with the boot."""
    kernel.enter(paths.namespace(CONTROLLER))
    end = time.monotonic() + BANNER_LIMIT_S
    for address in addresses:
        while not _greets(address):
            if time.monotonic() > end:
                raise SystemExit(f"no sshd at {address}")
            time.sleep(0.01)


def main() -> None:
    kernel.die_with_parent()
    verb, prefix, *rest = sys.argv[1:]
    paths = Paths(prefix)
    match verb:
        case "namespaces":
            make_namespaces(paths, rest)
        case "start":
            json.dump({name: start(paths, name) for name in rest}, sys.stdout)
        case "wait":
            wait_for_banners(paths, rest)


if __name__ == "__main__":
    main()
