"""Loops over data that are begun again until all ranks have taken as many steps.

    while step < total:
        for batch in loader:
            step += 1
            ...
            if step >= total:
                return

Who has fewer batches begins its next epoch earlier, and meets the others in it: that shares are uneven leaves the
number of rounds alone, as long as nothing but the rounds issues anything. Where a step takes several rounds, ranks meet
if a round that is no step issues nothing, either:

    while True:
        for number, batch in enumerate(loader):
            if (number + 1) % accumulation == 0:
                all_reduce(gradients)
                step += 1
            if step >= total:
                break
        if step >= total:
            break
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeGuard

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import last_name, place_name, shown
from ferrule_lint.semantics.domain.trace import Choice, Exit, Trace
from ferrule_lint.semantics.walk.by_hand import FOREVER

#: calls that end a program
_ENDS = frozenset({"exit", "_exit"})
#: calls that tell people of something
_TELLS = frozenset({"print", "debug", "info", "warning", "log"})


def until_counted(body: f.Body, s: f.For) -> bool:
    """Whether a `for` loop of this body stands alone in a `while`, and both are left by a count of its rounds."""
    steps = [place_name(t.target) for t in s.body if type(t) is f.AugAssign and t.op == "Add"]
    if not steps:
        return False  # as in most loops: what is around them need not be looked for
    around = next((w for w in statements(body) if type(w) is f.While and s in w.body), None)
    if around is None or not all(t is s or _prepares(t) for t in around.body):
        return False
    forever = around.test in FOREVER
    counter = next((place for place in sorted(filter(None, steps)) if forever or place in _asked(around.test)), None)
    if counter is None:
        return False
    leaves = (f.Return, f.Raise) if forever else (f.Return, f.Raise, f.Break)
    return any(
        type(t) is f.If and counter in _asked(t.test) and bool(t.body) and _leaves(t.body[-1], leaves) for t in s.body
    )


def until_stepped(body: f.Body, s: f.For, issued: Trace) -> bool:
    """Whether it is so with steps that a round takes under a test, and nothing is issued but under one. `issued`: by a
    round."""
    if not all(type(term) in (Choice, Exit) for term in issued):
        return False
    stepped = {
        place_name(t.target)
        for test in s.body
        if type(test) is f.If
        for t in test.body
        if type(t) is f.AugAssign and t.op == "Add"
    }
    ways_out = [t for t in s.body if _is_left_by(t, stepped)]
    around = next((w for w in statements(body) if type(w) is f.While and s in w.body), None)
    if not ways_out or around is None or around.test not in FOREVER:
        return False
    out = shown(ways_out[-1].test)
    beside = [t for t in around.body if t is not s and not _prepares(t)]
    return len(beside) == 1 and _is_left_by(beside[0], stepped) and shown(beside[0].test) == out


def _is_left_by(s: f.Stmt, counters: Collection[str | None]) -> TypeGuard[f.If]:
    """`if step >= total: break`"""
    return (
        type(s) is f.If
        and not _asked(s.test).isdisjoint(counters)
        and bool(s.body)
        and type(s.body[-1]) is f.Break
        and not s.orelse
    )


def _asked(test: f.Expr) -> set[str]:
    """The places that a comparison of sizes asks for."""
    if type(test) is not f.Compare or not set(test.ops) <= {"<", "<=", ">", ">=", "=="}:
        return set()
    return {place for side in (test.left, *test.rights) if (place := place_name(side))}


def _leaves(s: f.Stmt, leaves: tuple[type, ...]) -> bool:
    ends = type(s) is f.ExprStmt and type(s.value) is f.Call and last_name(s.value.func) in _ENDS
    return type(s) in leaves or ends


def _prepares(s: f.Stmt) -> bool:
    """Whether a statement beside the loop only makes ready for its next round."""
    if type(s) is f.ExprStmt:
        return type(s.value) is f.Call and last_name(s.value.func) in {"set_epoch", *_TELLS}
    return type(s) is f.AugAssign or type(s) is f.Assign
