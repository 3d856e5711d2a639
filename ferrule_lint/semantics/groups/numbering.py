"""Places in a group, told from how a function (or the methods of its class) makes and compares them.

A rank's place in its group is what `get_rank(group)` answers, what is worked out from it, and what it is compared
with: `if get_rank(group) == src` says that `src` is counted in the group. That needs no knowledge of the group but its
name, which is followed over one assignment (`self.group = group`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, walk
from ferrule_lint.semantics.domain.assigned import assignments, by_place
from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import last_name, place_name, render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_DEEPEST = 3
#: functions that answer with the caller's, or another rank's, place in the group they are given first
_PLACES = ("get_rank", "get_group_rank")
_SIZES = ("get_world_size", "get_group_size")
_ARITHMETIC = ("Add", "Sub", "Mod", "FloorDiv")


def starts_block(frame: Frame, expr: f.Expr, depth: int = 0) -> bool:
    """Whether a rank is counted in the job, as it is worked out: `rank // n * n` is the first of a block of n ranks,
    and so is what any number of blocks comes to; with a place in the block it is that rank. So is what stands some way
    from this rank (`get_rank() - get_rank(group)`). Helpers are looked into, also for what they take from a list of
    ranks (`return PIPELINE_GLOBAL_RANKS[place]`)."""
    if depth > _DEEPEST:
        return False
    if type(expr) is f.Op:
        parts = expr.operands if expr.kind in ("Add", "Sub") else ()
        return expr.kind == "Mult" or any(
            starts_block(frame, part, depth + 1) or _is_own_rank(frame, part) for part in parts
        )
    if type(expr) is f.Name and frame.function is not None:
        made = [v for v in frame.analysis.bodies.assigned(frame.function.body, expr.id) if v != f.Const("None")]
        return bool(made) and all(starts_block(frame, value, depth + 1) for value in made)
    if type(expr) is not f.Call:
        return False
    if last_name(expr.func) == "int" and len(expr.args) == 1:
        return starts_block(frame, expr.args[0], depth + 1)
    target = frame.eval(expr.func).target
    return type(target) is FunctionTarget and _gives_block(target.function.body)


def _is_own_rank(frame: Frame, expr: f.Expr) -> bool:
    """Whether something is this rank as it is counted in the job: what `get_rank()` answers that is given no group."""
    made = [expr]
    if type(expr) is f.Name and frame.function is not None:
        made = frame.analysis.bodies.assigned(frame.function.body, expr.id)
    return bool(made) and all(type(v) is f.Call and _asks_for_own(v) for v in made)


def _asks_for_own(call: f.Call) -> bool:
    """`dist.get_rank()`, and not that of an object of the project's (`coordinator.get_rank()`)."""
    if last_name(call.func) != "get_rank" or call.args or call.keywords:
        return False
    return type(call.func) is f.Name or last_name(getattr(call.func, "base", None)).endswith(("dist", "distributed"))


def _gives_block(body: f.Body) -> bool:
    """The same for what a function returns on every way."""
    returned = [s.value for s in walk(body) if type(s) is f.Return and s.value is not None]
    made = [
        value
        for expr in returned
        for value in ([v for v, _ in assignments(body, expr.id)] if type(expr) is f.Name else [expr])
    ]
    return bool(made) and all(_is_product(value) or _is_in_list(value) for value in made)


#: lists of the ranks of groups by their names, as they are counted in the job
_RANKS = re.compile(r"(^|_)ranks$", re.IGNORECASE)
_IN_GROUP = re.compile(r"local|in_group", re.IGNORECASE)


def _is_in_list(expr: f.Expr) -> bool:
    if type(expr) is not f.Subscript:
        return False
    name = last_name(expr.base)
    return bool(_RANKS.search(name)) and not _IN_GROUP.search(name)


def _is_product(expr: f.Expr) -> bool:
    if type(expr) is not f.Op:
        return False
    return expr.kind == "Mult" or (expr.kind in ("Add", "Sub") and any(map(_is_product, expr.operands)))


def _compared(body: f.Body) -> dict[str, list[tuple[f.Compare, f.Expr]]]:
    """The comparisons whether something is something, by the text of either, with the other."""
    return by_place(
        (render(one), (node, other))
        for node in nodes(body, f.Compare)
        if node.ops in (("==",), ("!=",))
        for one, other in ((node.left, node.rights[0]), (node.rights[0], node.left))
    )


class Places:
    """The places in one group, as one function sees them."""

    def __init__(self, frame: Frame, group: f.Expr, axes: Axes | None) -> None:
        """`axes`: of the group, if it is known to be smaller than the job."""
        self._frame = frame
        self._axes = axes
        self._own: f.Body = frame.function.body if frame.function is not None else frame.module.body
        self._prefix = f"{frame.self_name}." if frame.self_name else ""
        self._made: list[f.Expr] = [group, *(v for v, _ in self._assigned(group, self._own) if type(v) is not f.Const)]
        self._names = frozenset(map(render, self._made))

    def derived(self, expr: f.Expr) -> f.Expr | None:
        """The question for the place from which an expression is worked out, if it surely is."""
        return self._derived(expr, self._own, ())

    def _derived(self, expr: f.Expr, body: f.Body, through: tuple[str, ...]) -> f.Expr | None:
        """`through`: the names that have been followed to come here."""
        if type(expr) is f.Call and self._asks(expr, body):
            return expr
        if type(expr) is f.Op and expr.kind in _ARITHMETIC and not starts_block(self._frame, expr):
            return next((q for o in expr.operands if (q := self._derived(o, body, through)) is not None), None)
        if type(expr) is f.IfExp:
            return self._either([(expr.body, body), (expr.orelse, body)], through)
        if len(through) >= _DEEPEST:
            return None
        return self._either(self._answers(expr) or self._assigned(expr, body), (*through, place_name(expr)))

    def _either(self, values: list[tuple[f.Expr, f.Body]], through: tuple[str, ...]) -> f.Expr | None:
        """The question behind one of several values, if it is behind each that counts: the first and the last place are
        those at the ends of a ring, and a name that leads back here (`a, b = b, a`) is one of the other values."""
        found = None
        for value, body in values:
            if self._is_end(value, body) or (place_name(value) or None) in through:
                continue
            one = self._derived(value, body, through)
            if one is None:
                return None
            found = found or one
        return found

    def _is_end(self, expr: f.Expr, body: f.Body, depth: int = 0) -> bool:
        """Whether a number is written out, or worked out from the size of the group and such numbers; beyond the ends
        there is nobody (`place + 1 if place + 1 < size else None`)."""
        if type(expr) is f.Const:
            return expr.text.isdigit() or expr.text == "None"
        if type(expr) is f.Op and expr.kind in _ARITHMETIC:
            return all(self._is_end(operand, body, depth) for operand in expr.operands)
        if type(expr) is f.Call:
            return self._asks(expr, body, _SIZES, ("size",), ("size",))
        values = self._assigned(expr, body) if depth < _DEEPEST else []
        return bool(values) and all(self._is_end(value, scope, depth + 1) for value, scope in values)

    def _answers(self, expr: f.Expr) -> list[tuple[f.Expr, f.Body]]:
        """What a method or property of the same instance returns: its attributes have the same names there."""
        owner, named = self._frame.self_class, expr.func if type(expr) is f.Call else expr
        name = place_name(named)
        method = owner.methods.get(name.removeprefix(self._prefix)) if owner and self._prefix else None
        if method is None or not name.startswith(self._prefix):
            return []
        return [(s.value, method.body) for s in walk(method.body) if type(s) is f.Return and s.value is not None]

    def counts_through(self, expr: f.Expr) -> f.Expr | None:
        """The number of the group's ranks up to which an expression counts: `i % size`, or the variable of a loop over
        `range(size)`; None where a call converts what has been counted (`dst = get_global_rank(group, dst)`), also one
        that is made for a group that is given only."""
        values = self._assigned(expr, self._own)
        if any(type(value) is f.Call for value, _ in values):
            return None
        for value, body in [(expr, self._own), *values]:
            if type(value) is f.Op and value.kind == "Mod" and self._is_size(value.operands[1], body):
                return value.operands[1]
        if type(expr) is not f.Name:
            return None
        walked = [s.iterable for s in nodes(self._own, f.For) if type(s.target) is f.Name and s.target.id == expr.id]
        for loop in walked if len(walked) == 1 else ():
            if type(loop) is f.Call and last_name(loop.func) == "range" and self._is_size(loop.args[-1], self._own):
                return loop.args[-1]
        return None

    def _is_size(self, expr: f.Expr, body: f.Body, depth: int = 0) -> bool:
        """Whether an expression is the number of ranks in the group."""
        if type(expr) is f.Call:
            if self._asks(expr, body, _SIZES, ("size",), ("size",)):
                return True
            return self._axes is not None and self._gives_size(expr)
        values = self._assigned(expr, body) if depth < _DEEPEST else []
        return bool(values) and all(self._is_size(value, scope, depth + 1) for value, scope in values)

    def _gives_size(self, call: f.Call) -> bool:
        """`get_data_parallel_world_size()`, of a data-parallel group."""
        name = last_name(call.func)
        return name.endswith("_size") and not call.args and self._frame.axes_in(name) == self._axes

    def compared(self, expr: f.Expr) -> f.Compare | None:
        """The comparison by which an expression (a name, a written number) is counted in the group."""
        if type(expr) is f.Const:
            return self._comparison(self._own, expr.text)
        place = place_name(expr)
        if not place:
            return None
        for body in self._bodies(place, self._own):
            values = self._frame.analysis.bodies.assigned(body, place)
            if not all(type(v) is f.Name or (type(v) is f.Const and v.text.isdigit()) for v in values):
                return None  # it is made from something else, which may have converted it
            for text in (place, *(v.id for v in values if type(v) is f.Name)):
                found = self._comparison(body, text)
                if found is not None:
                    return found
        return None

    def _comparison(self, body: f.Body, text: str) -> f.Compare | None:
        for node, other in self._frame.analysis.bodies.once(_compared, body).get(text, ()):
            if self._derived(other, body, ()) is not None or (body is self._own and self._is_rank_along(other)):
                return node
        return None

    def _is_rank_along(self, expr: f.Expr) -> bool:
        """Whether something is, as far as this function sees, a rank along the group's axes."""
        if self._axes is None or type(expr) is f.Const:
            return False
        divergence = self._frame.eval(expr).divergence
        return divergence is not None and divergence.kind == "rank" and divergence.axes == self._axes

    def _asks(
        self,
        call: f.Call,
        body: f.Body,
        functions: tuple[str, ...] = _PLACES,
        methods: tuple[str, ...] = ("rank",),
        of_mesh: tuple[str, ...] = ("get_local_rank",),
    ) -> bool:
        """Whether a call asks for the caller's place in the group, or what else is asked for by functions that are
        given the group, methods of it, and methods of its mesh that are given the dimension."""
        name = last_name(call.func)
        if name in functions:
            group = next((v for k, v in call.keywords if k == "group"), call.args[0] if call.args else None)
            return group is not None and type(group) is not f.Const and self._is_group(group, body)
        if type(call.func) is not f.Attr:
            return False
        if name in methods and not call.args and render(call.func.base) in self._names:
            return True
        return name in of_mesh and any(_dimension(made) == _along(call) for made in self._made)

    def _is_group(self, expr: f.Expr, body: f.Body) -> bool:
        """Whether an expression is the group under one of its names: its own, or what its place is assigned from."""
        made = (value for value, _ in self._assigned(expr, body))
        return not self._names.isdisjoint(map(render, (expr, *made)))

    def _assigned(self, expr: f.Expr, body: f.Body) -> list[tuple[f.Expr, f.Body]]:
        """What a place is set to, and the function it is set in; `body`: the function that names it."""
        place = place_name(expr)
        if not place:
            return []
        assigned = self._frame.analysis.bodies.assigned
        return [(value, scope) for scope in self._bodies(place, body) for value in assigned(scope, place)]

    def _bodies(self, place: str, body: f.Body) -> Iterator[f.Body]:
        """Where a place can be set: the function that names it, for an attribute of the instance all its methods."""
        owner = self._frame.self_class
        if owner is None or not self._prefix or not place.startswith(self._prefix):
            yield body
            return
        for method in owner.methods.values():
            yield method.body


def _dimension(made: f.Expr) -> list[str]:
    """The mesh and the dimension of `mesh.get_group(dimension)`, as text."""
    return _along(made) if type(made) is f.Call and last_name(made.func) == "get_group" else []


def _along(call: f.Call) -> list[str]:
    """The mesh on which a method is called and what it is given, as text: `mesh[dimension].size()` is the same as
    `mesh.size(dimension)`."""
    base = call.func.base if type(call.func) is f.Attr else None
    if type(base) is f.Subscript and not call.args:
        return [render(base.base), render(base.index)]
    return [render(base), *map(render, call.args)]
