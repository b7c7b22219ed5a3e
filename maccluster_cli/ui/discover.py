"""The nodes, the cables between them, and what is missing or unknown."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from maccluster_cli.flows.discover import Report
from maccluster_cli.flows.look import View
from maccluster_cli.nodeset import fold
from maccluster_cli.ui import units
from maccluster_cli.ui.screen import Screen, clean
from maccluster_cli.values import Interface, Port, Rdma

if TYPE_CHECKING:
    from maccluster_cli.flows.save import Proposal  # at run time it would bring Pydantic along

_WHO = ("node", "ssh", "bonjour", "cable", "machine", "memory", "system", "ports used", "rdma")
_STATE = ("node", "cores", "sleep", "wired limit", "up", "disk free", "worker")


def show(screen: Screen, report: Report) -> None:
    """The whole report, in the form that was asked for."""
    if screen.look.json:
        screen.data(as_json(report))
        return
    if screen.look.plain:
        screen.records((*_who(report, view), *_state(view)[1:]) for view in report.views)
        return
    screen.table(_WHO, [_who(report, view) for view in report.views])
    answered = [view for view in report.views if view.error is None]
    if answered:
        screen.table(_STATE, [_state(view) for view in answered])
    if addresses := [row for view in answered for row in _addresses(view)]:
        screen.table(("node", "interface", "port", "address", "speed", "mtu"), addresses)
    _cables(screen, report)
    for line in notes(report):
        screen.say(line)


def notes(report: Report) -> Iterator[str]:
    """Sentences for what a table cannot hold."""
    missing = [view for view in report.views if view.error]
    if missing:
        yield f"{len(report.views) - len(missing)}/{len(report.views)} nodes answered"
    for view in missing:
        error = view.error.message if view.error else ""
        yield f"missing {view.node.name}: {error}{_what_was_seen(report, view)}"
        if view.error and view.error.hint:
            yield f"  next: {view.error.hint}"
    yield from _folded(report)
    if report.bonjour_error:
        yield f"bonjour: {report.bonjour_error}"
    for stranger in report.strangers:
        what = f"{stranger.name} ({units.known(stranger.model)})"
        yield f"unknown Mac at {stranger.node}:R{stranger.receptacle}: {what}"
    for sighting in report.unknown():
        where = ", ".join(sighting.addresses) or "no address"
        yield f"on the network, not in the profile: {sighting.host} ({where}, {sighting.service})"


def _what_was_seen(report: Report, view: View) -> str:
    seen = report.seen(view)
    parts = []
    if seen.bonjour:
        parts.append("it announces itself by Bonjour, so it is awake")
    if ends := report.far_end(view.node.name):
        parts.append(
            f"its cable to {', '.join(ends)} is up, so it is awake: its management address may have changed"
        )
    return f"; {'; '.join(parts)}" if parts else "; neither Bonjour nor a cable saw it"


def _folded(report: Report) -> Iterator[str]:
    """Notes on single nodes; what is the same on many is said once."""
    groups: dict[str, list[str]] = {}
    for view in report.views:
        for note in _node_notes(view):
            groups.setdefault(note, []).append(view.node.name)
    for note, names in groups.items():
        yield f"{fold(names)}: {note}"


def _node_notes(view: View) -> Iterator[str]:
    if view.node.uuid_hash and view.identity and view.node.uuid_hash != view.identity:
        yield f"another machine than the profile says ({view.identity}, not {view.node.uuid_hash})"
    rdma = view.facts.get("rdma")
    if isinstance(rdma, Rdma) and rdma.state != "active" and rdma.reason:
        yield f"rdma {rdma.state}: {rdma.reason}"
    if sleep := view.facts.get("power.sleep_min"):
        yield f"sleeps after {sleep} min without a user, and is gone from the network then"
    if problem := view.facts.get("worker.error"):
        yield str(problem)


def _who(report: Report, view: View) -> tuple[str, ...]:
    seen, facts = report.seen(view), view.facts
    marks = (view.node.name, "yes" if seen.ssh else "NO", _mark(seen.bonjour), _mark(seen.cable))
    if view.error:
        return (*marks, *("" for _ in _WHO[len(marks) :]))
    rdma = facts.get("rdma")
    state = rdma.state if isinstance(rdma, Rdma) else units.UNKNOWN
    memory = units.size(facts.get("hw.memory_bytes"))
    return (*marks, _machine(view), memory, _system(view), _thunderbolt(view), state)


def _state(view: View) -> tuple[str, ...]:
    if view.error:
        return (view.node.name, *("" for _ in _STATE[1:]))
    facts = view.facts
    return (
        view.node.name,
        _cores(view),
        _sleep(view),
        _wired(facts.get("mem.wired_limit_mb")),
        units.span(facts.get("os.uptime_s")),
        units.size(facts.get("disk.free_bytes")),
        _worker(view),
    )


def _mark(seen: bool | None) -> str:
    return {True: "yes", False: "NO", None: "-"}[seen]


def _machine(view: View) -> str:
    """``Mac mini, M4 Pro``: the model identifier is for ``--json``, Apple's name goes without saying."""
    name = view.facts.get("hw.name") or view.facts.get("hw.model")
    chip = str(view.facts.get("hw.chip") or "").removeprefix("Apple ")
    return f"{units.known(name)}{f', {chip}' if chip else ''}"


def _cores(view: View) -> str:
    gpu = view.facts.get("hw.gpu_cores")
    return units.cores(view.facts.get("hw.cores")) + (f", {gpu} GPU" if gpu is not None else "")


def _system(view: View) -> str:
    """``26.6.2 (25G83)`` for a Mac, the name in front for any other system."""
    facts = view.facts
    build = f" ({facts['os.build']})" if facts.get("os.build") else ""
    name = "" if facts.get("os.name") == "macOS" else f"{units.known(facts.get('os.name'))} "
    return f"{name}{units.known(facts.get('os.version'))}{build}"


def _thunderbolt(view: View) -> str:
    ports: tuple[Port, ...] | None = view.facts.get("tb.ports")
    if ports is None:
        return units.UNKNOWN if view.facts.get("os.system") == "Darwin" else "none"
    generation = view.facts.get("tb.generation")
    used = sum(1 for port in ports if port.peers)
    return f"{f'TB{generation}' if generation else 'TB?'} {used}/{len(ports)}"


def _sleep(view: View) -> str:
    minutes = view.facts.get("power.sleep_min")
    return units.UNKNOWN if minutes is None else "never" if minutes == 0 else f"{minutes} min"


def _wired(megabytes: int | None) -> str:
    return (
        units.UNKNOWN if megabytes is None else "default" if megabytes == 0 else units.size(megabytes * 2**20)
    )


def _worker(view: View) -> str:
    facts = view.facts
    if facts.get("worker.error"):
        return "none"
    if not facts.get("worker.python"):
        return units.UNKNOWN
    mlx = facts.get("worker.mlx")
    return f"python {facts['worker.python']}, {f'mlx {mlx}' if mlx else 'no mlx'}"


def _addresses(view: View) -> Iterator[tuple[str, ...]]:
    interfaces: tuple[Interface, ...] = view.facts.get("net.interfaces") or ()
    negotiated = {p.interface: p.link_rate_bits_s for p in view.facts.get("tb.ports") or ()}
    for i in interfaces:
        for address in i.addresses:
            if not address.startswith(("127.", "::1", "fe80")):
                speed = units.rate(i.speed_bits_s or negotiated.get(i.name))
                yield (view.node.name, i.name, i.port or "-", address, speed, units.known(i.mtu))


def _cables(screen: Screen, report: Report) -> None:
    if not any(view.facts.get("tb.ports") for view in report.views):
        return
    from rich.tree import Tree

    tree = Tree(f"cables: {len(report.cables)}, shape {report.shape}")
    for view in report.views:
        ports: tuple[Port, ...] = view.facts.get("tb.ports") or ()
        if ports:
            branch = tree.add(clean(view.node.name))
            for port in sorted(ports, key=lambda port: port.receptacle or ""):
                branch.add(clean(_port(report, view.node.name, port)))
    screen.draw(tree)


def _port(report: Report, node: str, port: Port) -> str:
    head = f"R{units.known(port.receptacle)} {port.interface or '-'}"
    if not port.peers:
        return f"{head}  empty" if port.status == "empty" else f"{head}  {units.known(port.status)}"
    peers = [
        f"{_far_end(report, node, port) or p.name}{' through a hub' if p.depth else ''}" for p in port.peers
    ]
    return f"{head}  <- {units.rate(port.link_rate_bits_s)} ->  {', '.join(peers)}"


def _far_end(report: Report, node: str, port: Port) -> str | None:
    for c in report.cables:
        if (c.a, c.a_interface, c.a_receptacle) == (node, port.interface, port.receptacle):
            return _end(c.b, c.b_receptacle, c.b_interface, c.a_address, c.b_address)
        if (c.b, c.b_interface, c.b_receptacle) == (node, port.interface, port.receptacle):
            return _end(c.a, c.a_receptacle, c.a_interface, c.b_address, c.a_address)
    return None


def _end(
    node: str, receptacle: str | None, interface: str | None, here: str | None, there: str | None
) -> str:
    addresses = f"  ip {here} - {there}" if here and there else "  ip no"
    return f"{node}:R{units.known(receptacle)} {interface or '-'}{addresses}"


def difference(screen: Screen, todo: Proposal) -> None:
    """What saving would change, line by line."""
    if not todo.changed:
        screen.say(f"{todo.file} says all of this already")
        return
    old, new = (text.splitlines() for text in (todo.before, todo.after))
    name = str(todo.file)
    for line in difflib.unified_diff(old, new, name, name, lineterm="", n=2):
        screen.say(line)


def as_json(report: Report) -> dict[str, Any]:
    """The report as data; hardware UUIDs leave only as hashes."""
    return {
        "nodes": [_node_json(report, view) for view in report.views],
        "cables": list(report.cables),
        "shape": report.shape,
        "strangers": list(report.strangers),
        "unknown": list(report.unknown()),
        "bonjour_error": report.bonjour_error,
    }


def _node_json(report: Report, view: View) -> dict[str, Any]:
    facts = {name: value for name, value in view.facts.items() if name not in {"id.uuid", "tb.ports"}}
    ports = [_port_json(port) for port in view.facts.get("tb.ports") or ()]
    error = {"message": view.error.message, "hint": view.error.hint} if view.error else None
    return {
        "node": view.node.name,
        "seen": report.seen(view),
        "error": error,
        "identity": view.identity,
        "facts": {**facts, "tb.ports": ports if view.facts.get("tb.ports") is not None else None},
    }


def _port_json(port: Port) -> dict[str, Any]:
    peers = [
        {
            "name": p.name,
            "model": p.model,
            "is_mac": p.domain_uuid is not None,
            "offers_rdma": p.offers_rdma,
            "depth": p.depth,
        }
        for p in port.peers
    ]
    return {
        "receptacle": port.receptacle,
        "interface": port.interface,
        "status": port.status,
        "link_rate_bits_s": port.link_rate_bits_s,
        "capability_bits_s": port.capability_bits_s,
        "peers": peers,
    }
