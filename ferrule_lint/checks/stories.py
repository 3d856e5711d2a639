"""Findings that tell one story: an attribute that is set on some ranks only, and asked for at many places of a file.

Whoever reads the first of them repairs them all. So the first of the surest is told, with the events of the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ferrule_lint.findings import Finding, Step

_MOST_EVENTS = 20
#: how notes about attributes end: see `semantics.walk.state` and `semantics.walk.holders`
_SET_APART = ("is set there on some ranks only", "sets this when the process gets a signal")


def told_once(findings: Iterable[Finding]) -> list[Finding]:
    """Findings, in their order, of which those of one file and cause are one."""
    first: dict[tuple[str, str, tuple[Step, ...]], int] = {}
    out: list[Finding] = []
    for finding in findings:
        cause = _cause(finding)
        if not cause:
            out.append(finding)
            continue
        key = (finding.path, finding.code[:4], cause)
        at = first.setdefault(key, len(out))
        if at == len(out):
            out.append(finding)
        else:
            out[at] = _with_events_of(out[at], finding)
    return out


def _cause(finding: Finding) -> tuple[Step, ...]:
    """The way from the source to the last attribute that is set there."""
    places = [i for i, s in enumerate(finding.witness) if s.note.endswith(_SET_APART)]
    return finding.witness[: places[-1] + 1] if places else ()


def _with_events_of(finding: Finding, other: Finding) -> Finding:
    if other.confidence > finding.confidence:
        finding, other = other, finding
    known = {(e.path, e.line, e.column) for e in finding.events}
    more = [e for e in other.events if (e.path, e.line, e.column) not in known]
    return replace(finding, events=(*finding.events, *more)[:_MOST_EVENTS])
