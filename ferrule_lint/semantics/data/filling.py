"""Lists that are filled up at once: `if len(own) < most: own.extend(items[: most - len(own)])`.

From there on they are as long as the number says, which ranks agree on. So are those that get one item in each of as
many rounds as they lack: `for _ in range(most - len(own)): own.append(nothing)`. What is filled up to a multiple of the
number of ranks is dealt out evenly: `items += items[: per_rank * world_size - len(items)]`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import stands_in, statements, walk
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.assigned import appended_to
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, place_name, render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: names that are looked up for an amount: `items[:missing]` after `missing = total - len(items)`
_MOST_NAMES = 4
_NOTHING = f.Const("None")


def filled_up(value: Value) -> Value:
    """A list that is filled up to a length: what it was before counts no more."""
    return value._replace(filled=True, length=None, emptiness=None, length_deps=frozenset())


def with_added(frame: Frame, value: Value, added: f.Expr, place: str) -> Value:
    """What a list is after something has been added to it: as long as a number says, or as some multiple of the number
    of ranks, where that is what it lacked."""
    for amount in _amounts(frame, added):
        if _to_multiple(frame, amount, place):
            value = value._replace(multiple=True)
        if _lacks(frame, amount, place):
            return filled_up(value)
    return value


def counted_as(expr: f.Expr) -> str:
    """The place that has as many items as an expression: `items`, `[x["text"] for x in items]`; "" if there is none."""
    if type(expr) is f.Comprehension and expr.kind == "list":
        generators = expr.generators
        return place_name(generators[0].iterable) if len(generators) == 1 and not generators[0].conditions else ""
    return place_name(expr)


def by_rounds(frame: Frame, loop: f.For) -> list[str]:
    """The places that a loop fills up, which takes as many rounds as they lack: `for _ in range(most - len(own)):`. A
    list that was filled in the rounds of a loop over `own` lacks as much as that does."""
    walked = loop.iterable
    if type(walked) is not f.Call or last_name(walked.func) != "range" or not 1 <= len(walked.args) <= 2:
        return []
    if len(walked.args) == 2:
        length, number = (_amount(frame, a) for a in walked.args)
    else:
        amount = _amount(frame, walked.args[0])
        if type(amount) is not f.Op or amount.kind != "Sub" or len(amount.operands) != 2:
            return []
        number, length = amount.operands
    counted = definition(frame, length)
    if type(counted) is not f.Call or last_name(counted.func) != "len" or len(counted.args) != 1:
        return []
    why = frame.eval(counted.args[0]).length
    if why is None or frame.eval(number).observed is not None or _leaves(loop):
        return []
    return [place for s in loop.body if (place := _gets_one(s)) and _is_as_short(frame, place, why)]


def after_rounds(frame: Frame, places: list[str]) -> None:
    """Behind such a loop they have the length that the number says."""
    for place in places:
        known = frame.env.get(place)
        if known is not None:
            shape = known.shape if known.uneven_last else None
            frame.env[place] = filled_up(known)._replace(shape=shape, padded=None)


def _is_as_short(frame: Frame, place: str, why: Divergence) -> bool:
    """Whether a place lacks something for the same reason, as far as one knows where that comes from."""
    known = frame.read(place)
    own = None if known is None else known.length or known.shape
    return own is not None and own.why[:1] == why.why[:1]


def _leaves(loop: f.For) -> bool:
    return any(type(s) in (f.Break, f.Continue, f.Return) for s in statements(loop.body))


def _gets_one(s: f.Stmt) -> str:
    """The place that gets one item more by a statement: `own.append(x)`, `own += [x]`, `own = cat([own, x])`."""
    if type(s) is f.ExprStmt:
        return appended_to(s)
    if type(s) is f.AugAssign and type(s.value) is f.Sequence and len(s.value.elements) == 1:
        return place_name(s.target)
    if type(s) is not f.Assign or len(s.targets) != 1:
        return ""
    place, made = place_name(s.targets[0]), s.value
    parts: tuple[f.Expr, ...] = ()
    if type(made) is f.Call and last_name(made.func) in _JOINS and made.args and type(made.args[0]) is f.Sequence:
        parts = made.args[0].elements
    elif type(made) is f.Op and made.kind == "Add":
        parts = made.operands
    return place if len(parts) == 2 and place in map(place_name, parts) else ""


#: calls that put tensors one behind the other
_JOINS = frozenset("cat concat concatenate vstack".split())


def reckons_what_is_missing(frame: Frame, call: f.Call) -> bool:
    """Whether a call stands under a test of how long the rank's own share is (`if n < most:`) in which it is reckoned
    what that lacks to another length (`most - n`), of which nothing says that it differs between ranks. A number that
    is read out of the data need not be the length of what is filled up."""
    around = frame.path_divergence()
    if around is None or around.kind != "rank":
        return False
    for test in statements(frame.function.body if frame.function is not None else ()):
        asked = test.test if type(test) is f.If else None
        if type(test) is not f.If or type(asked) is not f.Compare or len(asked.ops) != 1:
            continue
        short, long = asked.left, asked.rights[0]
        if asked.ops[0] in (">", ">="):
            short, long = long, short
        elif asked.ops[0] not in ("<", "<="):
            continue
        differences = (n.operands for n in walk(test.body) if type(n) is f.Op and n.kind == "Sub")
        reckoned = [render(long), render(short)] in ([render(o) for o in operands] for operands in differences)
        if reckoned and stands_in(call, test.body) and frame.eval(long).observed is None:
            return True
    return False


def joined_to_multiple(frame: Frame, parts: f.Expr | None) -> bool:
    """Whether what is put together is as long as a multiple of the number of ranks: `cat([items, items[:missing]])`."""
    elements = parts.elements if type(parts) is f.Sequence else ()
    return any(
        with_added(frame, UNKNOWN, added, place).multiple
        for whole, added in itertools.permutations(elements, 2)
        if (place := place_name(whole))
    )


def is_filled_to(frame: Frame, whole: f.Expr, number: f.Expr) -> bool:
    """Whether the function fills a list up to a multiple of a number, by whose name it is cut into parts later:
    `items += [0] * (n - len(items) % n)`, `np.array_split(items, n)`."""
    place, divisor = place_name(whole), render(number)
    if not place or frame.function is None:
        return False
    body = tuple(statements(frame.function.body))
    assigned = {place_name(s.targets[0]): s.value for s in body if type(s) is f.Assign and len(s.targets) == 1}

    def behind(expr: f.Expr) -> f.Expr:
        return assigned.get(expr.id) or expr if type(expr) is f.Name else expr

    numbers = {f"len({place})"} | _numbers_of(assigned.get(place))
    return any(_is_rest(behind(o), divisor, numbers) for s in body for o in _times_added(s, place))


def fills_up(body: f.Body, part: f.Subscript) -> bool:
    """Whether a function fills what it deals out up to a multiple of the parts, with what stands at its beginning:
    `items = items + items[: n - len(items) % n]`, and then `items[i::n]`."""
    index, place = part.index, place_name(part.base)
    divisor = render(index.operands[2]) if type(index) is f.Op and index.kind == "Slice" else ""
    added = (_added_to(s, place) for s in statements(body)) if place else ()
    return any(
        type(a) is f.Subscript
        and type(a.index) is f.Op
        and a.index.kind == "Slice"
        and a.index.operands[0] == _NOTHING
        and _is_rest(a.index.operands[1], divisor, {f"len({place})"})
        for a in added
    )


def _added_to(s: f.Stmt, place: str) -> f.Expr | None:
    """What is put behind a list: `items += more`, `items = items + more`."""
    if type(s) is f.AugAssign and place_name(s.target) == place:
        return s.value
    made = s.value if type(s) is f.Assign and [*map(place_name, s.targets)] == [place] else None
    if type(made) is f.Op and made.kind == "Add" and len(made.operands) == 2 and place_name(made.operands[0]) == place:
        return made.operands[1]
    return None


def _times_added(s: f.Stmt, place: str) -> tuple[f.Expr, ...]:
    """How often something is added to a list: `items += [0] * n`, `items.extend([0] * n)`."""
    added: f.Expr | None = None
    if type(s) is f.AugAssign and place_name(s.target) == place:
        added = s.value
    elif type(s) is f.ExprStmt and type(s.value) is f.Call and place_name(s.value.func) == f"{place}.extend":
        added = s.value.args[0] if len(s.value.args) == 1 else None
    return added.operands if type(added) is f.Op and added.kind == "Mult" else ()


def _is_rest(amount: f.Expr, divisor: str, numbers: set[str]) -> bool:
    """Whether an amount is what one of some numbers lacks to a multiple of another: `n - len(items) % n`."""
    if type(amount) is not f.Op or amount.kind != "Sub" or len(amount.operands) != 2:
        return False
    first, rest = amount.operands
    if render(first) != divisor or type(rest) is not f.Op or rest.kind != "Mod" or len(rest.operands) != 2:
        return False
    return render(rest.operands[0]) in numbers and render(rest.operands[1]) == divisor


def _numbers_of(made: f.Expr | None) -> set[str]:
    """The number of items that something is made with: `[i for i in range(n)]`, `list(range(n))`."""
    if type(made) is f.Comprehension and len(made.generators) == 1 and not made.generators[0].conditions:
        return _numbers_of(made.generators[0].iterable)
    if type(made) is not f.Call or len(made.args) != 1:
        return set()
    if last_name(made.func) in ("range", "arange"):
        return {render(made.args[0])}
    return _numbers_of(made.args[0]) if last_name(made.func) == "list" else set()


def _to_multiple(frame: Frame, amount: f.Expr, place: str) -> bool:
    """Whether an amount is what a list lacks to a multiple of the number of ranks: `total - len(items)`,
    `world_size - len(items) % world_size`, `-len(items) % world_size`."""
    if type(amount) is not f.Op or len(amount.operands) != 2:
        return False
    first, second = amount.operands
    if amount.kind == "Mod":
        return _of_ranks(frame, second) and any(_counts(frame, part, place) for part in _parts(frame, first))
    if amount.kind != "Sub" or not _of_ranks(frame, first):
        return False
    rest = definition(frame, second)
    if type(rest) is f.Op and rest.kind == "Mod" and len(rest.operands) == 2:
        return _counts(frame, rest.operands[0], place) and _of_ranks(frame, rest.operands[1])
    return _counts(frame, second, place)


def _lacks(frame: Frame, amount: f.Expr, place: str) -> bool:
    """Whether an amount is what a list lacks to a number that ranks do not differ in: `most - len(own)`."""
    if type(amount) is not f.Op or amount.kind != "Sub" or len(amount.operands) != 2:
        return False
    number, length = amount.operands
    return _counts(frame, length, place) and frame.eval(number).divergence is None


def _amounts(frame: Frame, added: f.Expr) -> Iterator[f.Expr]:
    """How much is added, as it is written: `items[:n]`, `[nothing] * n`, `[f(i) for i in range(n)]`,
    `random.choices(items, k=n)`."""
    added = definition(frame, added)
    if type(added) is f.Op and added.kind == "Mult":
        yield from (_amount(frame, o) for o in added.operands)
    elif type(added) is f.Subscript and type(added.index) is f.Op and added.index.kind == "Slice":
        if added.index.operands[0] == _NOTHING:
            yield _amount(frame, added.index.operands[1])
    elif type(added) is f.Comprehension and len(added.generators) == 1 and not added.generators[0].conditions:
        walked = added.generators[0].iterable
        if type(walked) is f.Call and last_name(walked.func) == "range" and len(walked.args) == 1:
            yield _amount(frame, walked.args[0])
    elif type(added) is f.Call:
        yield from (_amount(frame, a) for a in (*added.args, *(value for _, value in added.keywords)))


def _amount(frame: Frame, expr: f.Expr) -> f.Expr:
    """What an amount is worked out as, behind its names and `max(0, n)`."""
    for _ in range(_MOST_NAMES):
        found = definition(frame, expr)
        if type(found) is f.Call and last_name(found.func) == "max" and f.Const("0") in found.args:
            found = next((a for a in found.args if a != f.Const("0")), found)
        if found is expr:
            break
        expr = found
    return expr


def _parts(frame: Frame, expr: f.Expr) -> Iterator[object]:
    """What is in an expression, and behind the names in it."""
    for node in walk(expr):
        yield node
        if type(node) is f.Name and (made := definition(frame, node)) is not node:
            yield from walk(made)


def _of_ranks(frame: Frame, expr: f.Expr) -> bool:
    value = frame.eval(expr)
    return value.world_size or value.multiple


def _counts(frame: Frame, expr: object, place: str) -> bool:
    """`len(items)`, also under another name."""
    made = definition(frame, expr) if type(expr) is f.Name else expr
    return type(made) is f.Call and last_name(made.func) == "len" and [place_name(a) for a in made.args] == [place]
