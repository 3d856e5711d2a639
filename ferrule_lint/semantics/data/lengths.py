"""What has one length on all ranks, by the text: cut to as many items as there are, or filled up to as many as cut.

```python
(ids + [0] * n)[:n]                        # has n
if len(found) < n: raise ...               # behind it, found[:n] has n
while len(found) < n: found.extend(...)    # so here
found = x[mask][:n]
if len(found) < n: found = torch.cat([found, torch.zeros(n - len(found))])  # n, with or without it
```

Asked where something is known to differ, or to be a caller's. The number has to be the same on all ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, told_parts
from ferrule_lint.semantics.data import fillers, filling, shares
from ferrule_lint.semantics.data.bounds import DEEPEST, KEEP, Asked, body_of, done_in, kept_by, way_of
from ferrule_lint.semantics.data.fillers import end_of
from ferrule_lint.semantics.domain.dependences import COUNTED, ITERATED, NO_DEPS, OBSERVED
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: of a number that is worked out of how many items there are
_OF_LENGTH = frozenset({COUNTED, OBSERVED, ITERATED})


def is_cut_in_full(frame: Frame, e: f.Subscript) -> bool:
    """Whether `items[:n]` or `items[-n:]` is cut to as many items as every rank has."""
    number = end_of(e.index)
    return (
        number is not None and _is_alike(frame, number) and _asked(frame, number, True).of(e.base, way_of(frame, e.pos))
    )


def picks_in_full(frame: Frame, index: f.Expr, pos: f.Pos) -> bool:
    """Whether an index holds as many places on every rank: `torch.randperm(len(x))[:n]`, `x[:, 1].topk(n).indices`."""
    way = way_of(frame, pos)
    return any(
        _is_alike(frame, number) and all(_asked(frame, number, side).of(index, way) for side in (True, False))
        for number in _numbers_of(frame, index)
    )


def filled(frame: Frame, parts: Sequence[f.Expr], pos: f.Pos | None, value: Value) -> Value:
    """What a list is that is put together of some parts: `ids[:n] + [0] * (n - len(ids))` has as many as `n` says."""
    if not (value.length or value.length_deps or value.shape):
        return value
    if not any(True for part in parts for _ in fillers.times(fillers.meant(frame, part))):
        return value
    if not is_filled(frame, parts, pos):
        return value
    cut = [part.base for part in parts if type(part) is f.Subscript and end_of(part.index) is not None]
    if any(frame.ask(base).shape is None for base in cut):  # `ids[:k] + [0] * (n - k)`
        value = value._replace(shape=None, shape_deps=NO_DEPS)
    return filling.filled_up(value)


def is_filled(frame: Frame, parts: Sequence[f.Expr], pos: f.Pos | None) -> bool:
    """Whether what is put together of some parts is filled up to a number of items, `ids[:n] + [0] * (n - len(ids))`:
    what is cut to another number has to be known not to be longer."""
    for number, whole, cut in fillers.completed(frame, parts):
        at_hand = type(whole) is not f.Subscript or end_of(whole.index) is None
        if _is_alike(frame, number) and (
            cut or at_hand or (pos is not None and _asked(frame, number, False).of(whole, way_of(frame, pos)))
        ):
            return True
    return False


def of_arms(frame: Frame, e: f.IfExp) -> bool:
    """Whether both arms have one length: `cat([x, zeros(n - len(x))]) if len(x) < n else x[:n]`."""
    way = way_of(frame, e.pos)
    return any(all(_asked(frame, n, side).of(e, way) for side in (True, False)) for n in _compared(frame, (e.test,)))


def after_test(frame: Frame, s: f.If, differing: set[str]) -> list[str]:
    """Those of some places which have one length behind a test: filled up in an arm, and cut in the other or before."""
    bound = {place for place, how in done_in((s,)) if how == "="} & differing
    if not bound:
        return []
    way = [*way_of(frame, (s.line, s.column))]
    while way and way[-1][0][way[-1][1]] is not s:
        way.pop()
    tests = tuple(one.test for one in statements((s,)) if type(one) is f.If)
    numbers = list(_compared(frame, tests))
    return [
        place
        for place in sorted(bound)
        if any(all(_asked(frame, n, side).behind(s, place, way, 0) for side in (True, False)) for n in numbers)
    ]


def _compared(frame: Frame, tests: Sequence[f.Expr]) -> Iterator[f.Expr]:
    """The numbers with which tests compare how much there is, alike on all ranks."""
    for test in tests:
        for part, _ in (*told_parts(test, True), *told_parts(test, False)):
            for side in (part.left, *part.rights) if type(part) is f.Compare else ():
                missing = fillers.lacked(frame, side)
                number = side if missing is None else missing[0]
                if fillers.sized(number) is None and _is_alike(frame, number):
                    yield number


def _numbers_of(frame: Frame, expr: f.Expr, depth: int = 0) -> Iterator[f.Expr]:
    """The numbers of places to which an index may be cut, behind its names."""
    if depth > DEEPEST:
        return
    if type(expr) is f.Name:
        for value in _given(frame, expr.id):
            if expr.id not in variables(value):
                yield from _numbers_of(frame, value, depth + 1)
    elif type(expr) is f.Attr:
        yield from _numbers_of(frame, expr.base, depth + 1) if type(expr.base) is f.Call else ()
    elif type(expr) is f.Subscript:
        end = end_of(expr.index)
        if end is not None:
            yield end
        elif type(expr.index) is f.Const:
            yield from _numbers_of(frame, expr.base, depth + 1)
    elif type(expr) is f.Call and (number := kept_by(expr)) is not None:
        yield number
    elif type(expr) is f.Call and last_name(expr.func) in KEEP:
        inner = expr.args[0] if expr.args else expr.func.base if type(expr.func) is f.Attr else None
        yield from _numbers_of(frame, inner, depth + 1) if inner is not None else ()


def _given(frame: Frame, name: str) -> list[f.Expr]:
    """What a name is given in the function, by itself or as one of several: `values, places = x.topk(n)`."""
    return frame.analysis.bodies.once(_all_given, body_of(frame)).get(name, [])


def _all_given(body: f.Body) -> dict[str, list[f.Expr]]:
    found: dict[str, list[f.Expr]] = {}
    for s in statements(body):
        for target in s.targets if type(s) is f.Assign and s.value is not None else ():
            for part in target.elements if type(target) is f.Sequence else (target,):
                if type(part) is f.Name and type(s) is f.Assign and s.value is not None:
                    found.setdefault(part.id, []).append(s.value)
    return found


def _is_alike(frame: Frame, number: f.Expr) -> bool:
    if type(number) is f.Const:
        return number.text.isdigit()
    value = frame.ask(number)
    if value.agreed:
        return value.divergence is None
    differs = value.observed or value.shape or value.length
    return differs is None and not any(how in _OF_LENGTH for _, how in value.deps)


def _asked(frame: Frame, number: f.Expr, least: bool) -> Asked:
    agreed = least and frame.ask(number).agreed and not shares.is_most_of_all(frame, number)
    return Asked(frame, number, least, agreed)
