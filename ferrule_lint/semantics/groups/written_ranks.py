"""Groups of ranks that are written out, and tests that let in their members: `rank < 2` beside `new_group([0, 1])`.

```python
workers = new_group(list(range(1, world_size)))
if rank != 0:
    all_reduce(x, group=workers)
```

The ranks of such a group can be counted, and so can those for which a test by numbers holds. A test that holds for all
members of a group, or for none, asks who is in it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.text import last_name, place_name, render
from ferrule_lint.semantics.sources.rank_axes import is_world_size

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

_MAKES = "new_group"
#: how many ranks are tried: those of a job whose size is not known
_TRIED = 64
_LISTS = ("list", "tuple", "sorted", "set")
#: names and calls that are followed
_DEEPEST = 3
_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "BitAnd": operator.and_,
}
_ORDERS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def asks_for_members(frame: Frame, test: f.Expr) -> bool:
    """Whether a test by the number of the rank holds for all ranks of a group that may be meant, or for none."""
    made = _made(frame) if not frame.light and frame.module.mentions_any(frozenset({_MAKES})) else []
    if not made:
        return False
    rank, sizes, unknown = _rank_in(frame, test)
    if not rank:
        return False
    lists = [name for name in unknown if name in _looked_in(test)]
    numbers = [name for name in unknown if name not in lists]
    if max(len(lists), len(numbers)) > len(_STAND_INS[0]):
        return False
    for function, call in made:
        if function is not frame.function and not all(_is_of_class(frame, function, name) for name in unknown):
            continue  # another function may mean something else by the name
        body = function.body if function is not None else frame.module.body
        listed = next((value for name, value in call.keywords if name == "ranks"), call.args[0] if call.args else None)
        tried: list[_Known] = [
            {
                **sizes,
                **{name: number for name, number in zip(numbers, single, strict=False)},
                **{name: listing for name, listing in zip(lists, several, strict=False)},
            }
            for single, several in zip(_STAND_INS, _LISTED, strict=True)
        ]
        if listed is not None and all(
            _lets_in_members(_Listing(frame, body, known), listed, test, rank)
            for known in (tried if unknown else tried[:1])
        ):
            return True
    return False


#: numbers that are tried for those of which nothing is known but their names, in the list and in the test
_STAND_INS = ((5, 11), (12, 3))
#: the same for those in which a test looks for the rank: `rank in workers`
_LISTED = ((frozenset({6, 7, 19}), frozenset({23, 24})), (frozenset({4, 30}), frozenset({8, 9, 40})))
#: a number, or several in a list of which nothing is known but its name
_Known: TypeAlias = Mapping[str, int | frozenset[int]]


def _looked_in(test: f.Expr) -> set[str]:
    """The lists of which a test asks whether the rank is in them."""
    compared = (part for part in nodes(test, f.Compare) if part.ops in (("in",), ("not in",)))
    return {render(part.rights[0]) for part in compared}


def _is_of_class(frame: Frame, function: FunctionInfo | None, name: str) -> bool:
    """Whether a place is an attribute that means the same in another method of the class: `self.workers`."""
    own = frame.function.owner if frame.function is not None else None
    return "." in name and function is not None and own is not None and function.owner == own


def _lets_in_members(there: _Listing, listed: f.Expr, test: f.Expr, rank: str) -> bool:
    let_in = {r for r in range(_TRIED) if _value(test, {rank: r, **there.known})}
    if not let_in or len(let_in) == _TRIED:
        return False
    members = _members(there, listed)
    return members is not None and bool(members) and (members <= let_in or _are_the_others(let_in, members))


class _Listing(NamedTuple):
    """Where a list of ranks stands, and the numbers that are known by their text."""

    frame: Frame
    body: f.Body
    known: _Known

    def numbers(self, exprs: Iterable[f.Expr]) -> dict[str, int]:
        """The numbers in some expressions, as far as they are known."""
        found: dict[str, int] = {}
        for node in (leaf for expr in exprs for leaf in _leaves(expr)):
            number = _number_of(self.frame, self.body, node)
            known = self.known.get(render(node))
            number = known if number is None and type(known) is int else number
            if number is not None:
                found[render(node)] = number
        return found

    def stands_for(self, place: str) -> set[int] | None:
        """What is tried for a list of which nothing is known, also by the name that an attribute was set to."""
        for name, known in self.known.items():
            if type(known) is frozenset and (name == place or place in map(place_name, self.held(name))):
                return set(known)
        return None

    def held(self, place: str) -> list[f.Expr]:
        return self.frame.analysis.bodies.given(self.body, place)


def _made(frame: Frame) -> list[tuple[FunctionInfo | None, f.Call]]:
    """The groups that the function makes, else those of other methods of its class, else those of the file."""
    made = frame.module.calls_named(_MAKES)
    own = [one for one in made if one[0] is frame.function]
    owner = frame.function.owner if frame.function is not None else None
    return own or [one for one in made if one[0] is not None and owner and one[0].owner == owner] or made


def _are_the_others(let_in: set[int], members: set[int]) -> bool:
    """Whether the members are all, up to the last of them, whom a test does not let in."""
    return members.isdisjoint(let_in) and set(range(max(members))) <= members | let_in


def _rank_in(frame: Frame, test: f.Expr) -> tuple[str, dict[str, int], tuple[str, ...]]:
    """The one place, or call, in a test by numbers that is the rank of the job; the numbers of all ranks and those
    that are set once; and the names of numbers that nobody tells. Empty if the test asks for more."""
    found: dict[str, f.Expr] = {}
    sizes: dict[str, int] = {}
    body = frame.function.body if frame.function is not None else frame.module.body
    for node in _leaves(test):
        number = _number_of(frame, body, node)
        if number is not None:
            sizes[render(node)] = number
        else:
            found.setdefault(render(node), node)
    ranks: list[str] = []
    unknown: list[str] = []
    for text, node in found.items():
        divergence = frame.eval(node).divergence if type(node) is not f.Call or not node.args else None
        if divergence is not None and divergence.kind == "rank" and divergence.axes == WORLD:
            ranks.append(text)
        elif divergence is None and (type(node) is f.Name or (place_name(node) and text in _looked_in(test))):
            unknown.append(text)
        else:
            return "", {}, ()
    return (ranks[0], sizes, tuple(unknown)) if len(ranks) == 1 else ("", {}, ())


def _number_of(frame: Frame, body: f.Body, node: f.Expr, depth: int = 0) -> int | None:
    """A number that a name is set to once, as many as all ranks that are tried, or what is worked out of these."""
    if depth > _DEEPEST or (type(node) is not f.Name and type(node) is not f.Call):
        return None
    if _is_size(frame, body, node):
        return _TRIED
    held = frame.analysis.bodies.assigned(body, place_name(node)) if type(node) is f.Name else []
    if len(held) != 1:
        return None
    known = {render(e): n for e in _leaves(held[0]) if (n := _number_of(frame, body, e, depth + 1)) is not None}
    return _value(held[0], known)


def _leaves(expr: f.Expr) -> Iterator[f.Expr]:
    """What is no number that is written out, and nothing that is worked out of such."""
    if type(expr) is f.Compare:
        for part in (expr.left, *expr.rights):
            yield from _leaves(part)
    elif type(expr) is f.BoolOp:
        for part in expr.values:
            yield from _leaves(part)
    elif type(expr) is f.Not:
        yield from _leaves(expr.operand)
    elif type(expr) is f.Op:
        for part in expr.operands:
            yield from _leaves(part)
    elif type(expr) is f.Sequence:
        for part in expr.elements:
            yield from _leaves(part)
    elif type(expr) is not f.Const:
        yield expr


def _value(expr: f.Expr, known: _Known) -> int | None:
    """A number, or what a test says as one; None where it cannot be told. `known`: numbers by the texts of places."""
    if type(expr) is f.Const:
        return int(expr.text) if expr.text.isdigit() else None
    if type(expr) is f.Not:
        operand = _value(expr.operand, known)
        return None if operand is None else not operand
    if type(expr) is f.BoolOp:
        parts = [_value(part, known) for part in expr.values]
        return None if None in parts else (all if expr.op == "and" else any)(bool(p) for p in parts)
    if type(expr) is f.Op and expr.kind in _NUMBERS and len(expr.operands) == 2:
        left, right = (_value(part, known) for part in expr.operands)
        fails = left is None or right is None or (right == 0 and expr.kind in ("FloorDiv", "Mod"))
        return None if fails or left is None or right is None else _NUMBERS[expr.kind](left, right)
    if type(expr) is f.Compare:
        return _compared(expr, known)
    number = known.get(render(expr))
    return number if type(number) is int else None


def _compared(expr: f.Compare, known: _Known) -> bool | None:
    left = _value(expr.left, known)
    for op, right in zip(expr.ops, expr.rights, strict=True):
        if left is None:
            return None
        if op in ("in", "not in") and type(right) is f.Sequence:
            among = [_value(e, known) for e in right.elements]
            if None in among or len(expr.ops) > 1:
                return None
            return (left in among) is (op == "in")
        several = known.get(render(right))
        if op in ("in", "not in") and type(several) is frozenset and len(expr.ops) == 1:
            return (left in several) is (op == "in")
        number = _value(right, known)
        if op not in _ORDERS or number is None:
            return None
        if not _ORDERS[op](left, number):
            return False
        left = number
    return True


def _members(there: _Listing, listed: f.Expr, depth: int = 0) -> set[int] | None:
    """The ranks of a list that is written out, of those that are tried; None if they cannot be told."""
    if depth > _DEEPEST:
        return None
    if type(listed) is f.Name or type(listed) is f.Attr:
        held = there.held(place_name(listed))
        members = _members(there, held[0], depth + 1) if len(held) == 1 else None
        return there.stands_for(place_name(listed)) if members is None else members
    if type(listed) is f.Op and listed.kind == "Add":  # `[0] + list(range(n, world_size))`
        parts = [_part(there, part, depth) for part in listed.operands]
        return None if None in parts else set[int]().union(*(part for part in parts if part is not None))
    if type(listed) is f.Sequence:
        several = [_part(there, e, depth) for e in listed.elements]
        alone = len(several) == 1 or None in several
        return None if alone else set[int]().union(*(part for part in several if part is not None))
    if type(listed) is f.Comprehension:
        return _filtered(there, listed, depth)
    if type(listed) is not f.Call or listed.keywords:
        return None
    name = last_name(listed.func)
    if name in _LISTS and len(listed.args) == 1:
        return _members(there, listed.args[0], depth + 1)
    if name != "range":
        return None
    sizes = there.numbers(listed.args)
    ends = [end for a in listed.args if (end := _value(a, sizes)) is not None]
    if not ends or len(ends) != len(listed.args) or ends[2:] == [0]:
        return None
    return {r for r in range(*ends)[:_TRIED] if r < _TRIED}  # a range may be written with any number


def _is_size(frame: Frame, body: f.Body, node: f.Expr) -> bool:
    """Whether something is the number of all ranks, by its name or by what it holds."""
    if type(node) is f.Call:
        return is_world_size(last_name(node.func)) and not node.args
    if type(node) is not f.Name and type(node) is not f.Attr:
        return False
    held = frame.analysis.bodies.assigned(body, place_name(node))
    of_call = len(held) == 1 and type(held[0]) is f.Call and is_world_size(last_name(held[0].func))
    return of_call or is_world_size(last_name(node))


def _part(there: _Listing, listed: f.Expr, depth: int) -> set[int] | None:
    """The ranks of a list that is put together with others, which may hold one: `[0] + workers`, `[0, *workers]`."""
    if type(listed) is f.Starred:
        return _members(there, listed.value, depth + 1)
    if type(listed) is f.Sequence and len(listed.elements) != 1:
        return _members(there, listed, depth + 1)
    one = listed.elements[0] if type(listed) is f.Sequence else listed
    number = _value(one, there.numbers((one,))) if type(one) is not f.Starred else None
    return _members(there, listed, depth + 1) if number is None else {number}


def _filtered(there: _Listing, listed: f.Comprehension, depth: int) -> set[int] | None:
    """`[r for r in range(world_size) if r % 4 == 0]`, `[r * 2 for r in range(4)]`."""
    if len(listed.generators) != 1 or len(listed.elements) != 1:
        return None
    only = listed.generators[0]
    walked = _members(there, only.iterable, depth + 1)
    if walked is None or type(only.target) is not f.Name:
        return None
    found: set[int] = set()
    sizes = there.numbers((*only.conditions, *listed.elements))
    for number in walked:
        known = {**sizes, only.target.id: number}
        tests = [_value(test, known) for test in only.conditions]
        item = _value(listed.elements[0], known)
        if None in tests or item is None:
            return None
        if all(tests):
            found.add(item)
    return found
