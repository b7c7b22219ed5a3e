"""A checked profile, remembered: checking it loads Pydantic, 200 ms that every command would pay."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from maccluster_cli import __version__, store
from maccluster_cli.errors import ClusterError
from maccluster_cli.shelf import cache_dir
from maccluster_cli.values import Cable, Node, Profile

_KEPT = 32


def profile(file: Path) -> Profile:
    """The profile in ``file``; what is remembered belongs to exactly this text and these checks."""
    try:
        text = file.read_text(encoding="utf-8")
        place = _place(text)
        return _revived(json.loads(place.read_text(encoding="utf-8")), file, text)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return _checked(file)


def _checked(file: Path) -> Profile:
    from maccluster_cli.profile import read_profile

    found = read_profile(file)
    fields = {name: value for name, value in asdict(found).items() if name not in {"file", "text"}}
    place = _place(found.text)
    try:
        store.write_atomically(place, json.dumps(fields).encode())
        _forget_oldest(place.parent)
    except (ClusterError, OSError):
        return found  # nobody fails for a cache
    return found


def _place(text: str) -> Path:
    checks = [Path(__file__).with_name(f"{name}.py").stat() for name in ("profile", "schema", "values")]
    stamps = [(check.st_mtime_ns, check.st_size) for check in checks]
    key = hashlib.sha256(f"{__version__} {stamps} {text}".encode()).hexdigest()
    return cache_dir() / "profiles" / f"{key[:32]}.json"


def _revived(fields: dict[str, Any], file: Path, text: str) -> Profile:
    nodes = tuple(Node(**{**node, "roles": tuple(node["roles"])}) for node in fields.pop("nodes"))
    cables = tuple(Cable(**cable) for cable in fields.pop("cables"))
    return Profile(file=file, text=text, nodes=nodes, cables=cables, **fields)


def _forget_oldest(folder: Path) -> None:
    for old in sorted(folder.glob("*.json"), key=lambda f: f.stat().st_mtime)[:-_KEPT]:
        old.unlink(missing_ok=True)
