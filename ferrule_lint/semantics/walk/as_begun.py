"""What a parameter holds to which every caller hands something that he has just begun; see `project.begun`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.project import begun
from ferrule_lint.semantics.walk.frame import Frame

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo


def as_begun(frame: Frame, function: FunctionInfo, name: str, told: Value) -> Value:
    """A parameter that all callers begin alike; `told`: what its name and annotation say, which is nothing beside it.
    What the callers put into a list or dict when they wrote it down is theirs: all that counts are its places."""
    if frame.light or told.types or told.external:
        return told
    found = begun.of_parameter(frame.analysis, function, name)
    if not found:
        return told
    values = [Frame(frame.analysis, one.module, light=1).eval(one.expr) for one in found]
    first, again = values[0], any(one.again for one in found)
    if all(value.container or value.slots is not None for value in values):
        slots = first.slots if not again and all(value.slots == first.slots for value in values) else None
        empty, plain = slots is not None and not slots, all(value.container for value in values)
        return Value(deps=told.deps, uniform=empty, container=plain, there=True, slots=slots, in_order=empty)
    if first.const is not None and all(value.const == first.const for value in values):
        return Value(deps=told.deps, uniform=True, const=first.const)
    if first.layout is not None and all(value.layout == first.layout for value in values):
        return Value(deps=told.deps, uniform=not again, there=True, layout=first.layout, slots=None)
    return told
