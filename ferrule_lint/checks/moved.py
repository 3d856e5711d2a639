"""Findings of an earlier run whose places have moved, and nothing else: they are shown where these are now."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias, TypeVar

from ferrule_lint.facts.parts import Point
from ferrule_lint.findings import EventSite, Finding, Span, Step

#: where a place in a file is now; None if that cannot be told
Moved: TypeAlias = Callable[[str, Point], Point | None]

_Site = TypeVar("_Site", Step, EventSite)
#: a text that speaks of a line
_LINE = re.compile(r"\bline \d")


def in_its_place(finding: Finding, moved: Moved) -> Finding | None:
    """A finding, not anchored yet, at the places where what it shows is now; None if one of them cannot be told."""
    span = finding.span
    start = moved(finding.path, (span.line, span.column))
    end = moved(finding.path, (span.end_line, span.end_column))
    witness = [_site(step, moved) for step in finding.witness]
    events = [_site(event, moved) for event in finding.events]
    if start is None or end is None or None in witness or None in events:
        return None
    if _LINE.search(" ".join((finding.message, *(step.note for step in finding.witness)))):
        return None
    return replace(
        finding,
        span=Span(*start, *end),
        witness=tuple(step for step in witness if step is not None),
        events=tuple(event for event in events if event is not None),
    )


def _site(site: _Site, moved: Moved) -> _Site | None:
    point = moved(site.path, (site.line, site.column))
    return None if point is None else replace(site, line=point[0], column=point[1])
