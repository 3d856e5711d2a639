"""Data loaders by their names and by what they come from: `for name, value in loaders.items()`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, nodes, statements
from ferrule_lint.semantics.domain.assigned import by_place, walks
from ferrule_lint.semantics.domain.text import instance_test, last_name, render, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.domain.lattice import Value
    from ferrule_lint.semantics.walk.frame import Frame

_VIEWS = ("items", "values", "enumerate", "list")
_PLURAL = re.compile(r"(loader|iter|iterator)s$")
_ONE = re.compile(r"loader$", re.IGNORECASE)
#: what holds loaders and is none
_LISTS = frozenset("list tuple List Tuple dict Dict".split())
#: what a loader has, and a batch has not
_OF_LOADERS = frozenset({"dataset", "sampler", "batch_sampler"})


def are_all(frame: Frame, arguments: Arguments) -> bool:
    """Whether a call is given data loaders, and nothing else."""
    given = (*arguments.expr.args, *(value for _, value in arguments.expr.keywords))
    if arguments.is_open or not given:
        return False
    return all(
        value.loader or is_named(frame, expr) or _is_one_of(frame, expr)
        for expr, value in zip(given, arguments.values, strict=False)
    )


def dealt_out(value: Value) -> Value:
    """What a library makes of a loader that gives each rank its part of the batches (`accelerator.prepare(loader)`).

    It is handed the whole data set, and so the same on each rank: that some items were left out for what is in them
    tells of no rank. A part that was taken by rank has another size on each, dealt out again or not.
    """
    if not value.loader:
        return value
    length, shape = (None if d is not None and d.kind == "data" else d for d in (value.length, value.shape))
    return value._replace(length=length, shape=shape)


def is_loader(frame: Frame, expr: f.Expr) -> bool:
    """Whether iterating this yields batches, by its name (also within `enumerate`, `tqdm`, ...)."""
    if type(expr) is f.Walrus:
        return is_loader(frame, expr.value)
    if type(expr) is f.Call:
        if last_name(expr.func) in ("enumerate", "tqdm", "iter", "islice", "zip", "cycle", "progress_bar"):
            return any(is_loader(frame, a) for a in expr.args[:2])
        return False
    return is_named(frame, expr)


def is_named(frame: Frame, expr: f.Expr) -> bool:
    """Whether something has the name of a data loader."""
    name = last_name(expr)
    return bool(name) and frame.models.convention("loader", name) is not None


def holds_several(frame: Frame, expr: f.Expr) -> bool:
    """Whether something is a list or dict of loaders, so that its items are no batches: by its name (`loaders`), since
    what a loop takes from it is called a loader, or asked for its data set or sampler, or as a test of it says."""
    whole = _base(expr)
    if _PLURAL.search(last_name(whole)):
        return True
    if type(whole) not in (f.Name, f.Attr):
        return False
    text = render(whole)
    body = frame.function.body if frame.function is not None else frame.module.body
    bodies = frame.analysis.bodies
    taken = {v for target in bodies.once(_walked, body).get(text, ()) for v in variables(target)}
    if taken and (any(map(_ONE.search, taken)) or not taken.isdisjoint(bodies.once(_asked_as_loader, body))):
        return True
    return text in bodies.once(_tested_as_lists, body) and _is_said_to_hold(body, text, expr)


def _walked(body: f.Body) -> dict[str, list[f.Expr]]:
    """What loops take from each thing, by its text."""
    return by_place((render(_base(walked)), target) for target, walked in walks(body))


def _asked_as_loader(body: f.Body) -> frozenset[str]:
    """The names that are asked for what a loader has."""
    asked = (node.base for node in nodes(body, f.Attr) if node.attr in _OF_LOADERS)
    return frozenset(base.id for base in asked if type(base) is f.Name)


def _is_said_to_hold(body: f.Body, text: str, walked: f.Expr) -> bool:
    """Whether `assert isinstance(loader, list)` stands in front of a loop, or it stands in the arm of such a test."""
    for i, s in enumerate(body):
        if type(s) is f.Assert and _is_list(s.test, text) and _walks(body[i + 1 :], walked):
            return True
        if type(s) is f.If and _is_list(s.test, text) and _walks(s.body, walked):
            return True
        if any(_is_said_to_hold(block, text, walked) for block in blocks(s)):
            return True
    return False


def _tested_as_lists(body: f.Body) -> frozenset[str]:
    """What is tested for being a list or dict, as text."""
    asked = [instance_test(s.test) for s in statements(body) if type(s) is f.Assert or type(s) is f.If]
    return frozenset(render(of) for of, classes in filter(None, asked) if all(last_name(c) in _LISTS for c in classes))


def _is_list(test: f.Expr, text: str) -> bool:
    asked = instance_test(test)
    return asked is not None and render(asked[0]) == text and all(last_name(cls) in _LISTS for cls in asked[1])


def _walks(body: f.Body, walked: f.Expr) -> bool:
    return any(_base(iterable) is _base(walked) for _, iterable in walks(body))


def _is_one_of(frame: Frame, expr: f.Expr) -> bool:
    """Whether a name stands for the items of something that is called loaders."""
    if type(expr) is not f.Name:
        return False
    body = frame.function.body if frame.function is not None else frame.module.body
    walked = frame.analysis.bodies.once(_looped, body).get(expr.id, ())
    return bool(walked) and all(is_named(frame, _base(iterable)) for iterable in walked)


def _looped(body: f.Body) -> dict[str, list[f.Expr]]:
    """What is walked to bind each name."""
    return by_place((name, iterable) for target, iterable in walks(body) for name in variables(target))


def _base(expr: f.Expr) -> f.Expr:
    """What is walked, without views of it."""
    while type(expr) is f.Call and last_name(expr.func) in _VIEWS:
        if type(expr.func) is f.Attr:
            expr = expr.func.base
        elif expr.args:
            expr = expr.args[0]
        else:
            break
    return expr


def yields_own(walked: str) -> str:
    """What is said of something that is walked, and is a loader."""
    return f"`{walked}` yields the rank's own batches"
