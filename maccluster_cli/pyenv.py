"""Which Python, MLX and mlx-lm a node's workers would run on, without starting Python where possible.

Starting an interpreter on every node costs more than all other facts together. A virtual environment says the
same in its file names, and those a shell can read by itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maccluster_cli.values import Command

if TYPE_CHECKING:
    from maccluster_cli.values import Reply

# Not a virtual environment: only the interpreter knows its own path. Distribution folders are listed rather
# than imported, because importing MLX would take memory and time for a version number.
_ASK = """\
import os, sys
print("python=" + ".".join(map(str, sys.version_info[:3])))
for path in reversed(sys.path):
    for name in sorted(os.listdir(path)) if os.path.isdir(path) else ():
        if name.startswith(("mlx-", "mlx_lm-")) and name.endswith(".dist-info"):
            print(name[:-10].replace("-", "=", 1))
"""

_SCRIPT = f"""\
python=$1
case $python in
  [~]/*) python=$HOME/${{python#*/}} ;;
  */*) ;;
  *) python=$(command -v -- "$python") || {{ printf 'error=%s is not on PATH\\n' "$1"; exit 0; }} ;;
esac
if [ -L "$python" ] && [ ! -e "$python" ]; then
  printf 'error=%s points to a Python that is gone\\n' "$python"; exit 0
elif [ ! -e "$python" ]; then
  printf 'error=%s does not exist\\n' "$python"; exit 0
elif [ ! -x "$python" ] || [ -d "$python" ]; then
  printf 'error=%s cannot be executed\\n' "$python"; exit 0
fi
root=${{python%/*}}/..
found='' system=''
if [ -r "$root/pyvenv.cfg" ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      "version = "*|"version_info = "*) found=${{line#*= }} ;;
      "include-system-site-packages = true"*) system=yes ;;
    esac
  done <"$root/pyvenv.cfg"
fi
case $found in
  [0-9]*.[0-9]*) ;;
  *) system=yes ;;
esac
if [ -n "$system" ]; then
  exec "$python" -c '{_ASK}'
fi
printf 'python=%s\\n' "$found"
minor=${{found#*.}}
for site in "$root/lib/python${{found%%.*}}.${{minor%%.*}}/site-packages"/mlx-*.dist-info \\
  "$root/lib/python${{found%%.*}}.${{minor%%.*}}/site-packages"/mlx_lm-*.dist-info; do
  [ -d "$site" ] || continue
  name=${{site##*/}}
  name=${{name%.dist-info}}
  printf '%s=%s\\n' "${{name%%-*}}" "${{name#*-}}"
done
"""

_LINE = re.compile(r"^(python|mlx|mlx_lm|error)=(.+)$", re.MULTILINE)
_RELEASE = re.compile(r"\d+\.\d+(?:\.\d+)?(?:(?:a|b|rc)\d+)?", re.ASCII)


def worker_command(python: str) -> Command:
    """Ask for the versions beside `python`: a path (a leading ~/ is the node's home) or a name on PATH."""
    return Command(("sh", "-c", _SCRIPT, "sh", python))


def parse_worker(reply: Reply) -> dict[str, str | None]:
    """Name the versions; `worker.error` says why there is no Python, and a package not there is None."""
    found = dict(_LINE.findall(reply.text))
    release = _RELEASE.match(found.get("python", ""))
    return {
        "worker.python": release[0] if release else None,
        "worker.mlx": found.get("mlx"),
        "worker.mlx_lm": found.get("mlx_lm"),
        "worker.error": None if release else found.get("error") or _complaint(reply),
    }


def _complaint(reply: Reply) -> str:
    """Quote the last thing the interpreter or the shell said, such as macOS asking for developer tools."""
    if reply.code is None:
        return "no answer in time"
    lines = (reply.err.decode("utf-8", "replace") or reply.text).strip().splitlines()
    return lines[-1].strip() if lines else "Python did not say its version"
