"""Shares of something that is dealt out to ranks: as many items on each, or an item more on some.

`items[rank::world_size]` leaves some ranks one less, unless there are as many items as a multiple of the ranks, or all
are cut to what each has at least; so does a block whose length was rounded up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.data import evened
from ferrule_lint.semantics.data.filling import fills_up, is_filled_to
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import last_name, place_name, render, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_NOTHING = f.Const("None")

#: functions that split something into parts of which some have an item more
_SPLIT = frozenset({"array_split", "divide", "distribute"})

#: methods that cut a tensor into parts
_CUTS = frozenset({"tensor_split", "chunk"})


def is_even(frame: Frame, index: f.Op) -> bool:
    """Whether a slice whose ends differ by rank is as long on each of them: `[rank * n : (rank + 1) * n]`.

    A length that was rounded up leaves less for the last rank.
    """
    lower, upper, step = index.operands
    if step != f.Const("None") or lower == f.Const("None"):
        return False
    length = _between(frame, lower, upper)
    return length is not None and not _rounded_up(definition(frame, length))


def is_rounded_up(frame: Frame, index: f.Op) -> bool:
    """Whether a slice is a rank's share of a length that was rounded up: `[rank * n : (rank + 1) * n]`."""
    lower, upper, step = index.operands
    length = _between(frame, lower, upper) if step == _NOTHING and lower != _NOTHING else None
    return length is not None and _rounded_up(definition(frame, length))


def as_far(frame: Frame, lower: f.Expr, upper: f.Expr) -> bool:
    """Whether two numbers that differ by rank are as far from each other on each: `rank * n`, `(rank + 1) * n`."""
    return _between(frame, lower, upper) is not None


def _between(frame: Frame, lower: f.Expr, upper: f.Expr) -> f.Expr | None:
    """How far one number is from another, if ranks do not differ in that."""
    low, high = definition(frame, lower), definition(frame, upper)
    length = _beyond(high, lower) or _beyond(high, low) or _times_next(low, high)
    return length if length is not None and frame.eval(length).divergence is None else None


def rotates(first: f.Expr, second: f.Expr) -> bool:
    """Whether two parts put together are the whole, in another order: `x[k:] + x[:k]`, `[x[k:], x[:k]]`."""
    if type(first) is not f.Subscript or type(second) is not f.Subscript or not _same(first.base, second.base):
        return False
    a, b = first.index, second.index
    if type(a) is not f.Op or type(b) is not f.Op or (a.kind, b.kind) != ("Slice", "Slice"):
        return False
    nothing = f.Const("None")
    ends = (a.operands[1], a.operands[2], b.operands[0], b.operands[2])
    return all(e == nothing for e in ends) and _same(a.operands[0], b.operands[1])


def _same(a: f.Expr, b: f.Expr) -> bool:
    return render(a) == render(b)


def dealt(frame: Frame, parts: f.Expr) -> bool:
    """Whether something was split into parts that need not be even: `np.array_split(items, n)`,
    `[items[i::n] for i in range(n)]`, blocks of a length that was rounded up, also in a function of the project. A list
    that the program makes otherwise may well have even parts, and tensors are chunked along dimensions that are
    multiples."""
    made = definition(frame, parts)
    if type(made) is f.Call and last_name(made.func) in _CUTS:
        return _are_numbers(frame, made)
    if type(made) is f.Call and made.args:
        if last_name(made.func) in _SPLIT:
            if last_name(made.func) != "array_split":
                return not frame.eval(made.args[-1]).multiple
            return not frame.eval(made.args[0]).multiple and not (
                len(made.args) > 1 and is_filled_to(frame, made.args[0], made.args[1])
            )
        with frame.recording():
            target = frame.eval(made.func).target
        if type(target) is not FunctionTarget or any(frame.eval(a).multiple for a in made.args):
            return False
        returned, assigned = _returned(target.function.body)
        cut = _uneven(returned, lambda e: assigned.get(e.id, e) if type(e) is f.Name else e)
        return cut is not None and not fills_up(target.function.body, cut)
    part = _uneven(made, lambda e: definition(frame, e))
    return part is not None and not frame.eval(part.base).multiple


def _are_numbers(frame: Frame, cut: f.Call) -> bool:
    """Whether a tensor that is cut into parts holds the numbers of the items of something: `torch.arange(len(items))`,
    of whose length nobody says that it is a multiple."""
    whole = cut.func.base if type(cut.func) is f.Attr and len(cut.args) < 2 else cut.args[0] if cut.args else None
    made = definition(frame, whole) if whole is not None else None
    if type(made) is not f.Call or last_name(made.func) not in ("arange", "randperm") or len(made.args) != 1:
        return False
    number = definition(frame, made.args[0])
    return type(number) is f.Call and last_name(number.func) == "len" and not frame.eval(number).multiple


def _uneven(made: f.Expr | None, known: Callable[[f.Expr], f.Expr]) -> f.Subscript | None:
    """One of the parts that a comprehension cuts something into, where they need not be even."""
    if type(made) is not f.Comprehension or len(made.generators) != 1 or made.generators[0].conditions:
        return None
    part, generator = made.elements[0], made.generators[0]
    if type(part) is f.Call and len(part.args) == 1:
        part = part.args[0]  # `list(items[i::n])`
    if type(part) is not f.Subscript or type(part.index) is not f.Op or part.index.kind != "Slice":
        return None
    lower, upper, step = part.index.operands
    if step != _NOTHING:
        return part if render(lower) == render(generator.target) else None
    if _spreads_rest(lower, upper, generator.target):
        return part
    walked, length = generator.iterable, _times_next(lower, upper)
    if type(walked) is f.Call and last_name(walked.func) == "range" and len(walked.args) == 3 and length is None:
        length = _beyond(upper, lower) if render(lower) == render(generator.target) else None
        if length is None or render(length) != render(walked.args[2]):
            return None
    return part if length is not None and _rounded_up(known(length)) else None


def _spreads_rest(lower: f.Expr, upper: f.Expr, number: f.Expr) -> bool:
    """Whether the first parts have one of the items more that are left over, by their ends: from `i * k + min(i, m)`
    to `(i + 1) * k + min(i + 1, m)`."""
    if type(lower) is not f.Op or type(upper) is not f.Op or lower.kind != "Add" or upper.kind != "Add":
        return False
    before, behind = (
        next((o for o in end.operands if type(o) is f.Call and last_name(o.func) == "min" and len(o.args) == 2), None)
        for end in (lower, upper)
    )
    if before is None or behind is None or not _same(before.args[1], behind.args[1]):
        return False
    return _same(before.args[0], number) and _is_next(behind.args[0], number)


def _returned(body: f.Body) -> tuple[f.Expr | None, dict[str, f.Expr]]:
    """What a function hands back at its end, and what is assigned to its names once."""
    assigned: dict[str, f.Expr] = {}
    around = body[-1] if body else None
    if (type(around) is f.With or (type(around) is f.Try and not around.handlers)) and around.body:
        body = (*body[:-1], *around.body)  # in a block that is gone through in any case
    for s in body:
        if type(s) is f.Assign and len(s.targets) == 1 and type(s.targets[0]) is f.Name and s.value is not None:
            assigned[s.targets[0].id] = s.value
    last = body[-1] if body else None
    if type(last) is not f.Return or last.value is None:
        return None, assigned
    return assigned.get(last.value.id) if type(last.value) is f.Name else last.value, assigned


def deals_out(frame: Frame, parts: f.Expr, index: f.Op) -> bool:
    """Whether a slice is the share of somebody that its ends tell, of which some have an item more: `items[rank::n]`,
    or blocks of a length that was rounded up."""
    lower, upper, step = index.operands
    if lower == _NOTHING or dealt_in_turn(frame, parts, index):
        return False
    if step != _NOTHING:
        return bool(frame.eval(lower).deps)
    length = _between(frame, lower, upper)
    return length is not None and _rounded_up(definition(frame, length))


def dealt_in_turn(frame: Frame, parts: f.Expr, index: f.Op) -> bool:
    """Whether parts are dealt out in turn, `parts[rank::n]`, of which there are k * n: `tensor_split` makes as
    many as it is told, `chunk` of what was padded to as many. So are those, and blocks, whose number the function has
    made one of that kind, and those in front of such a number: `parts[rank : len(parts) // n * n : n]`."""
    lower, upper, step = index.operands
    if _NOTHING not in (upper, step) and frame.eval(upper).multiple:
        return True
    made = definition(frame, parts)
    number = step if step != _NOTHING else _between(frame, lower, upper) if lower != _NOTHING else None
    if number is not None and evened.by(frame, parts, number):
        return True
    if step == _NOTHING or type(made) is not f.Call or type(made.func) is not f.Attr or not made.args:
        return False
    of_library = len(made.args) > 1
    whole, number = (made.args[0], made.args[1]) if of_library else (made.func.base, made.args[0])
    number = definition(frame, number)
    if type(number) is not f.Op or number.kind != "Mult" or all(render(o) != render(step) for o in number.operands):
        return False
    padded = definition(frame, whole)
    name = made.func.attr
    return name in ("tensor_split", "array_split") or (
        name == "chunk" and type(padded) is f.Call and last_name(padded.func) == "pad"
    )


def cut_alike(frame: Frame, index: f.Op) -> bool:
    """Whether a share is cut to what all ranks have at least: `items[rank::n][: len(items) // n]`, or a number that
    they have agreed on."""
    lower, upper, step = index.operands
    return lower == _NOTHING and step == _NOTHING and _all_have(frame, upper)


def counted_off(frame: Frame, s: f.For) -> bool:
    """Whether a loop over a share ends by a count that all ranks come to: `for i, item in enumerate(mine)` with
    `if i >= least: break` for its first statement."""
    first, walked = s.body[0] if s.body else None, s.iterable
    if type(first) is not f.If or type(first.test) is not f.Compare or len(first.test.ops) != 1:
        return False
    if not first.body or type(first.body[-1]) is not f.Break or type(s.target) is not f.Sequence:
        return False
    counts = type(walked) is f.Call and last_name(walked.func) == "enumerate" and len(walked.args) == 1
    if not counts or render(first.test.left) != render(s.target.elements[0]) or first.test.ops[0] not in (">=", "=="):
        return False
    return _all_have(frame, first.test.rights[0])


def takes_turns(frame: Frame, s: f.If) -> bool:
    """Whether a test deals the rounds of a loop out in turn, of which there are as many as a multiple of the ranks:
    `if i % world_size != rank: continue` in front of everything, or `if i % world_size == rank:` around it."""
    loop = frame.rounds[-1] if frame.rounds else None
    if loop is None or not loop.walked.multiple or s.orelse or not _is_first(loop.statement, s):
        return False
    if type(s.test) is not f.Compare or s.test.ops not in (("==",), ("!=",)):
        return False
    if [*map(type, s.body)] != [f.Continue] if s.test.ops == ("!=",) else len(loop.statement.body) > 1:
        return False
    sides = (s.test.left, s.test.rights[0])
    numbered = [x for x in sides if type(x) is f.Op and x.kind == "Mod" and frame.eval(x.operands[1]).world_size]
    target, walked = loop.statement.target, loop.statement.iterable
    counted = type(walked) is f.Call and last_name(walked.func) == "enumerate" and len(walked.args) == 1
    if not counted or type(target) is not f.Sequence or len(numbered) != 1:
        return False
    rank = frame.eval(sides[0] if numbered[0] is sides[1] else sides[1]).divergence
    return rank is not None and rank.kind == "rank" and render(numbered[0].operands[0]) == render(target.elements[0])


def _is_first(loop: f.For, s: f.If) -> bool:
    first = loop.body[0] if loop.body else None
    return type(first) is f.If and first.body is s.body


def _all_have(frame: Frame, expr: f.Expr) -> bool:
    """Whether every rank's share has at least so many items: `len(items) // world_size`, the least of all of them
    (`min(len(part) for part in parts)`), or as many as were agreed."""
    number = definition(frame, expr)
    if _is_least_of_all(number):
        return True
    if type(number) is f.Op and number.kind == "FloorDiv" and len(number.operands) == 2:
        return frame.eval(number.operands[1]).world_size and not _rounded_up(number)
    return frame.eval(expr).agreed and not is_most_of_all(frame, expr)


def _is_least_of_all(number: f.Expr) -> bool:
    """`min(len(part) for part in parts)`, `min(map(len, parts))`, of a list of which nobody has left anything out."""
    only = number.args[0] if type(number) is f.Call and last_name(number.func) == "min" and number.args else None
    if type(only) is f.Call and last_name(only.func) == "map":
        return len(only.args) == 2 and last_name(only.args[0]) == "len"
    if type(only) is not f.Comprehension or len(only.generators) != 1 or only.generators[0].conditions:
        return False
    part = only.elements[0]
    counts = type(part) is f.Call and last_name(part.func) == "len" and len(part.args) == 1
    return counts and type(part) is f.Call and render(part.args[0]) == render(only.generators[0].target)


def cut_as_agreed(frame: Frame, index: f.Expr) -> bool:
    """`[:n]` of a number that ranks have agreed on: the least that one of them has, most often."""
    if type(index) is not f.Op or index.kind != "Slice":
        return False
    lower, upper, step = index.operands
    return lower == _NOTHING and step == _NOTHING and frame.eval(upper).agreed


def is_most_of_all(frame: Frame, number: f.Expr) -> bool:
    """Whether a number is the most that a rank has: `all_reduce(n, op=MAX)`."""
    names = variables(number)
    calls = frame.function.calls if frame.function is not None else ()
    return any(
        last_name(call.func) == "all_reduce"
        and place_name(call.args[0] if call.args else None) in names
        and any(last_name(value) == "MAX" for value in (*call.args[1:], *(v for _, v in call.keywords)))
        for call in calls
    )


def is_hidden(frame: Frame, index: f.Op) -> bool:
    """Whether both ends of a slice come from elsewhere, so that nothing tells if the shares are even."""
    lower, upper, _ = index.operands
    return all(type(definition(frame, end)) is f.Subscript for end in (lower, upper))


def _beyond(high: f.Expr, low: f.Expr) -> f.Expr | None:
    """`n` of `low + n`."""
    if type(high) is not f.Op or high.kind != "Add":
        return None
    start = low.operands if type(low) is f.Op and low.kind == "Add" else (low,)
    for operands in (high.operands, tuple(reversed(high.operands))):
        if [render(o) for o in operands[: len(start)]] == [render(o) for o in start]:
            rest = operands[len(start) :]
            return None if not rest else rest[0] if len(rest) == 1 else f.Op("Add", rest)
    return None


def _times_next(low: f.Expr, high: f.Expr) -> f.Expr | None:
    """`n` of `rank * n` and `(rank + 1) * n`."""
    if type(low) is not f.Op or type(high) is not f.Op or low.kind != "Mult" or high.kind != "Mult":
        return None
    for operands in (high.operands, tuple(reversed(high.operands))):
        pairs = [(a, b) for a, b in zip(low.operands, operands, strict=False) if render(a) != render(b)]
        if len(operands) == len(low.operands) and len(pairs) == 1 and _is_next(pairs[0][1], pairs[0][0]):
            rest = tuple(o for o in low.operands if o is not pairs[0][0])
            return rest[0] if len(rest) == 1 else f.Op("Mult", rest)
    return None


def _is_next(expr: f.Expr, base: f.Expr) -> bool:
    """`rank + 1`."""
    if type(expr) is not f.Op or expr.kind != "Add":
        return False
    return sorted(render(o) for o in expr.operands) == sorted([render(base), "1"])


def _rounded_up(expr: f.Expr) -> bool:
    """`ceil(n / size)`, `-(-n // size)`, `(n + size - 1) // size`, `min(n, size)`."""
    for item in walk(expr):
        if type(item) is f.Call and last_name(item.func) in ("ceil", "ceil_div", "cdiv", "divup", "min", "max"):
            return True
        if type(item) is f.Op and item.kind == "Add" and f.Const("1") in item.operands:
            floored = any(type(o) is f.Op and o.kind == "FloorDiv" for o in item.operands)
            if floored:
                return True  # `n // size + 1`
        divided = item.operands[0] if type(item) is f.Op and item.kind == "FloorDiv" else None
        if type(divided) is f.Op and divided.kind in ("Add", "Sub", "USub"):
            return True
    return False


def is_multiple(frame: Frame, expr: f.Op, values: list[Value]) -> bool:
    """Whether a number is a multiple of another: `n // size * size`, `n - n % size`, `batches * world_size`."""
    parts = [definition(frame, o) for o in expr.operands]
    if expr.kind == "Mult":
        floored = any(type(p) is f.Op and p.kind == "FloorDiv" for p in parts)
        return floored or any(v.multiple or v.world_size for v in values)
    return len(parts) == 2 and type(parts[1]) is f.Op and parts[1].kind == "Mod"


def steps_evenly(frame: Frame, start: f.Expr, stop: f.Expr, step: f.Expr) -> bool:
    """Whether steps of a size come to a stop in as many rounds from wherever they begin below that size: the stop is a
    product with the step in it (`range(rank, rounds * n, n)`), or less what is left over of such steps
    (`range(rank, count - count % n, n)`). What is worked out may be further up."""
    if type(definition(frame, start)) is f.Op:
        return False
    while type(stop := definition(frame, stop)) is f.Call and last_name(stop.func) == "int" and len(stop.args) == 1:
        stop = stop.args[0]
    if type(stop) is not f.Op or len(stop.operands) != 2:
        return False
    left_over = definition(frame, stop.operands[1])
    if stop.kind == "Sub" and type(left_over) is f.Op and left_over.kind == "Mod":
        return _same(left_over.operands[-1], step)
    return stop.kind == "Mult" and any(_same(part, step) for part in stop.operands)


def cut_to_multiple(frame: Frame, base: f.Expr, index: f.Op) -> bool:
    """`[:n]` where `n` is a multiple, and no more than there is: what was rounded up cuts nothing off, but from items
    that were repeated."""
    lower, upper, step = index.operands
    if lower != _NOTHING or step != _NOTHING or not frame.eval(upper).multiple:
        return False
    repeated, number = definition(frame, base), definition(frame, upper)
    if type(repeated) is f.Op and repeated.kind == "Mult":
        return True
    factors = number.operands if type(number) is f.Op else ()
    return not any(_rounded_up(definition(frame, part)) for part in (number, *factors))


_NOTHING = f.Const("None")
