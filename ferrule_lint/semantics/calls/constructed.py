"""Objects that are built around data and walk it later: `trainer = Trainer(shard); trainer.fit()`.

What an attribute holds is known without its instance, so that how many items it has cannot be told from there. An
attribute that `__init__` computes from a parameter `p` therefore says that its length depends on `.p`, a parameter of
the object itself; what was passed for `p` is kept with the instance, and stands for `.p` in the methods called on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ferrule_lint.semantics.calls import special_methods
from ferrule_lint.semantics.data import iteration
from ferrule_lint.semantics.domain.dependences import COUNTED, FLOWS, ITERATED, NO_DEPS, Deps, only
from ferrule_lint.semantics.domain.lattice import Value, rounds_of
from ferrule_lint.semantics.project.options import passed

if TYPE_CHECKING:
    from ferrule_lint.facts import types as f
    from ferrule_lint.semantics.domain.summary import Summary
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

_PREFIX = "."
_OF_LENGTH = (ITERATED, COUNTED)


def held(value: Value, method: FunctionInfo) -> Deps:
    """How the constructor's parameters decide the length of what it, or another method, leaves in an attribute."""
    if method.name != "__init__":
        return of_constructor(value.length_deps)
    own = {p.name for p in method.parameters}
    lengths = {p for p, how in value.length_deps if how in _OF_LENGTH}
    if not lengths and value.const is None and not value.divergence:
        lengths = {p for p, how in value.deps if how in (FLOWS, *_OF_LENGTH)}  # itself, or `len(p)`
    return frozenset((_PREFIX + p, COUNTED) for p in lengths & own)


def of_constructor(deps: Deps) -> Deps:
    """Those of the dependences that are on parameters of the constructor: they hold in every method."""
    return frozenset([d for d in deps if d[0][0] == _PREFIX]) or NO_DEPS


def kept(frame: Frame, bound: Mapping[str, Value], pos: f.Pos) -> tuple[tuple[str, Value], ...]:
    """The arguments of a constructor call that differ in their number of items, or whose callers may let them."""
    found: list[tuple[str, Value]] = []
    for name, value in bound.items():
        if value.types and value.length is None:
            value = iteration.of_instance(frame, value, pos)
        length = rounds_of(value)
        deps = value.length_deps | only(value.deps, ITERATED, FLOWS)
        if (length is not None or deps) and value.const is None:
            known = Value(length=length, length_deps=deps)
            found.append((name, known if length is None else known._replace(element_types=value.element_types)))
    return tuple(sorted(found))


def with_lengths(
    frame: Frame, summary: Summary, bound: dict[str, Value], call: f.Call | None, method: bool, pos: f.Pos
) -> dict[str, Value]:
    """What a callee walks or counts of what it is passed, with the number of items that its class says it has
    (`buffer = Buffer()`, `train(buffer)`, `for step in range(len(buffer))`)."""
    if not any(v.types and v.length is None for v in bound.values()):
        return bound
    result = summary.result
    deps = (*(d for latent in summary.latents for d in latent.deps), *result.deps, *result.length_deps)
    asked = {name for name, how in (*deps, *result.shape_deps) if how in _OF_LENGTH}
    sized = {n: iteration.of_instance(frame, v, pos) for n, v in bound.items() if n in asked and v.types}
    for name, value in sized.items():
        given = passed(call, summary.function, method, name) if call is not None and summary.function else None
        if value.length is None and given is not None and (own := special_methods.length(frame, value, given, pos)):
            sized[name] = value._replace(length=own.divergence)
    return {**bound, **sized} if sized else bound


def bind(frame: Frame, summary: Summary, receiver: Value | None, bound: dict[str, Value]) -> dict[str, Value]:
    """The arguments of a method call, with those of its object's constructor that the summary asks for."""
    asked = {p for latent in summary.latents for p, _ in latent.deps if p[0] == _PREFIX}
    left = [deps for value in summary.self_writes.values() for deps in (value.deps, value.presence_deps)]
    result = summary.result
    told = (*result.length_deps, *result.deps, *result.presence_deps, *(d for deps in left for d in deps))
    asked |= {p for p, _ in told if p[0] == _PREFIX}
    if not asked:
        return bound
    bound = dict(bound)
    if receiver is None or _is_self(frame, receiver):
        bound |= {p: Value(length_deps=frozenset([(p, COUNTED)])) for p in asked}
    else:
        given = dict(receiver.given)
        bound |= {p: given[p[1:]] for p in asked if p[1:] in given}
    return bound


def _is_self(frame: Frame, receiver: Value) -> bool:
    own = frame.env.get(frame.self_name) if frame.self_name else None
    return own is receiver or (own is not None and not receiver.given and own.types == receiver.types)
