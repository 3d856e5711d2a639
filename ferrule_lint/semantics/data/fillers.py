"""What is put beside something to fill it up: `[0] * (n - len(ids))`, `x.new_zeros(n - len(x), 8)`, by the text.

How much that is, to which number it fills up, and whether it is reckoned from the length of what it stands beside, or
of that before it was cut to the number: `ids[:n] + [0] * (n - len(ids))` has n items, since a list times a negative
number has none.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.text import last_name, length_of, place_name, render, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_NOTHING, _ZERO = f.Const("None"), f.Const("0")
#: calls whose first size, and methods whose first argument, says how many rows there are
MAKERS = frozenset("zeros ones empty full rand randn randint new_zeros new_ones new_empty new_full".split())
_STRETCH = frozenset("repeat expand tile".split())
#: names that stand for one another
_MOST_NAMES = 4
#: what holds as many items as what it is made of
_KEEP = frozenset("list tuple tensor as_tensor array asarray".split())


def end_of(index: f.Expr) -> f.Expr | None:
    """`n` of `[:n]` and of `[-n:]`, which leave n items of such as have as many; None for other indices."""
    if type(index) is not f.Op or index.kind != "Slice" or index.operands[2] != _NOTHING:
        return None
    lower, upper = index.operands[:2]
    if lower in (_NOTHING, _ZERO) and upper != _NOTHING:
        return None if type(upper) is f.Op and upper.kind == "USub" else upper
    if upper == _NOTHING and type(lower) is f.Op and lower.kind == "USub":
        return lower.operands[0]
    negative = type(lower) is f.Const and lower.text.startswith("-") and upper == _NOTHING
    return f.Const(lower.text[1:]) if negative and type(lower) is f.Const else None


def first_size(call: f.Call) -> f.Expr | None:
    """How many rows something is made with: `zeros(n, 4)`, `full((n,), 0)`, `randint(high, (n,))`."""
    by_name = next((value for name, value in call.keywords if name == "size"), None)
    place = 1 if last_name(call.func) == "randint" else 0
    sizes = [a for a in call.args[place:] if type(a) is f.Sequence][:1] if place else list(call.args[:1])
    size = by_name if by_name is not None else sizes[0] if sizes else None
    return (size.elements[0] if size.elements else None) if type(size) is f.Sequence else size


def times(expr: f.Expr) -> Iterator[f.Expr]:
    """How often the one item of a list is repeated: `[0] * n`, `n * [0]`."""
    if type(expr) is f.Op and expr.kind == "Mult" and len(expr.operands) == 2:
        for one, number in itertools.permutations(expr.operands):
            if type(one) is f.Sequence and len(one.elements) == 1:
                yield number


def amounts(frame: Frame, expr: f.Expr) -> Iterator[f.Expr]:
    """How much there is of what may be a filler."""
    part = meant(frame, expr.value if type(expr) is f.Starred else expr)
    yield from times(part)
    if type(part) is f.Comprehension and len(part.generators) == 1 and not part.generators[0].conditions:
        walked = part.generators[0].iterable
        if type(walked) is f.Call and last_name(walked.func) == "range" and len(walked.args) == 1:
            yield walked.args[0]
    if type(part) is not f.Call:
        return
    name = last_name(part.func)
    if name in MAKERS and (size := first_size(part)) is not None:
        yield size
    elif name in _STRETCH and type(part.func) is f.Attr and part.args:
        first = part.args[0]
        yield first.elements[0] if type(first) is f.Sequence and first.elements else first


def lacked(frame: Frame, amount: f.Expr) -> tuple[f.Expr, f.Expr] | None:
    """`n` and `length` of an amount that is `n - length`, also under a name, and in `max(0, n - length)`."""
    for _ in range(_MOST_NAMES):
        found = meant(frame, amount)
        if type(found) is f.Call and last_name(found.func) == "max" and _ZERO in found.args and len(found.args) == 2:
            found = found.args[0] if found.args[1] == _ZERO else found.args[1]
        if found is amount:
            break
        amount = found
    if type(amount) is not f.Op or amount.kind != "Sub" or len(amount.operands) != 2:
        return None
    return amount.operands[0], amount.operands[1]


def meant(frame: Frame, expr: f.Expr) -> f.Expr:
    """What a name stands for, also where an arm has set it that has ended since: if nothing else sets it at all."""
    found = definition(frame, expr)
    if found is not expr or type(expr) is not f.Name or frame.function is None:
        return found
    held = frame.analysis.bodies.given(frame.function.body, expr.id)
    alone = len(held) == 1 and expr.id not in {p.name for p in frame.function.parameters}
    return held[0] if alone and expr.id not in variables(held[0]) else expr


def same(frame: Frame, number: f.Expr, other: f.Expr) -> bool:
    """Whether two numbers are written alike, or stand for what is."""
    return render(number) == render(other) or render(meant(frame, number)) == render(meant(frame, other))


def sized(expr: f.Expr) -> f.Expr | None:
    """`x` of `len(x)`, `x.shape[0]`, `x.size(0)`, `x.numel()`, which say how many rows it has; None for others."""
    if type(expr) is f.Subscript and expr.index == _ZERO:
        shape = expr.base.func if type(expr.base) is f.Call and not expr.base.args else expr.base
        return shape.base if type(shape) is f.Attr and shape.attr in ("shape", "size") else None
    if type(expr) is f.Call and type(expr.func) is f.Attr:
        asked = (expr.func.attr, expr.args)
        return expr.func.base if asked in (("size", (_ZERO,)), ("numel", ())) else None
    return length_of(expr)


def padded(frame: Frame, call: f.Call) -> Iterator[tuple[f.Expr, bool]]:
    """The numbers up to which `F.pad(x, (0, n - len(x)))` fills up what it is given first, each with whether that has
    been cut to it."""
    pending = [*call.args[1:], *(value for name, value in call.keywords if name in ("pad", "pad_width"))]
    while pending and call.args:
        expr = meant(frame, pending.pop())
        if type(expr) is f.Sequence:
            pending += expr.elements
        elif (found := lacked(frame, expr)) is not None:
            number, length = found
            if _is_cut(frame, call.args[0], number, length):
                yield number, True
            elif _counts(frame, length, call.args[0]):
                yield number, False


def is_length(frame: Frame, number: f.Expr, of: f.Expr) -> bool:
    """Whether a number, or what it stands for, is how many items something has: `n` after `n = len(ids)`."""
    text = render(of)
    return any((asked := sized(one)) is not None and render(asked) == text for one in _behind(frame, number))


def completed(frame: Frame, parts: Sequence[f.Expr]) -> Iterator[tuple[f.Expr, f.Expr, bool]]:
    """The numbers of items up to which one of some parts is filled up by another, each with that part and whether it
    has been cut to it; if not, it may be longer."""
    for whole, filler in itertools.permutations(parts, 2):
        for amount in amounts(frame, filler):
            if (found := lacked(frame, amount)) is not None:
                number, length = found
                if _is_cut(frame, whole, number, length):
                    yield number, whole, True
                elif _counts(frame, length, whole):
                    yield number, whole, False


def _is_cut(frame: Frame, whole: f.Expr, number: f.Expr, length: f.Expr) -> bool:
    """Whether a part is something whose length is counted, cut to a number: `ids[:n]` and `len(ids)`, or cut to the
    smaller of both: `ids[:k]` and `k`, after `k = min(len(ids), n)`."""
    for one in _contents(frame, whole):
        if type(one) is not f.Subscript or (end := end_of(one.index)) is None:
            continue
        if same(frame, end, number) and (is_length(frame, length, one.base) or is_length(frame, length, one)):
            return True
        if same(frame, end, length) and _is_smaller(frame, length, one.base, number):
            return True
    return False


def _is_smaller(frame: Frame, length: f.Expr, of: f.Expr, number: f.Expr) -> bool:
    """`min(len(ids), n)`."""
    found = meant(frame, length)
    if type(found) is not f.Call or last_name(found.func) != "min" or len(found.args) != 2:
        return False
    return any(is_length(frame, a, of) and same(frame, b, number) for a, b in itertools.permutations(found.args))


def _counts(frame: Frame, length: f.Expr, whole: f.Expr) -> bool:
    """Whether a number is how many items a part has: as its length, or as often as what it holds is repeated."""
    return any(
        is_length(frame, length, one) or any(same(frame, number, length) for number in times(one))
        for one in _contents(frame, whole)
    )


def _contents(frame: Frame, expr: f.Expr) -> Iterator[f.Expr]:
    """A part, and what holds as many items as it does by the text: `ids[:n]` of `cut`, of `[f(t) for t in ids[:n]]`, of
    `[1] * len(ids[:n])`."""
    for _ in range(_MOST_NAMES):
        expr = expr.value if type(expr) is f.Starred else expr
        yield expr
        inner = meant(frame, expr)
        if type(expr) is f.Comprehension and expr.kind == "list" and len(expr.generators) == 1:
            inner = expr if expr.generators[0].conditions else expr.generators[0].iterable
        elif type(expr) is f.Call and last_name(expr.func) in _KEEP and len(expr.args) >= 1:
            inner = expr.args[0]
        else:
            inner = next((of for n in times(expr) if (of := sized(meant(frame, n))) is not None), inner)
        if inner is expr:
            return
        if place_name(expr) and place_name(expr) in _names(inner):
            return  # `ids = ids[:n]` was another one
        expr = inner


def _names(expr: f.Expr) -> set[str]:
    return {place_name(n) for n in walk(expr) if type(n) is f.Name or type(n) is f.Attr}


def _behind(frame: Frame, number: f.Expr) -> Iterator[f.Expr]:
    for _ in range(_MOST_NAMES):
        yield number
        if (found := meant(frame, number)) is number:
            return
        number = found
