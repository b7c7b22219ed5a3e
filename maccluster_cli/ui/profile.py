"""A profile as people read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from maccluster_cli.ui.screen import Screen
from maccluster_cli.values import Cable, Node, Profile


def show(screen: Screen, profile: Profile, nodes: Sequence[Node]) -> None:
    """Nodes and cables of a profile."""
    if screen.look.json:
        tables = {"nodes": [asdict(n) for n in nodes], "cables": [asdict(c) for c in profile.cables]}
        screen.data({"name": profile.name, "file": str(profile.file), **tables})
        return
    screen.say(f"{profile.name}: {profile.description or 'no description'} ({profile.file})")
    rows = [(n.name, _reach(n), ",".join(n.roles) or "-", str(n.ranks), n.python or "default") for n in nodes]
    screen.table(("node", "reached as", "roles", "ranks", "python"), rows)
    if profile.cables:
        screen.table(("cable", "addresses", "interfaces"), [_cable(c) for c in profile.cables])


def listing(screen: Screen, profiles: Mapping[str, Path], recipes: Mapping[str, Path], chosen: Path) -> None:
    """Names and files, the profile in force marked."""
    if screen.look.json:
        shelves = {"profiles": profiles, "recipes": recipes}
        named = {kind: {name: str(file) for name, file in shelf.items()} for kind, shelf in shelves.items()}
        screen.data({**named, "in_force": str(chosen)})
        return
    rows = [
        ("profile", f"{name}{' (in force)' if file == chosen else ''}", str(file))
        for name, file in profiles.items()
    ]
    rows += [("recipe", name, str(file)) for name, file in recipes.items()]
    screen.table(("kind", "name", "file"), rows)
    if chosen not in profiles.values():
        screen.say(f"in force: {chosen}")


def _reach(node: Node) -> str:
    if node.local:
        return "this machine"
    user = f"{node.user}@" if node.user else ""
    port = f":{node.port}" if node.port else ""
    return f"{user}{node.host}{port}"


def _cable(cable: Cable) -> tuple[str, str, str]:
    def ends(a: str | None, b: str | None) -> str:
        return f"{a or '?'} - {b or '?'}" if a or b else "-"

    return (
        f"{cable.a} - {cable.b}",
        ends(cable.a_address, cable.b_address),
        ends(cable.a_interface, cable.b_interface),
    )
