"""Methods that Python runs for an instance of a class without a call of them: `len(x)`, `x[i]`, `for item in x`.

What they issue is issued there (https://docs.python.org/3/reference/datamodel.html#special-method-names).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import position

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame


def run(frame: Frame, value: Value, name: str, pos: f.Pos, given: tuple[Value, ...] = ()) -> None:
    """What a special method issues, where one class alone may be meant."""
    if frame.light or len(value.types) != 1:
        return
    (info,) = value.types
    method = frame.analysis.names.method(info, name)
    if method is None or frame.analysis.is_module(info):
        return
    frame.analysis.call_function(frame, method, value, given, {}, pos)


def asked(frame: Frame, method: FunctionInfo, value: Value, expr: f.Expr, pos: f.Pos) -> Value:
    """What a special method of an instance says that is asked for as a property is: by what its fields hold there."""
    of = f.Attr(expr, method.name, pos)
    return frame.analysis.call_function(frame, method, value, (), {}, pos, read=of)


def length(frame: Frame, value: Value, expr: f.Expr, pos: f.Pos) -> Value | None:
    """The number of items that an instance of a project class says it has."""
    if len(value.types) != 1:
        return None
    method = frame.analysis.names.method(next(iter(value.types)), "__len__")
    return asked(frame, method, value, expr, pos) if method is not None else None


def truth(frame: Frame, expr: f.Expr, value: Value) -> Divergence | None:
    """Why an instance is true on some ranks only: its `__bool__` says so, or that it has no items does."""
    if frame.light or len(value.types) != 1 or value.module:
        return None
    (info,) = value.types
    if frame.analysis.is_module(info):
        return None
    methods = (frame.analysis.names.method(info, name) for name in ("__bool__", "__len__"))
    method = next((m for m in methods if m is not None), None)
    return asked(frame, method, value, expr, position(expr) or (0, 0, 0, 0)).divergence if method is not None else None


def begin(frame: Frame, value: Value, pos: f.Pos) -> None:
    """What is issued where a loop over an instance, or `iter`, begins."""
    run(frame, value, "__iter__", pos)
    run(frame, value, "__aiter__", pos)


def begun(frame: Frame, value: Value, pos: f.Pos) -> Value:
    """What `iter` makes of an instance, which it begins to go through: where its class has a generator for that, this
    is no instance any more."""
    begin(frame, value, pos)
    methods = [frame.analysis.names.method(info, "__iter__") for info in value.types]
    generates = any(method is not None and method.is_generator for method in methods)
    return value._replace(types=NOTHING) if generates else value


def each_round(frame: Frame, value: Value, pos: f.Pos) -> None:
    """What is issued for each item that is asked for."""
    run(frame, value, "__next__", pos)
    run(frame, value, "__anext__", pos)
