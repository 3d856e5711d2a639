"""Methods that Python runs for an instance of a class without a call of them: `len(x)`, `x[i]`, `for item in x`.

What they issue is issued there (https://docs.python.org/3/reference/datamodel.html#special-method-names).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.lattice import Value

if TYPE_CHECKING:
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
