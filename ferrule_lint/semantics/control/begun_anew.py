"""Handlers that begin the rounds of their block anew where none has been done, and raise else.

    while True:
        done = 0
        try:
            for batch in make_loader(pinned):
                step(batch)
                done += 1
        except RuntimeError:
            if done == 0 and pinned:
                pinned = False
                continue
            raise
        break

A rank that comes by such a handler takes as many rounds as the others, later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, under_tests, way_to

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_LEAVES = (f.Return, f.Continue, f.Break)
_NOTHING = f.Const("0")


def by(frame: Frame, s: f.Try, handler: f.Handler) -> bool:
    """Whether a handler of a block is one."""
    ways = [(t, tests) for t, tests in under_tests(handler.body) if type(t) in _LEAVES]
    if not ways or type(handler.body[-1]) is not f.Raise or any(type(t) is not f.Continue for t, _ in ways):
        return False
    counts = _counts(frame, s)
    return bool(counts) and all(any(_is_nothing(test, counts) for test in tests) for _, tests in ways)


def _counts(frame: Frame, s: f.Try) -> set[str]:
    """What is nothing before a block, in each round of an endless loop, and counts the rounds in the block."""
    way = way_to(frame.function.body, (s.line, 0)) if frame.function is not None else []
    place = next((n for n, (block, i) in enumerate(way) if block[i] is s), 0)
    around = way[place - 1][0][way[place - 1][1]] if place else None
    if type(around) is not f.While or around.test != f.Const("True"):
        return set()
    block, i = way[place]
    begun = {
        t.id for b in block[:i] if type(b) is f.Assign and b.value == _NOTHING for t in b.targets if type(t) is f.Name
    }
    rounds = [inner for inner in statements(s.body) if type(inner) is f.For]
    stepped = [inner for loop in rounds for inner in statements(loop.body) if type(inner) is f.AugAssign]
    return begun & {t.target.id for t in stepped if type(t.target) is f.Name}


def _is_nothing(test: f.Expr, counts: set[str]) -> bool:
    """`done == 0`, also with more beside it."""
    if type(test) is f.BoolOp:
        return test.op == "and" and any(_is_nothing(value, counts) for value in test.values)
    if type(test) is not f.Compare or type(test.left) is not f.Name:
        return False
    return test.left.id in counts and (test.ops, test.rights) == (("==",), (_NOTHING,))
