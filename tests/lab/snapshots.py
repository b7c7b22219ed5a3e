"""Everything on a host that a command could have changed, as text: equal texts mean that nothing differs."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


def _lower(paths: Paths, host: str) -> list[Path]:
    """The layers under a host's own disk, uppermost first."""
    layers = (paths.state / "hosts" / host / "layers").read_text().split(":")
    return [*map(Path, layers), Path("/")]


def _below(lower: Sequence[Path], name: Path) -> Path | None:
    for layer in lower:
        path = layer / name
        if path.is_symlink() or path.exists():
            return None if _erased(path) else path
    return None


def _restless(name: str) -> bool:
    return any(name == root or name.startswith(f"{root}/") for root in RESTLESS) or any(
        part in HISTORIES for part in Path(name).parts
    )


def disk(paths: Paths, host: str) -> Iterator[tuple[str, str]]:
    """Names and lines of all that differs between a host's disk and the layers that it shares."""
    upper = paths.upper(host)
    lower = _lower(paths, host)
    for path in sorted(upper.rglob("*")):
        name = path.relative_to(upper)
        if _restless(str(name)):
            continue
        before = _below(lower, name)
        if _erased(path):
            if before:
                yield f"/{name}", "erased"
        elif before is None or _line(path) != _line(before):
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


@dataclass(frozen=True, slots=True)
class Kept:
    """One file or folder of a host's own disk; ``data`` is None for a folder."""

    line: str
    mode: int
    owner: tuple[int, int]
    data: bytes | None

    @classmethod
    def of(cls, path: Path) -> Kept:
        found = path.stat()
        data = None if path.is_dir() else path.read_bytes()
        return cls(_line(path), stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid), data)

    def write(self, path: Path) -> None:
        if self.data is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.data)
        os.chown(path, *self.owner)
        path.chmod(self.mode)


def keep(paths: Paths, host: str) -> dict[str, Kept]:
    """Copy what is a host's own on its disk; links and erased files are not kept."""
    upper = paths.upper(host)
    names = (name for name, line in disk(paths, host) if line != "erased" and "->" not in line)
    return {name: Kept.of(upper / name[1:]) for name in names}


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def put_back(paths: Paths, host: str, kept: dict[str, Kept], root: Path) -> None:
    """Make a running host's disk what it was; ``root`` is its file system as it sees it."""
    lower = _lower(paths, host)
    now = dict(disk(paths, host))
    for name in sorted(now.keys() - kept.keys(), reverse=True):
        if before := _below(lower, Path(name[1:])):
            Kept.of(before).write(root / name[1:])
        else:
            _remove(root / name[1:])
    for name, entry in kept.items():
        if now.get(name) != entry.line:
            entry.write(root / name[1:])
