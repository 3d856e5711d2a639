"""Loops over all numbers of which each item has one: a round that concerns none is passed over, and some round is not.

    for i in range(experts):
        mask = (chosen == i).any(dim=-1)
        if not mask.any():
            continue
        out[mask] += weights[mask] * self.experts[i](x[mask])

What was made before such a loop is used in some round on every rank; what a round makes, on those who have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def used(frame: Frame, body: f.Body, before: Mapping[str, Value]) -> frozenset[str]:
    """The outputs of modules that were there before a loop, if its rounds are such."""
    loop = frame.rounds[-1].statement if frame.rounds else None
    if type(loop) is not f.For or loop.body is not body or not _passes_over(loop):
        return NOTHING
    return NOTHING.union(*(v.reach.outputs for v in before.values() if v.reach is not None))


def _passes_over(loop: f.For) -> bool:
    """Whether each test by which a round is passed over asks what was compared with its number."""
    if type(loop.target) is not f.Name or type(loop.iterable) is not f.Call or last_name(loop.iterable.func) != "range":
        return False
    if len(loop.iterable.args) != 1:
        return False
    tests = [s.test for s in loop.body if type(s) is f.If and s.body and type(s.body[-1]) is f.Continue]
    own = {name for s in loop.body if type(s) is f.Assign and _compares(s.value, loop.target.id) for name in _names(s)}
    return bool(tests) and all(_compares(test, loop.target.id) or own & variables(test) for test in tests)


def _compares(expr: f.Expr | None, counter: str) -> bool:
    """`places == i`"""
    return any(
        type(node) is f.Compare and node.ops == ("==",) and counter in (last_name(node.left), last_name(node.rights[0]))
        for node in walk(expr)
    )


def _names(s: f.Assign) -> frozenset[str]:
    return NOTHING.union(*map(variables, s.targets))
