"""The classes of what a call passes: `evaluate(Scorer())`, `fit([Saver(), Logger()])`.

A function whose parameter may be of any class is looked at once more for each class that it is passed, if it calls
methods of it that this class has. Of a list, or the values of a dict, the classes of the items count, where the
function goes through it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.calls import by_class, forwards
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.project.entities import FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.calls.summaries import Context

#: classes of the items of one list; where there are more, nothing is said of any
_MOST_CLASSES = 4
#: for the name of a method: a call of the instance
_ITSELF = "()"


def of_call(analysis: Analysis, function: FunctionInfo, bound: Mapping[str, Value]) -> Context:
    """The classes of arguments on which the function calls methods of theirs, where no annotation tells them, and
    of modules whose forward broadcasts buffers."""
    out: list[tuple[str, Value]] = []
    for i, parameter in enumerate(function.parameters):
        value = bound.get(parameter.name)
        if value is None or value.const is not None or value.target is not None:
            continue
        if i == 0 and function.owner is not None and not function.is_static:
            continue
        if value.external is not None and by_class.issued(analysis, function, parameter.name, value.external):
            out.append((parameter.name, Value(types=value.types, module=value.module, external=value.external)))
            continue
        if forwards.is_wrapped(analysis, value) and parameter.name in function.traits.run:
            out.append((parameter.name, Value(types=value.types, module=True, external=value.external)))
            continue
        held = value.holds
        if held is not None and not issued_for_each(analysis, function, parameter.name, held):
            held = None
        if held or (value.element_types and not value.types and _goes_through(analysis, function, parameter, value)):
            out.append((parameter.name, Value(element_types=value.element_types, holds=held)))
            continue
        if len(value.types) != 1:
            continue
        (info,) = value.types
        if forwards.shares_buffers(analysis, value):
            out.append((parameter.name, Value(types=value.types, module=True, external=value.external)))
            continue
        annotated = analysis.annotations.class_of(parameter.annotation, function.module)
        if annotated is info or (annotated is not None and annotated not in analysis.names.mro(info)):
            continue
        if any(analysis.names.method(info, name) is not None for name in function.calls_on(parameter.name)):
            out.append((parameter.name, Value(types=value.types)))
    return tuple(out)


def _goes_through(analysis: Analysis, function: FunctionInfo, parameter: f.Parameter, value: Value) -> bool:
    """Whether a function calls methods of the items that it is passed, which no annotation tells the classes of."""
    if len(value.element_types) > _MOST_CLASSES:
        return False
    if analysis.annotations.elements_of(parameter.annotation, function.module) == value.element_types:
        return False
    called = analysis.bodies.once(_called_on_items, function.body).get(parameter.name, ())
    if _ITSELF in called and any(analysis.names.called(info) is not None for info in value.element_types):
        return True
    return any(analysis.names.method(info, name) is not None for info in value.element_types for name in called)


def issued_for_each(analysis: Analysis, function: FunctionInfo, name: str, held: str) -> frozenset[str]:
    """What a function issues for the items that it is passed, by the library class of theirs: nothing where its
    annotation tells that to everybody."""
    parameter = next((p for p in function.parameters if p.name == name), None)
    annotation = parameter.annotation if parameter is not None else None
    if parameter is None or analysis.annotations.held_by(annotation, function.module) == held:
        return frozenset()
    called = analysis.bodies.once(_called_on_items, function.body).get(name, ())
    wrapper = analysis.models.class_(held)
    calls = (analysis.models.call(f"{held}.{method}") for method in called if method != _ITSELF)
    issued = [call.event for call in calls if call is not None and call.event is not None]
    if _ITSELF in called and wrapper is not None and wrapper.role in ("sharded", "ddp"):
        issued.append("forward")
    return frozenset(issued)


def _called_on_items(body: f.Body) -> dict[str, set[str]]:
    """The methods that are called on items of what a name holds: what a loop over it goes by, or `name[i]`; and whether
    the items are called themselves."""
    walked_by: dict[str, set[str]] = {}
    for target, name in _gone_through(body):
        walked_by.setdefault(target, set()).add(name)
    called: dict[str, set[str]] = {}
    for node in walk(body):
        if type(node) is not f.Call:
            continue
        func = node.func
        item, method = (func.base, func.attr) if type(func) is f.Attr else (func, _ITSELF)
        if type(item) is f.Subscript and type(item.base) is f.Name:
            called.setdefault(item.base.id, set()).add(method)
        elif type(item) is f.Name:
            for name in walked_by.get(item.id, ()):
                called.setdefault(name, set()).add(method)
    return called


def _gone_through(body: f.Body) -> Iterator[tuple[str, str]]:
    """The targets of loops, each with the names that are walked: `for i, step in enumerate(steps)`."""
    for node in walk(body):
        if type(node) is f.For or type(node) is f.Generator:
            targets = [part.id for part in walk(node.target) if type(part) is f.Name]
            walked = [part.id for part in walk(node.iterable) if type(part) is f.Name]
            yield from ((target, name) for target in targets for name in walked)


def methods_of(analysis: Analysis, context: Context) -> frozenset[int]:
    """The methods of the classes that a context passes, by their identity."""
    classes = {info for _, value in context for info in (value.types | value.element_types)}
    return frozenset(id(m) for info in classes for c in analysis.names.mro(info) for m in c.methods.values())
