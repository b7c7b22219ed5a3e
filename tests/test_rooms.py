"""Who may import whom, and which room may open which door. design: nothing points up."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "maccluster_cli"

# A room may import from rooms with a smaller number, and from within itself.
RANK = {
    "errors": 0,
    "values": 1,
    "macos": 3,
    "linux": 3,
    "pyenv": 2,
    "tomlplace": 2,
    "nodeset": 3,
    "plan": 3,
    "topology": 3,
    "placement": 4,
    "engines": 5,
    "shelf": 6,
    "store": 7,
    "schema": 6,
    "profile": 7,
    "recipe": 7,
    "transport": 7,
    "remember": 8,
    "journal": 8,
    "folk": 3,
    "sudo": 2,
    "advise": 4,
    "flows": 9,
    "ui": 10,
    "session": 11,
    "cli": 12,
    "__main__": 13,
}
# Rooms that a flow is handed and never fetches, whatever the numbers say.
FORBIDDEN = {("flows", "ui"), ("macos", "linux"), ("linux", "macos")}
DOORS = {
    "fabric": {"transport"},
    "paramiko": {"transport"},
    "subprocess": {"transport"},
    "zeroconf": {"transport"},
    "rich": {"ui"},
    "typer": {"cli"},
    "pydantic": {"profile", "recipe", "schema"},
    "tomlkit": {"profile"},
    "psutil": {"worker"},
    "mlx": {"worker"},
    "mlx_lm": {"worker"},
    "socket": {"transport", "worker"},
}
HEAVY = {"fabric", "paramiko", "rich", "pydantic", "zeroconf", "tomlkit", "mlx", "mlx_lm"}


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(file: Path) -> str:
    inside = file.relative_to(PACKAGE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def imports(file: Path, *, top_only: bool = False) -> Iterator[str]:
    """Modules a file imports; those under TYPE_CHECKING count for rooms, and not as loaded at the top."""
    tree = ast.parse(file.read_text())
    nodes = _top(tree) if top_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _top(tree: ast.Module) -> Iterator[ast.AST]:
    return (node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))


@pytest.mark.parametrize("file", sources(), ids=lambda f: str(f.relative_to(PACKAGE)))
def test_nothing_points_up(file: Path) -> None:
    here = room(file)
    if here in {"__init__", "worker"}:
        return
    for module in imports(file):
        parts = module.split(".")
        if parts[0] != "maccluster_cli" or len(parts) == 1 or parts[1] not in RANK:
            continue
        there = parts[1]
        assert (here, there) not in FORBIDDEN, f"{file}: {here} must not know {there}"
        assert here == there or RANK[there] < RANK[here], f"{file}: {here} imports {there}"


@pytest.mark.parametrize("file", sources(), ids=lambda f: str(f.relative_to(PACKAGE)))
def test_doors_are_used_by_their_rooms_alone(file: Path) -> None:
    for module in imports(file):
        allowed = DOORS.get(module.split(".")[0])
        assert allowed is None or room(file) in allowed, f"{file}: {module} belongs to {allowed}"


def test_every_room_has_a_rank() -> None:
    assert {room(file) for file in sources()} - {"__init__", "worker"} <= set(RANK)


def test_worker_knows_only_itself() -> None:
    """It travels to nodes as a zip of its own room and the version."""
    for file in (PACKAGE / "worker").glob("*.py"):
        for module in imports(file):
            if module.startswith("maccluster_cli"):
                assert module == "maccluster_cli" or module.startswith(
                    ("maccluster_cli.worker", "maccluster_cli.__version__")
                ), f"{file}: {module}"


@pytest.mark.parametrize("file", sources(), ids=lambda f: str(f.relative_to(PACKAGE)))
def test_heavy_libraries_load_where_they_are_used(file: Path) -> None:
    """Modules that the command line loads at its top must not bring in what takes 100 ms and more."""
    if room(file) in {"worker", "profile", "recipe", "schema"} or file.name in {
        "ssh.py",
        "dial.py",
        "knownhosts.py",
    }:
        return  # loaded by those who need them, inside functions
    loaded = {module.split(".")[0] for module in imports(file, top_only=True)}
    assert not loaded & HEAVY, f"{file} loads {loaded & HEAVY}"
