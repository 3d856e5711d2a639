"""Shuffled loaders that a library has prepared: who begins one takes over the state of a generator from the first rank.

`accelerator.prepare(DataLoader(data, shuffle=True))` broadcasts that state whenever the loader is begun, by a `for`, by
`iter`, or by the first `next` of a generator that walks it. That is as good as silent where all ranks do it; so it is
told of where a test of the rank decides who does, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data.where_given import Scope, given, scope_of
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.text import last_name, place_name, position, shown, variables
from ferrule_lint.semantics.domain.trace import Event
from ferrule_lint.semantics.project.entities import FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: what shows how far something is, or begins it
_WALKS = frozenset("enumerate tqdm iter track cycle".split())
_LOADER = re.compile(r"(data)?_?loader$", re.IGNORECASE)
#: who says in so many words what is done to generators, by an argument
_SAYS = frozenset({"rng_types", "use_seedable_sampler"})
#: how many names a loader goes by
_DEEPEST = 4


def begin(frame: Frame, walked: f.Expr, by_next: bool = False) -> None:
    """A loader is begun here, under a test that only some ranks pass: the collective that it begins with."""
    on = frame.path_divergence()
    if frame.light or frame.function is None or on is None or on.kind != "rank":
        return
    scope = scope_of(frame)
    place, inner = _place(walked)
    if not place or (by_next and not inner and not _walked_by(frame, scope, place)):
        return
    op = _begins(frame, scope, place, _DEEPEST, frame.line)
    if op and not _is_told_otherwise(frame):
        pos = position(walked) or (frame.line, 1, frame.line, 1)
        note = f"`{shown(walked)}` begins a shuffled loader that was prepared: the state of its generator goes to all"
        frame.emit(Event(op, WORLD, "generator", frame.module.path, pos, Confidence.MEDIUM, True, note))


def _is_told_otherwise(frame: Frame) -> bool:
    """Whether a call of the file says what is done to generators."""
    return frame.module.mentions_any(_SAYS) or any(
        keyword in _SAYS for _, calls in frame.module.calls() for call in calls for keyword, _ in call.keywords
    )


def _place(walked: f.Expr) -> tuple[str, bool]:
    """The place that is walked, and whether something begins it there: `enumerate(self.loader)`."""
    inner = False
    while type(walked) is f.Call and walked.args and last_name(walked.func) in _WALKS:
        walked, inner = walked.args[0], True
    return place_name(walked), inner


def _begins(frame: Frame, scope: Scope, place: str, depth: int, line: int) -> str:
    """The collective with which ranks begin what a place holds at some line of the body that is walked, or ""."""
    for one in given(frame, scope, place) if depth else ():
        at = position(one.value)
        if frame.function is not None and one.scope.body is frame.function.body and at is not None and at[0] >= line:
            continue  # it is prepared later on
        op = _prepared_by(frame, one.value)
        if op and type(one.value) is f.Call:
            item = one.item or 0
            what = one.value.args[item] if item < len(one.value.args) else None
            starred = any(type(a) is f.Starred for a in one.value.args)
            if what is not None and not starred and _shuffles(frame, one.scope, what):
                return op
        for other in _walks(frame, one.value):
            if (op := _begins(frame, one.scope, other, depth - 1, line)) != "":
                return op
    return ""


def _walked_by(frame: Frame, scope: Scope, place: str) -> list[str]:
    """The places that what a place holds walks: `self.batches = cycle(self.loader)`."""
    return [other for one in given(frame, scope, place) for other in _walks(frame, one.value)]


def _walks(frame: Frame, value: f.Expr) -> Iterator[str]:
    if type(value) is not f.Call or not value.args or not place_name(value.args[0]):
        return
    known = frame.analysis.names.resolve(value.func, frame.module)
    if last_name(value.func) in _WALKS or (isinstance(known, FunctionInfo) and _is_walk(known)):
        yield place_name(value.args[0])


def _is_walk(function: FunctionInfo) -> bool:
    """Whether a generator yields what its first parameter yields."""
    if not function.is_generator or not function.parameters:
        return False
    name = function.parameters[0].name
    return any(type(s) is f.For and name in variables(s.iterable) for s in statements(function.body))


def _prepared_by(frame: Frame, value: f.Expr) -> str:
    model = frame.analysis.model_of(frame.module, value) if type(value) is f.Call else None
    return model.begins if model is not None else ""


def _shuffles(frame: Frame, scope: Scope, what: f.Expr) -> bool:
    """Whether something is made as a loader that shuffles, for all that is seen of it."""
    if type(what) is f.Call:
        told = dict(what.keywords)
        named = _LOADER.search(last_name(what.func)) is not None
        return named and told.get("shuffle") == f.Const("True") and not {"sampler", "batch_sampler"} & set(told)
    place = place_name(what)
    found = given(frame, scope, place) if place else ()
    made = [one.value for one in found if not _prepared_by(frame, one.value)]
    calls = [value for value in made if type(value) is f.Call]
    return bool(calls) and len(calls) == len(made) and all(_shuffles(frame, scope, call) for call in calls)
