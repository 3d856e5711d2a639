"""Entries that a call puts into a dict which it is passed, where only some ranks make the call.

`update(name, loss, metrics)` with `metrics[key] = value` in it, under a test of local data: what the caller has handed
over has an entry more on the ranks that come here, as if it stood here. So has what gets an entry under a key that is
the rank's own data. What the function tells by itself, of tests of its own, is in what it leaves in its parameters: see
`given`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name, render
from ferrule_lint.semantics.project.options import passed
from ferrule_lint.semantics.walk import handed_back, stored

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame


def after_call(frame: Frame, function: FunctionInfo, call: f.Call | None, receiver: bool) -> None:
    """At a call: what it enters into the dicts that are local here, or passed on. A key that is written out is one of
    the dict from here on; another one tells where some ranks alone make the call."""
    if call is None or frame.light:
        return
    guard = frame.path_divergence()
    told = guard is not None and guard.confidence > Confidence.LOW and not guard.assumed
    for target, index in entries(frame, function, call, receiver):
        of_some = told and not is_made_elsewhere(frame, call, index)
        # `put(sums, name, loss)` for the names in its batch
        if type(index) is f.Const or of_some or frame.ask(index).data is not None:
            with frame.recording():
                stored.store_item(frame, f.Subscript(target, index, call.pos), Value(there=True))


def entries(
    frame: Frame, function: FunctionInfo, call: f.Call, receiver: bool, parameter: str = ""
) -> Iterator[tuple[f.Name, f.Expr]]:
    """The dicts that a call is passed and enters something into, and under which keys; `parameter`: into this alone."""
    for into, key in _entered(frame.analysis, function):
        target, index = (passed(call, function, receiver, name) for name in (into, key))
        if type(target) is f.Name and index is not None and parameter in ("", into) and place_name(target):
            yield target, index


def is_made_elsewhere(frame: Frame, call: f.Call, index: f.Expr) -> bool:
    """Whether the function makes such a call at another place with the same key: all ranks may come to one of them."""
    name, key = last_name(call.func), render(index)
    others = (
        (c for c in frame.function.calls if c.pos != call.pos and last_name(c.func) == name) if frame.function else ()
    )
    return any(render(value) == key for other in others for value in (*other.args, *(v for _, v in other.keywords)))


def _entered(analysis: Analysis, function: FunctionInfo, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The parameters into which a function puts an entry under a key that it is given, itself or by another function:
    (dict, key)."""
    if len(function.parameters) < 2:
        return
    own, calls, fixed = function.traits.entered
    yield from own
    for call in calls if depth < handed_back.DEEPEST else ():
        called, receiver = handed_back.called_by_text(analysis, function, call.func)
        if called is None or called is function.origin:
            continue
        for pair in _entered(analysis, called, depth + 1):
            into, key = (passed(call, called, receiver, name) for name in pair)
            if type(into) is f.Name and type(key) is f.Name and {into.id, key.id} <= fixed:
                yield into.id, key.id
