"""What a function returns, of all places where it does.

Where a test that differs decides which of several constants is returned, the result differs; so do the parts of a tuple
(`return False, None` here and `return True, x` there), each by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.conditions import Formula, atoms, divergence_of
from ferrule_lint.semantics.domain.lattice import NO_DEPS, PRESENT, Value, join, settled, worse

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def result_of(frame: Frame) -> Value:
    """The join of what is returned; under divergent conditions, different constants diverge."""
    function = frame.function
    if not frame.returns:
        return Value(uniform=True, const="None")
    values = [v for v, _ in frame.returns]
    result = join(values)
    if all(divergence_of(c) is None for _, conditions in frame.returns for c in conditions):
        result = _settled(values) or result
    if function is not None and function.is_generator and not function.is_context_manager:
        return Value(
            element_types=result.types, data=result.data, unordered=frame.yielded_order,
            length_deps=frame.yielded_deps, length=frame.yielded_length, deps=frozenset(
                (p, "contained") for p, _ in result.deps), module=result.module,
        )  # fmt: skip
    if function is not None and function.is_context_manager:
        result = result._replace(length=None, length_deps=NO_DEPS)  # shares that it hands out are mostly filled up
    if len(values) == 1:
        return result
    result = _told_apart(result, frame.returns)
    if result.items is None:
        return result
    parts_of = [(v.items or (), conditions) for v, conditions in frame.returns]
    if any(len(items) != len(result.items) for items, _ in parts_of):
        return result
    return result._replace(
        items=tuple(
            [_told_apart(part, [(items[i], cs) for items, cs in parts_of], True) for i, part in enumerate(result.items)]
        )
    )


def _told_apart(result: Value, returns: Sequence[tuple[Value, tuple[Formula, ...]]], of_tuple: bool = False) -> Value:
    """What is returned in several places, or a part of it, with what the conditions say of which place it is; a part
    that names which inputs there are (`return images, "images"`) is for callers that have chosen them."""
    values = [v for v, _ in returns]
    consts = {v.const for v in values}
    if len(consts) > 1:
        absent = {a.key for v, conditions in returns if v.const == "None" for c in conditions for a in atoms(c)}
        for value, conditions in returns:
            for formula in conditions:
                for atom in atoms(formula):
                    if atom.divergence is not None and not all(v.uniform and v.const is None for v in values):
                        if value.const is not None:
                            why = atom.divergence
                            if of_tuple and why.kind == "structure":
                                why = why.at_most(Confidence.LOW)
                            presence = worse(result.presence, why) if atom.key in absent else result.presence
                            divergence = worse(result.divergence, why)
                            result = result._replace(uniform=False, divergence=divergence, presence=presence)
                    elif atom.deps and value.const is not None:
                        deps = frozenset([d for d in atom.deps if d[1] != PRESENT]) if of_tuple else atom.deps
                        result = result._replace(uniform=False, deps=result.deps | deps)
    if result.uniform:
        same = all(v == values[0] for v in values)
        if not same and any(conditions for _, conditions in returns):
            result = result._replace(
                uniform=all(a.key.startswith("=") for _, cs in returns for c in cs for a in atoms(c))
            )
    return result


def _settled(values: list[Value]) -> Value | None:
    """The returned values joined, where the ranks agree on some and the others are a single process's."""
    agreed = [v for v in values if v.agreed]
    alone = [v for v in values if not v.agreed]
    return settled(join(agreed), join(alone)) if agreed and alone else None
