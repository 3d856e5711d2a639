"""Functions that an instance keeps in a list or dict, and a loop calls: `for hook in self.hooks: hook(step)`.

Which they are is read from the methods of the class: what they write into the list, append to it, or are given by
callers to append. Any of them may be there; each is taken to be called in any round.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, way_to
from ferrule_lint.semantics.domain.assigned import appended_to
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value
from ferrule_lint.semantics.domain.targets import FunctionTarget, PartialTarget, Target
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project import kept_arguments
from ferrule_lint.semantics.project.entities import FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import ClassInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: functions of one list; with more nothing is said
_MOST = 6
#: what hands back a list of the same, or the entries of a dict
_SAME = frozenset({"list", "tuple", "reversed", "copy", "values", "items"})


def walked(frame: Frame, call: f.Call) -> Target | None:
    """What a call of a loop's variable calls, where the loop walks a list that the instance keeps."""
    name, info, function = last_name(call.func), frame.self_class, frame.function
    if info is None or function is None or type(call.func) is not f.Name:
        return None
    for block, i in reversed(way_to(function.body, call.pos)):
        s = block[i]
        if type(s) is f.For and name in _bound(s.target):
            return _of_list(frame, info, _walked_place(s.iterable, frame.self_name or ""))
    return None


def _bound(target: f.Expr) -> tuple[str, ...]:
    parts = target.elements if type(target) is f.Sequence else (target,)
    return tuple(part.id for part in parts if type(part) is f.Name)


def _walked_place(expr: f.Expr, own: str) -> str:
    """The attribute of the instance that a loop walks, or an entry of it, or ""."""
    while type(expr) is f.Call and last_name(expr.func) in _SAME:
        expr = expr.func.base if type(expr.func) is f.Attr else expr.args[0] if expr.args else expr.func
    place = place_name(expr.base if type(expr) is f.Subscript else expr)
    return place.partition(".")[2] if place.startswith(f"{own}.") and place.count(".") == 1 else ""


def _of_list(frame: Frame, info: ClassInfo, attribute: str) -> Target | None:
    found: dict[str, Target] = {}
    for method in _methods(frame, info) if attribute else ():
        if not method.parameters:
            continue
        place = f"{method.parameters[0].name}.{attribute}"
        for expr in _put_into(method.body, place):
            for target in _targets(frame, info, method, expr):
                bare = _partly(target, expr) if type(expr) is f.Call else target
                found[target.function.id] = bare
    if not found or len(found) > _MOST:
        return None
    return kept_arguments.one_of([found[key] for key in sorted(found)])


def _methods(frame: Frame, info: ClassInfo) -> Iterator[FunctionInfo]:
    for cls in frame.analysis.names.mro(info):
        yield from cls.methods.values()


def _put_into(body: f.Body, place: str) -> Iterator[f.Expr]:
    """What the statements of a method put into a list or dict."""
    for s in statements(body):
        if appended_to(s) == place and type(s) is f.ExprStmt and type(s.value) is f.Call:
            yield from s.value.args[:1]
        elif type(s) is f.Assign and s.value is not None:
            for target in s.targets:
                if place_name(target) == place:
                    yield from _elements(s.value)
                elif type(target) is f.Subscript and place_name(target.base) == place:
                    yield from (s.value, *_elements(s.value))


def _elements(expr: f.Expr) -> tuple[f.Expr, ...]:
    if type(expr) is f.Sequence:
        return expr.elements
    return tuple(x for v in expr.values for x in (v, *_elements(v))) if type(expr) is f.DictDisplay else ()


def _partly(target: FunctionTarget, call: f.Call) -> PartialTarget:
    """`partial(save, tag="end")`, of whose arguments nothing is known here."""
    keywords = tuple((name, UNKNOWN) for name, _ in call.keywords if name is not None)
    return PartialTarget(Value(target=target), (UNKNOWN,) * (len(call.args) - 1), keywords)


def _targets(frame: Frame, info: ClassInfo, method: FunctionInfo, expr: f.Expr) -> Iterator[FunctionTarget]:
    """The functions of the project that an expression in a method stands for."""
    names = frame.analysis.names
    own = method.parameters[0].name
    if type(expr) is f.Call and last_name(expr.func) == "partial" and expr.args:
        expr = expr.args[0]
    if type(expr) is f.Attr and type(expr.base) is f.Name and expr.base.id == own:
        known = names.method(info, expr.attr)
        if known is not None and not known.is_property:
            yield FunctionTarget(known, Value(types=frozenset({info})))
    elif type(expr) is f.Name and any(p.name == expr.id for p in method.parameters):
        given = kept_arguments.of_parameter(frame.analysis, method, expr.id)
        yield from kept_arguments.functions(frame.analysis, given)
    elif type(expr) is f.Name and type(resolved := names.resolve(expr, method.module)) is FunctionInfo:
        yield FunctionTarget(resolved)
