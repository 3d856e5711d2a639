"""Nested functions that only the ranks of one group call: `if dp_rank == 0: share(parameter)`.

What such a function does in a group along other axes takes place in one of the groups, so that a rank of the whole job
may stand for a place in it.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, under_tests, walk
from ferrule_lint.semantics.domain.axes import WORLD, Axes, share
from ferrule_lint.semantics.walk.frame import Frame


def of_one_group(frame: Frame, axes: Axes) -> bool:
    """Whether all calls of a nested function stand under a test of the place along an axis beside these."""
    outer, function = frame.closure, frame.function
    if outer is None or outer.function is None or function is None or "." in function.name:
        return False
    body, name = outer.function.body, function.name
    simple = [(s, tests) for s, tests in under_tests(body) if not any(True for _ in blocks(s))]
    calls = [tests for s, tests in simple for node in walk((s,)) if _is_call(node, name)]
    if not calls or len(calls) != sum(_is_call(node, name) for node in walk(body)):
        return False  # some are in what a block is entered with
    return all(any(_chooses_one(outer, test, axes) for test in tests) for tests in calls)


def _is_call(node: object, name: str) -> bool:
    return type(node) is f.Call and type(node.func) is f.Name and node.func.id == name


def _chooses_one(outer: Frame, test: f.Expr, axes: Axes) -> bool:
    """`place == 0`, of a place along none of these axes."""
    if type(test) is not f.Compare or test.ops != ("==",) or type(test.rights[0]) is not f.Const:
        return False
    with outer.recording():
        place = outer.eval(test.left).divergence
    return place is not None and place.kind == "rank" and not share(place.axes, axes | WORLD)
