"""Everything on a host that a command could have changed, as text: equal texts mean that nothing differs."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.lab.paths import FACTS, Paths

SHOWN = 400  # bytes of a file up to which the text has its content and not only its hash
# What changes by itself: boots, logins, logs of programs, shells' histories, answers about other hosts.
RESTLESS = (
    *(f"{FACTS}/{name}" for name in ("boots", "calls", "sysctl/kern.boottime", "thunderbolt", "unplugged")),
    *("var/log", "var/lib/sudo", "var/lib/systemd", "var/cache", "var/tmp"),
    *("run", "tmp", "dev", "proc", "sys", "etc/ssh/ssh_host_ed25519_key"),
)
HISTORIES = (
    *(".zsh_history", ".zcompdump", ".bash_history", ".lesshst"),
    *(".sudo_as_admin_successful", ".cache", "__pycache__"),
)


def _content(path: Path) -> str:
    """What a file holds, a link points to, or what else it is."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        return f"-> {path.readlink()}"
    if stat.S_ISDIR(found.st_mode):
        return "folder"
    if not stat.S_ISREG(found.st_mode):
        return "special"
    data = path.read_bytes()
    return repr(data) if len(data) <= SHOWN else f"sha256 {hashlib.sha256(data).hexdigest()}"


def _line(path: Path) -> str:
    found = path.lstat()
    return f"{stat.S_IMODE(found.st_mode):04o} {found.st_uid}:{found.st_gid} {_content(path)}"


def _erased(path: Path) -> bool:
    found = path.lstat()
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == 0


def _below(lower: Sequence[Path], name: Path) -> str | None:
    """What the layers under a host's own disk have by this name."""
    for layer in lower:
        path = layer / name
        if path.is_symlink() or path.exists():
            return None if _erased(path) else _line(path)
    return None


def _restless(name: str) -> bool:
    return any(name == root or name.startswith(f"{root}/") for root in RESTLESS) or any(
        part in HISTORIES for part in Path(name).parts
    )


def disk(paths: Paths, host: str) -> Iterator[tuple[str, str]]:
    """Names and lines of all that differs between a host's disk and the layers that it shares."""
    upper = paths.upper(host)
    layers = (paths.state / "hosts" / host / "layers").read_text().split(":")
    lower = [*map(Path, layers), Path("/")]
    for path in sorted(upper.rglob("*")):
        name = path.relative_to(upper)
        if _restless(str(name)):
            continue
        before = _below(lower, name)
        if _erased(path):
            if before is not None:
                yield f"/{name}", "erased"
        elif _line(path) != before:
            yield f"/{name}", _line(path)


def links(root: Path) -> Iterator[tuple[str, str]]:
    """MTU and flags of each interface of a running host."""
    for folder in sorted((root / "sys/class/net").iterdir()):
        if (folder / "mtu").exists():
            mtu, flags = ((folder / leaf).read_text().strip() for leaf in ("mtu", "flags"))
            yield f"interface {folder.name}", f"mtu {mtu} flags {flags}"


def jobs(root: Path) -> Iterator[tuple[str, str]]:
    """Jobs that launchd has loaded."""
    for folder in sorted((root / "run/lab/jobs").glob("*")):
        yield f"job {folder.name}", (folder / "path").read_text().strip()
