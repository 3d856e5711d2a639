"""What an object was made with, where that decides if its methods communicate: `Accuracy(sync_on_compute=False)`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.text import last_name, place_name, render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def one_of(frame: Frame, receiver: f.Expr, arguments: Iterable[str]) -> bool:
    """Whether all calls that make an object, as far as its function or class tells, are given one of these arguments:
    `name`, whatever it is, or `name=value`."""
    makes = made(frame, receiver)
    return bool(makes) and all(_is_given(call, arguments) for call in makes)


def made(frame: Frame, receiver: f.Expr) -> list[f.Expr]:
    """What is assigned to a place in its function, or to an attribute of the instance in its class."""
    place = place_name(receiver)
    if type(receiver) is f.Attr and place_name(receiver.base) == frame.self_name and frame.self_class is not None:
        bodies = [method.body for method in frame.self_class.methods.values()]
    else:
        bodies = [frame.function.body if frame.function is not None else frame.module.body]
    return [value for body in bodies for value, _ in assignments(body, place)]


def _is_given(made: f.Expr, arguments: Iterable[str]) -> bool:
    while type(made) is f.Call and type(made.func) is f.Attr and last_name(made.func) in ("to", "cuda", "cpu"):
        made = made.func.base
    given = {name: render(value) for name, value in made.keywords} if type(made) is f.Call else {}
    return any(given.get(name) == value if eq else name in given for name, eq, value in _split(arguments))


def _split(arguments: Iterable[str]) -> list[tuple[str, str, str]]:
    return [argument.partition("=") for argument in arguments]
