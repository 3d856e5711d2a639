"""Ranks that are picked because they are like this one: its own group, and another list on the ranks of the others.

`[r for r in everyone if stage_of(r) == stage_of(rank)]` asks of each what it asks of the rank itself, and
`next(ranks for ranks in groups if rank in ranks)` takes those it is among. What is asked need not be known for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import replaced, walk
from ferrule_lint.semantics.domain.text import place_name, render, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_NOWHERE: f.Pos = (0, 0, 0, 0)


def asked_alike(frame: Frame, e: f.Comprehension) -> Iterator[f.Expr]:
    """What a comprehension puts in the place of each item to compare it with: `rank`, if that is one."""
    for generator in e.generators:
        if type(generator.target) is not f.Name or not _takes(e, generator.target.id):
            continue
        for test in generator.conditions:
            if type(test) is not f.Compare or test.ops != ("==",):
                continue
            for one, other in ((test.left, test.rights[0]), (test.rights[0], test.left)):
                yield from _put_for(generator.target.id, one, other)
                for made in _made_of(frame, other):
                    yield from _put_for(generator.target.id, one, made)


def _takes(e: f.Comprehension, name: str) -> bool:
    """Whether a comprehension yields what it looks at."""
    return len(e.elements) == 1 and type(e.elements[0]) is f.Name and e.elements[0].id == name


def _put_for(name: str, one: f.Expr, other: f.Expr) -> Iterator[f.Expr]:
    """What stands in one of two expressions where the other, which else is the same, has a name."""
    if type(one) is f.Name or name not in variables(one):
        return
    text = render(other)
    for node in walk(other):
        if (type(node) is f.Name or type(node) is f.Attr or type(node) is f.Call) and node is not other:
            asked = render(replaced(one, {name: node}, _NOWHERE))
            if asked == text:
                yield node


def _made_of(frame: Frame, expr: f.Expr) -> list[f.Expr]:
    """What a place is set to in this function, if that is one thing."""
    place = place_name(expr)
    body = frame.function.body if frame.function is not None else frame.module.body
    made = frame.analysis.bodies.assigned(body, place)
    return made if len(made) == 1 else []


def sought_among(e: f.Call) -> Iterator[f.Expr]:
    """What a list has to have that `next` takes: `next(ranks for ranks in groups if x in ranks)`."""
    of = e.args[0] if e.args else None
    if type(of) is not f.Comprehension or len(of.generators) != 1:
        return
    target = of.generators[0].target
    if type(target) is not f.Name or not _takes(of, target.id):
        return
    for test in of.generators[0].conditions:
        if type(test) is f.Compare and test.ops == ("in",) and render(test.rights[0]) == target.id:
            yield test.left
