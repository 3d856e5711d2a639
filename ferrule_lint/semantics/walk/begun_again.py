"""Loops over data that are begun again until all ranks have taken as many steps.

    while step < total:
        for batch in loader:
            step += 1
            ...
            if step >= total:
                return

Who has fewer batches begins its next epoch earlier, and meets the others in it: that shares are uneven leaves the
number of rounds alone, as long as nothing but the rounds issues anything.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.walk.by_hand import FOREVER

#: calls that end a program
_ENDS = frozenset({"exit", "_exit"})


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
        return type(s.value) is f.Call and last_name(s.value.func) == "set_epoch"
    return type(s) is f.AugAssign or type(s) is f.Assign
