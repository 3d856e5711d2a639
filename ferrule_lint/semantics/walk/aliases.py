"""Two names for one object: `buffer = self.total`, `dist.all_reduce(buffer)`, and it is `self.total` that was reduced.

As long as neither name has been assigned again, what is done to the object by one name is seen by the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.text import place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


class Alias(NamedTuple):
    """What a variable was last assigned, where that is a place itself."""

    source: f.Expr
    #: how often the variable and the place had been assigned then
    own: int
    other: int


def note(frame: Frame, name: str, source: f.Expr) -> None:
    """A variable was assigned `source`."""
    place = place_name(source)
    if place and place != name:
        frame.aliases[name] = Alias(source, frame.version(name), frame.version(place))


def shared(frame: Frame, place: str, change: Callable[[f.Expr], None], by: Callable[[], None]) -> None:
    """Do `by` to the object at a place, and `change` to the same object by its other name."""
    found = _of(frame, place) if frame.aliases else []
    by()
    for name, expr in found:
        change(expr)
        known = frame.aliases[name]
        frame.aliases[name] = Alias(known.source, frame.version(name), frame.version(place_name(known.source)))


def other_names(frame: Frame, place: str) -> list[f.Expr]:
    """What else stands for what a place holds."""
    return [expr for _, expr in _of(frame, place)] if frame.aliases else []


def _of(frame: Frame, place: str) -> list[tuple[str, f.Expr]]:
    """The variables that are other names of what a place holds, or that it is another name of: the latter's place."""
    found: list[tuple[str, f.Expr]] = []
    for name, alias in frame.aliases.items():
        other = place_name(alias.source)
        if place not in (name, other):
            continue
        if frame.version(name) == alias.own and frame.version(other) == alias.other:
            found.append((name, alias.source if place == name else f.Name(name, (frame.line, 1, frame.line, 1))))
    return found
