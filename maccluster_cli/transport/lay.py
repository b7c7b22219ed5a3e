"""Scripts that lay files into a run's folder on a node and start things there. Pure."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping

from maccluster_cli.engines.mlx import ARCHIVE
from maccluster_cli.transport import batch
from maccluster_cli.values import Launch, Node

# a Mac mini sleeps after a minute without a user; this holds it awake as long as the rank lives
_AWAKE = "/usr/bin/caffeinate"
NO_FILES = 71  # EX_OSERR: the rank may not open as many files as the profile wants
NO_FOLDER = 73  # EX_CANTCREAT of sysexits


def archive(files: Mapping[str, bytes]) -> bytes:
    """Files as one tar, private to the user; every node has tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o600
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def prepare(node: Node, run_id: str, size: int, check: str) -> str:
    """Make the run's folder, unpack ``size`` bytes of tar from stdin there, run the ``check`` line in it."""
    base, folder = _base(node), batch.quote(run_id)
    steps = (
        "umask 077",
        f"mkdir -p {base}",
        f"cd {base}",
        f"mkdir {folder}",
        f"cd {folder}",
        'tar -xf "$_in"',
    )
    return batch.with_payload(f"{' && '.join(steps)} || exit {NO_FOLDER}; {check}", size)


def python(interpreter: str, module: str, argument: str) -> str:
    """The line that runs a module of the worker's archive, in the run's folder."""
    return f"PYTHONPATH={ARCHIVE} {path(interpreter)} -m {module} {batch.quote(argument)}"


def path(place: str) -> str:
    """A path for a shell line; one that begins with ``~/`` means the home of the node's user."""
    rest = place.removeprefix("~/")
    return f'"$HOME"/{batch.quote(rest)}' if rest != place else batch.quote(place)


def start(launch: Launch, folder: str, open_files: int | None = None) -> str:
    """Start one rank in its folder. Its stdin is its lifeline: it ends when the controller goes."""
    files = [
        f"printf %s {batch.quote(content.decode())} >{batch.quote(name)}"
        for name, content in launch.files.items()
    ]
    return "\n".join(
        (
            f"cd {batch.quote(folder)} || exit {NO_FOLDER}",
            *files,
            *([f"ulimit -n {open_files} || exit {NO_FILES}"] if open_files else []),
            batch.env_words(launch.env.items()),
            f"if [ -x {_AWAKE} ]; then {_AWAKE} -i -s -w $$ </dev/null >/dev/null 2>&1 & fi",
            # told before Python runs, so that a rank can be stopped from its first moment on
            'printf \'{"event": "launched", "group": %d}\\n\' $$',
            f"exec {path(launch.argv[0])} {' '.join(map(batch.quote, launch.argv[1:]))}",
        )
    )


def _base(node: Node) -> str:
    if node.workdir is None:
        return '"${XDG_DATA_HOME:-$HOME/.local/share}/maccluster/runs"'
    return path(node.workdir)
