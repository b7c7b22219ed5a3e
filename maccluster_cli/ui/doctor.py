"""Findings by severity, the same on many nodes said once."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from maccluster_cli.advise import FAIL, SEVERITIES, WARN
from maccluster_cli.errors import FAILED, PENDING, UNREACHABLE
from maccluster_cli.nodeset import fold
from maccluster_cli.ui.screen import Screen, clean

if TYPE_CHECKING:
    from maccluster_cli.flows.doctor import Report


def show(screen: Screen, report: Report) -> int:
    """All findings, then the exit code that the worst of them means."""
    if screen.look.json:
        errors = [{"node": e.node, "error": e.message, "next": e.hint} for e in report.unreachable]
        screen.data({"findings": list(report.findings), "unreachable": errors})
    elif screen.look.plain:
        screen.records((f.severity, f.id, f.node, f.evidence, f.next) for f in report.findings)
    else:
        _for_people(screen, report)
    for error in report.unreachable:
        screen.error(error)
    worst = {finding.severity for finding in report.findings}
    if report.unreachable:
        return UNREACHABLE
    return FAILED if FAIL in worst else PENDING if WARN in worst else 0


def sudoers(screen: Screen, report: Report, lines: Mapping[str, tuple[str, ...]]) -> int:
    """The lines, once for all nodes that need the same ones; comments say for whom and how."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for node, own in lines.items():
        groups.setdefault(own, []).append(node)
    for own, nodes in groups.items():
        screen.write(f"# {fold(nodes)}: `visudo -cf FILE` checks it; its place is /etc/sudoers.d/maccluster")
        for line in own:
            screen.write(line)
    for error in report.unreachable:
        screen.error(error)
    return UNREACHABLE if report.unreachable else 0


def _for_people(screen: Screen, report: Report) -> None:
    for severity in SEVERITIES:
        groups: dict[tuple[str, str, str], list[str]] = {}
        for f in report.findings:
            if f.severity == severity:
                groups.setdefault((f.id, f.evidence, f.next), []).append(f.node)
        for (name, evidence, hint), nodes in groups.items():
            screen.write(clean(f"{severity.upper():<4} {name}  {fold(nodes)}: {evidence}"))
            if hint:
                screen.write(f"     next: {hint.replace('NODES', shlex.quote(fold(nodes)))}")
    if not report.findings:
        names = fold(view.node.name for view in report.views if not view.error)
        screen.write(f"nothing to report on {names or 'any node'}")
