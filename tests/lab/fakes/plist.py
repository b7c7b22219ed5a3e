"""Reads property lists for the fakes, at bootstrap only: `job FILE FOLDER`, `label FILE`, `lint FILE...`."""

from __future__ import annotations

import os
import plistlib
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

BAD_OWNER, INVALID, MISSING = 122, 5, 2
WRITABLE_BY_OTHERS = 0o022
PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


def load(path: str) -> dict[str, Any]:
    with Path(path).open("rb") as file:
        found = plistlib.load(file)
    if not isinstance(found, dict):
        raise TypeError(f"{type(found).__name__} instead of a dictionary")
    return found


def arguments(job: Mapping[str, Any]) -> list[str]:
    words = [str(word) for word in job.get("ProgramArguments", ())]
    if "Program" in job:
        words = [str(job["Program"]), *words[1:]]
    if not words:
        raise ValueError("neither Program nor ProgramArguments")
    return words


def script(job: Mapping[str, Any]) -> Iterator[str]:
    """Lines of sh that become the job: its streams, its limits, its environment, its program."""
    out, err = (shlex.quote(str(job.get(f"Standard{word}Path", os.devnull))) for word in ("Out", "Error"))
    yield f"exec </dev/null >>{out} 2>>{err}"
    yield f"cd {shlex.quote(str(job.get('WorkingDirectory', '/')))} || exit 78"
    if "Umask" in job:
        yield f"umask {int(job['Umask']):o}"
    if limit := job.get("SoftResourceLimits", {}).get("NumberOfFiles"):
        yield f"ulimit -S -n {int(limit)}"
    variables = {"PATH": PATH, "XPC_SERVICE_NAME": job["Label"], **job.get("EnvironmentVariables", {})}
    pairs = [f"{key}={value}" for key, value in variables.items()]
    user = ["/usr/bin/sudo", "-n", "-u", str(job["UserName"]), "--"] if "UserName" in job else []
    yield "exec " + shlex.join([*user, "/usr/bin/env", "-i", *pairs, *arguments(job)])


def printed(job: Mapping[str, Any]) -> str:
    words = arguments(job)
    lines = "".join(f"\t\t{word}\n" for word in words)
    return f"\tprogram = {words[0]}\n\targuments = {{\n{lines}\t}}\n\n"


def write_job(path: str, folder: Path) -> int:
    """Everything `launchctl` and `launchd` need of a job, one file a fact."""
    if not Path(path).is_file():
        return MISSING
    status = Path(path).stat()
    if status.st_uid != 0 or status.st_mode & WRITABLE_BY_OTHERS:
        return BAD_OWNER
    try:
        job = load(path)
        facts = {
            "label": str(job["Label"]),
            "path": path,
            "run_at_load": "yes" if job.get("RunAtLoad") else "",
            "keep_alive": "yes" if job.get("KeepAlive") is True else "",
            "interval": str(int(job["StartInterval"])) if "StartInterval" in job else "",
            "abandon": "yes" if job.get("AbandonProcessGroup") else "",
            "exit_timeout": str(int(job.get("ExitTimeOut", 20))),
            "runs": "0",
            "run": "\n".join(script(job)),
            "print": printed(job).rstrip("\n") + "\n",
        }
    except (plistlib.InvalidFileException, KeyError, TypeError, ValueError, SyntaxError, AttributeError):
        return INVALID
    except Exception as error:  # noqa: BLE001
        return INVALID if type(error).__name__ == "ExpatError" else 1
    if "/" in facts["label"] or not facts["label"]:
        return INVALID
    folder.mkdir(parents=True)
    for name, text in facts.items():
        (folder / name).write_text(f"{text}\n")
    return 0


def lint(paths: list[str]) -> int:
    failed = 0
    for path in paths:
        if not Path(path).is_file() or not os.access(path, os.R_OK):
            answer, failed = "file does not exist or is not readable or is not a regular file", 1
        else:
            try:
                load(path)
                answer = "OK"
            except Exception as error:  # noqa: BLE001
                answer, failed = f"({error})", 1
        sys.stdout.write(f"{path}: {answer}\n")
    return failed


def main() -> int:
    verb, *rest = sys.argv[1:]
    if verb == "lint":
        return lint(rest)
    if verb == "job":
        return write_job(rest[0], Path(rest[1]))
    if not Path(rest[0]).is_file():
        return MISSING
    sys.stdout.write(f"{load(rest[0])['Label']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
