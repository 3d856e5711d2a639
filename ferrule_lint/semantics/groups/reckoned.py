"""What expressions come to on each rank of a job that is tried: `rank == 0 or self.is_last` on 64 ranks.

Which ranks a list holds, and for which a test holds, can be counted where both are worked out from the rank and the
number of ranks: by way of variables and attributes that are set once, properties, and functions that do nothing but
return an expression. Numbers that nobody tells are tried with several.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.text import last_name, place_name, render
from ferrule_lint.semantics.groups import strides
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.project.options import passed
from ferrule_lint.semantics.sources.rank_axes import is_world_size

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: how many ranks are tried: those of a job whose size is not known
TRIED = 64
#: names and calls that are followed, one by way of another
_DEEPEST = 8
#: items of a list that are gone through
_MOST = 4096
#: numbers that are tried for those of which nothing is known but their names, and for the ranks of a node
_STAND_INS: tuple[tuple[tuple[int, ...], int], ...] = (((5, 11), 8), ((12, 3), 4))
_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "FloorDiv": operator.floordiv,
    "Mod": operator.mod, "BitAnd": operator.and_,
}  # fmt: skip
_ORDERS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_LISTS = frozenset({"list", "tuple", "sorted", "set"})
_OF_LIST: dict[str, Callable[[list[int]], int]] = {"len": len, "min": min, "max": max, "sum": sum}


class Unknown(int):
    """A number that stands for one of which nothing is known: it is no answer to a test."""


#: a number, or a list
Result = int | list["Result"]


_NO_LOOP: Mapping[str, Result] = MappingProxyType({})


class Scope(NamedTuple):
    """Where an expression stands: a function, or the top of the file; `bound`: what it is called with."""

    function: FunctionInfo | None
    bound: Mapping[str, tuple[Scope, f.Expr]] = MappingProxyType({})

    @property
    def own(self) -> str:
        """The name of the instance."""
        function = self.function
        return function.parameters[0].name if function and function.owner and function.parameters else ""


class _Job(NamedTuple):
    """A job that is tried."""

    numbers: Sequence[int]
    per_node: int
    #: the number that stands for each place of which nothing is known
    unknown: dict[str, Unknown]


def jobs() -> Iterator[_Job]:
    for numbers, per_node in _STAND_INS:
        yield _Job(numbers, per_node, {})


class Reckoner:
    """Works out expressions of a file for the ranks of a job."""

    def __init__(self, frame: Frame, job: _Job) -> None:
        self._frame = frame
        self._job = job
        self._rank = 0
        #: what is known of names, by their expression: whether it is the rank, and whether nothing is
        self._ranks: dict[int, bool] = {}
        self._plain: dict[int, bool] = {}

    def on(self, rank: int, scope: Scope, expr: f.Expr, loop: Mapping[str, Result] = _NO_LOOP) -> Result | None:
        """What an expression comes to on a rank; None where that cannot be told. `loop`: what the variables of loops
        around it are."""
        self._rank = rank
        return self._value(scope, expr, loop, 0)

    def _value(self, scope: Scope, e: f.Expr, loop: Mapping[str, Result], depth: int) -> Result | None:
        if depth > _DEEPEST:
            return None
        if type(e) is f.Const:
            return int(e.text) if e.text.isdigit() else None
        if type(e) is f.Not:
            asked = self._test(scope, e.operand, loop, depth)
            return None if asked is None else not asked
        if type(e) is f.BoolOp:
            parts = [self._test(scope, part, loop, depth) for part in e.values]
            return None if None in parts else (all if e.op == "and" else any)(map(bool, parts))
        if type(e) is f.Compare:
            return self._compared(scope, e, loop, depth)
        if type(e) is f.Op:
            return self._operator(scope, e, loop, depth)
        if type(e) is f.Sequence:
            return self._display(scope, e, loop, depth)
        if type(e) is f.Comprehension:
            return self._comprehension(scope, e, loop, depth)
        if type(e) is f.Subscript:
            return self._item(scope, e, loop, depth)
        if type(e) is f.Name and e.id in loop:
            return loop[e.id]
        if type(e) is f.Call and (found := self._built_in(scope, e, loop, depth)) is not None:
            return found
        return self._leaf(scope, e, loop, depth)

    def _display(self, scope: Scope, e: f.Sequence, loop: Mapping[str, Result], depth: int) -> Result | None:
        """`[0, n - 1]`, `[first, *workers]`"""
        found: list[Result] = []
        for part in e.elements:
            if type(part) is f.Starred:
                several = _as_list(self._value(scope, part.value, loop, depth))
                if several is None:
                    return None
                found += several
            elif (value := self._value(scope, part, loop, depth)) is not None:
                found.append(value)
            else:
                return None
        return found

    def _test(self, scope: Scope, e: f.Expr, loop: Mapping[str, Result], depth: int) -> int | None:
        value = self._value(scope, e, loop, depth)
        return None if isinstance(value, Unknown | list) else value

    def _operator(self, scope: Scope, e: f.Op, loop: Mapping[str, Result], depth: int) -> Result | None:
        values = [self._value(scope, part, loop, depth) for part in e.operands]
        left, right = values if len(values) == 2 else (None, None)
        if isinstance(left, list) or isinstance(right, list):
            left, right = _as_list(left), _as_list(right)
            return left + right if e.kind == "Add" and left is not None and right is not None else None
        if not isinstance(left, int) or not isinstance(right, int) or e.kind not in _NUMBERS:
            return None
        return None if right == 0 and e.kind in ("FloorDiv", "Mod") else _NUMBERS[e.kind](left, right)

    def _compared(self, scope: Scope, e: f.Compare, loop: Mapping[str, Result], depth: int) -> bool | None:
        left = self._value(scope, e.left, loop, depth)
        for op, expr in zip(e.ops, e.rights, strict=True):
            right = self._value(scope, expr, loop, depth)
            if op in ("in", "not in"):
                among = _as_list(right)
                fits = isinstance(left, int) and among is not None and len(e.ops) == 1
                return (left in among) is (op == "in") if fits and among is not None else None
            if op not in _ORDERS or not isinstance(left, int) or not isinstance(right, int):
                return None
            if not _ORDERS[op](left, right):
                return False
            left = right
        return True

    def _comprehension(self, scope: Scope, e: f.Comprehension, loop: Mapping[str, Result], depth: int) -> Result | None:
        """`[r for r in range(world_size) if r % 4 == 0]`, `[r * 2 for r in range(4)]`."""
        only = e.generators[0]
        if len(e.generators) != 1 or len(e.elements) != 1 or type(only.target) is not f.Name:
            return None
        walked = self._value(scope, only.iterable, loop, depth)
        found: list[Result] = []
        for number in walked[:_MOST] if isinstance(walked, list) else ():
            inner = {**loop, only.target.id: number}
            tests = [self._test(scope, test, inner, depth) for test in only.conditions]
            item = self._value(scope, e.elements[0], inner, depth)
            if None in tests or item is None:
                return None
            if all(tests):
                found.append(item)
        return found if isinstance(walked, list) else None

    def _item(self, scope: Scope, e: f.Subscript, loop: Mapping[str, Result], depth: int) -> Result | None:
        base, index = self._value(scope, e.base, loop, depth), self._value(scope, e.index, loop, depth)
        if not isinstance(base, list) or not isinstance(index, int):
            return self._leaf(scope, e, loop, depth)
        return base[index] if 0 <= index < len(base) else None

    def _built_in(self, scope: Scope, e: f.Call, loop: Mapping[str, Result], depth: int) -> Result | None:
        name = last_name(e.func)
        if type(e.func) is not f.Name or e.keywords or not e.args:
            return None
        if name == "int" or name in _LISTS or name in _OF_LIST or name in ("range", "divmod"):
            values = [self._value(scope, a, loop, depth) for a in e.args]
        else:
            return None
        first = values[0]
        if name in _LISTS or name == "int":
            one = _as_list(first) if name in _LISTS else first
            return one if len(values) == 1 and isinstance(one, list) is (name != "int") else None
        if name in _OF_LIST:
            plain = [n for n in first if isinstance(n, int)] if isinstance(first, list) else []
            return _OF_LIST[name](plain) if plain and len(values) == 1 else None
        numbers = [n for n in values if isinstance(n, int)]
        if len(numbers) != len(values):
            return None
        if name == "divmod":
            return [*divmod(numbers[0], numbers[1])] if len(numbers) == 2 and numbers[1] else None
        return None if numbers[2:] == [0] or len(numbers) > 3 else [*range(*numbers)[:_MOST]]

    # ---------------------------------------------------------------- what has a name
    def _leaf(self, scope: Scope, e: f.Expr, loop: Mapping[str, Result], depth: int) -> Result | None:
        """What a name, an attribute or a call stands for."""
        if type(e) not in (f.Name, f.Attr, f.Call, f.Subscript):
            return None
        if type(e) is f.Name and e.id in scope.bound:
            there, given = scope.bound[e.id]
            return self._value(there, given, _NO_LOOP, depth + 1)
        if (known := self._of_job(e)) is not None:
            return known
        for there, meant, item in self._meant(scope, e):
            value = self._value(there, meant, loop if there is scope else _NO_LOOP, depth + 1)
            if item is not None and isinstance(value, list):
                value = value[item] if item < len(value) else None
            elif item is not None:
                value = None
            if value is not None and not (isinstance(value, Unknown) and self._is_rank(scope, e)):
                return value
            break
        if self._is_rank(scope, e):
            return self._rank
        return self._stand_in(scope, e) if type(e) is f.Name or type(e) is f.Attr else None

    def _of_job(self, e: f.Expr) -> int | None:
        """The number of all ranks, the rank on a node or the number of those, by their names."""
        name, text = last_name(e), render(e)
        if type(e) is f.Call:
            name = last_name(e.func)
            if is_world_size(name) and not e.args:
                return TRIED
        elif is_world_size(name) and "LOCAL" not in name.upper():
            return TRIED
        if strides.is_place_on_node(e, e):
            return self._rank % self._job.per_node
        if "LOCAL_WORLD_SIZE" in text or (type(e) is f.Call and last_name(e.func) == "device_count"):
            return self._job.per_node
        return None

    def _meant(self, scope: Scope, e: f.Expr) -> Iterator[tuple[Scope, f.Expr, int | None]]:
        """The one expression that something stands for, and which of its items."""
        place = place_name(e)
        own, _, name = place.rpartition(".")
        info = self._frame.self_class
        if type(e) is f.Name:
            body = scope.function.body if scope.function is not None else self._frame.module.body
            yield from self._assigned(scope, body, place)
            if scope.function is not None and place not in {p.name for p in scope.function.parameters}:
                yield from self._assigned(Scope(None), self._frame.module.body, place)
        elif type(e) is f.Attr and own and own == scope.own and info is not None:
            methods = [m for c in self._frame.analysis.names.mro(info) for m in c.methods.values() if m.parameters]
            found = [x for m in methods for x in self._assigned(Scope(m), m.body, f"{m.parameters[0].name}.{name}")]
            if len(found) == 1:
                yield found[0]
            method = self._frame.analysis.names.method(info, name)
            if method is not None and method.is_property:
                yield from _returned(Scope(method))
        elif type(e) is f.Call:
            yield from self._called(scope, e)

    def _assigned(self, scope: Scope, body: f.Body, place: str) -> Iterator[tuple[Scope, f.Expr, int | None]]:
        """What alone a place is set to in a body."""
        bodies = self._frame.analysis.bodies
        held = bodies.assigned(body, place)
        parts = bodies.once(_parts, body).get(place, [])
        if len(held) == 1 and not parts:
            yield scope, held[0], None
        elif len(parts) == 1 and not held:
            yield scope, *parts[0]

    def _called(self, scope: Scope, e: f.Call) -> Iterator[tuple[Scope, f.Expr, int | None]]:
        """What a function of the file, or a method of the instance, returns that does nothing else."""
        function = self.function_of(scope, e)
        if function is not None and not function.decorator_names - {"staticmethod"}:
            yield from _returned(bound_in(scope, e, function))

    def function_of(self, scope: Scope, call: f.Call) -> FunctionInfo | None:
        """The function of the file that a call is of, or the method of the own instance."""
        names, info = self._frame.analysis.names, self._frame.self_class
        if type(call.func) is f.Attr and scope.own and place_name(call.func.base) == scope.own and info is not None:
            return names.method(info, call.func.attr)
        entity = names.resolve(call.func, self._frame.module)
        return entity if isinstance(entity, FunctionInfo) and entity.module is self._frame.module else None

    def _is_rank(self, scope: Scope, e: f.Expr) -> bool:
        """Whether something is the rank of the job; in another function, a name is told by itself."""
        if type(e) is f.Name and scope.function is not self._frame.function:
            return self._is_named_rank(e)
        if id(e) not in self._ranks:
            asks = type(e) is not f.Call or not e.args or last_name(e.func) == "int"  # `int(os.environ["RANK"])`
            divergence = self._frame.ask(e).divergence if asks else None
            self._ranks[id(e)] = divergence is not None and divergence.kind == "rank" and divergence.axes == WORLD
            self._plain[id(e)] = asks and divergence is None
        return self._ranks[id(e)]

    def _is_named_rank(self, e: f.Expr) -> bool:
        return self._frame.models.convention("rank", last_name(e)) is not None

    def _stand_in(self, scope: Scope, e: f.Expr) -> Unknown | None:
        """The number that is tried for what nothing is known of, whatever names it in the same function."""
        if not self._plain.get(id(e), True):
            return None
        of = scope.function.id if type(e) is f.Name and scope.function is not None else ""
        key, unknown = f"{of} {render(e)}", self._job.unknown
        if key not in unknown and len(unknown) < len(self._job.numbers):
            unknown[key] = Unknown(self._job.numbers[len(unknown)])
        return unknown.get(key)


def _as_list(value: Result | None) -> list[Result] | None:
    """A list; of one of which nothing is known, some ranks."""
    if isinstance(value, Unknown):
        return [value + 0, value + 2, value + 7]
    return value if isinstance(value, list) else None


def _returned(scope: Scope) -> Iterator[tuple[Scope, f.Expr, int | None]]:
    """What a function returns at its end, behind nothing that decides about it."""
    body = scope.function.body if scope.function is not None else ()
    plain = all(type(s) in (f.Assign, f.ExprStmt, f.Return) for s in body)
    last = body[-1] if body else None
    if plain and type(last) is f.Return and last.value is not None:
        yield scope, last.value, None


def _parts(body: f.Body) -> dict[str, list[tuple[f.Expr, int]]]:
    """The places that get an item of something: `row, column = divmod(rank, n)`."""
    found: dict[str, list[tuple[f.Expr, int]]] = {}
    for s in statements(body):
        for target in s.targets if type(s) is f.Assign and type(s.value) is not f.Sequence else ():
            for i, part in enumerate(target.elements if type(target) is f.Sequence else ()):
                if type(s) is f.Assign and s.value is not None and (place := place_name(part)):
                    found.setdefault(place, []).append((s.value, i))
    return found


def bound_in(scope: Scope, call: f.Call, function: FunctionInfo) -> Scope:
    """A function with what a call hands it."""
    method = function.owner is not None and not function.is_static
    given = {p.name: passed(call, function, method, p.name) or p.default for p in function.parameters}
    return Scope(function, {name: (scope, value) for name, value in given.items() if value is not None})
