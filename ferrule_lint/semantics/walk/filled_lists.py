"""Lists that a test says to hold a number of things that is the same on all ranks.

    items.append(x)
    count += 1
    if count == most:
        step(items)
        items, count = [], 0

Whichever rounds a rank leaves out, in the test there are `most` items. `len(items) == most` says so by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, statements
from ferrule_lint.semantics.domain.assigned import appended_to, assignments
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.walk.frame import Frame


def filled_alike(frame: Frame, told: Iterable[tuple[f.Expr, bool]]) -> Iterator[str]:
    """The places of lists that hold as many items on every rank that comes to an arm of which `told` holds."""
    for test, outcome in told:
        if not outcome or type(test) is not f.Compare or test.ops != ("==",):
            continue
        if all(value.length is None for value in frame.env.values()):
            return
        for counted, most in ((test.left, test.rights[0]), (test.rights[0], test.left)):
            if type(counted) is f.Call and last_name(counted.func) == "len" and len(counted.args) == 1:
                place = place_name(counted.args[0])
                if place and _is_alike(frame, most):
                    yield place
            elif (count := place_name(counted)) and frame.function is not None:
                lists = list(_emptied_with(frame.function.body, test, count))
                yield from lists if lists and _is_alike(frame, most) else ()


def _is_alike(frame: Frame, most: f.Expr) -> bool:
    with frame.recording():
        value = frame.eval(most)
    return value.divergence is None and value.data is None and not value.deps


def _emptied_with(body: f.Body, test: f.Compare, count: str) -> Iterator[str]:
    """The lists that get one item wherever a count goes up by one, and are emptied where it is set back."""
    for block in _blocks(body):
        at = next((i for i, s in enumerate(block) if type(s) is f.If and _asks(s.test, test)), None)
        if at is None:
            continue
        before, asked = block[:at], block[at]
        assert type(asked) is f.If
        if any(_steps(s, count) for s in before) and any(_sets(s, count) for s in asked.body):
            yield from (
                place for s in before if (place := appended_to(s)) and any(_empties(t, place) for t in asked.body)
            )
        return


def _blocks(body: f.Body) -> Iterator[f.Body]:
    yield body
    for s in statements(body):
        yield from blocks(s)


def _asks(whole: f.Expr, test: f.Compare) -> bool:
    return whole == test or (type(whole) is f.BoolOp and whole.op == "and" and test in whole.values)


def _steps(s: f.Stmt, count: str) -> bool:
    return type(s) is f.AugAssign and s.op == "Add" and type(s.value) is f.Const and place_name(s.target) == count


def _sets(s: f.Stmt, place: str) -> bool:
    return any(type(value) is f.Const for value in _assigned(s, place))


def _empties(s: f.Stmt, place: str) -> bool:
    if type(s) is f.ExprStmt and type(s.value) is f.Call and type(s.value.func) is f.Attr:
        return s.value.func.attr == "clear" and place_name(s.value.func.base) == place
    return any(type(value) is f.Sequence and not value.elements for value in _assigned(s, place))


def _assigned(s: f.Stmt, place: str) -> Iterator[f.Expr]:
    """What a statement itself assigns to a place."""
    yield from (value for value, _ in assignments((s,), place) if type(s) is f.Assign)
