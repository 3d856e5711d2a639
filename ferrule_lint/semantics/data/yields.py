"""Tests of a generator both of whose arms yield as often: what is yielded differs by them, and not how much."""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk, way_to

#: what makes the number of what a statement yields depend on more than it says
_OPEN = frozenset({f.For, f.While, f.Try, f.Return, f.Break, f.Continue, f.Raise, f.IfExp, f.BoolOp, f.Generator})


def even_tests(body: f.Body, pos: f.Pos) -> int:
    """How many of the innermost tests around a `yield` have arms that all yield as often."""
    number = 0
    around = [block[i] for block, i in way_to(body, pos)[:-1]]
    for test in [s for s in around if type(s) is f.If]:
        own = _number(test.body)
        number = number + 1 if own is not None and own == _number(test.orelse) else 0
    return number


def _number(body: f.Body) -> int | None:
    """How often a block yields; None if that depends on more than it says at once."""
    number = 0
    for statement in body:
        if type(statement) is f.If:
            own = _number(statement.body)
            if own is None or own != _number(statement.orelse):
                return None
            number += own
            continue
        nodes = [(type(node), node) for node in walk((statement,))]
        yields = [node for kind, node in nodes if kind is f.Yield]
        leaves = any(kind in (f.Return, f.Break, f.Continue, f.Raise) for kind, _ in nodes)
        if leaves or (yields and any(kind in _OPEN for kind, _ in nodes)):
            return None
        if any(type(node) is f.Yield and type(node.value) is f.Starred for node in yields):
            return None
        number += len(yields)
    return number
