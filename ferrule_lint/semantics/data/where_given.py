"""What is assigned to a place: in the same body, or for an attribute of the instance in any method of its class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


class Scope(NamedTuple):
    """Where the text of a place counts: a body, and the name of the instance in it."""

    body: f.Body
    own: str


class Given(NamedTuple):
    """What a place gets: a value, or one item of it."""

    value: f.Expr
    item: int | None
    scope: Scope


def scope_of(frame: Frame) -> Scope:
    """The body that is walked."""
    body = frame.function.body if frame.function is not None else frame.module.body
    return Scope(body, frame.self_name or "")


def given(frame: Frame, scope: Scope, place: str) -> Iterator[Given]:
    """What a place gets by assignments, each where its text counts."""
    owner, _, name = place.rpartition(".")
    own = bool(owner) and owner == scope.own
    for at in methods_of(frame) if own and frame.self_class is not None else (scope,):
        text = f"{at.own}.{name}" if own else place
        for s in statements(at.body):
            if type(s) is not f.Assign or s.value is None:
                continue
            for target in s.targets:
                if place_name(target) == text:
                    yield Given(s.value, None, at)
                elif type(target) is f.Sequence:
                    parts = [i for i, part in enumerate(target.elements) if place_name(part) == text]
                    yield from (Given(s.value, i, at) for i in parts)


def methods_of(frame: Frame) -> Iterator[Scope]:
    """The methods of the class whose instance is at hand, those it inherits included."""
    for info in frame.analysis.names.mro(frame.self_class) if frame.self_class is not None else ():
        for method in info.methods.values():
            if method.parameters and not method.is_static:
                yield Scope(method.body, method.parameters[0].name)
