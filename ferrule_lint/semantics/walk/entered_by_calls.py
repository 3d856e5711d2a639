"""Entries that a call puts into a dict which it is passed, where only some ranks make the call.

`update(name, loss, metrics)` with `metrics[key] = value` in it, under a test of local data: what the caller has handed
over has an entry more on the ranks that come here, as if it stood here. What the function tells by itself, of tests of
its own, is in what it leaves in its parameters: see `given`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.project.options import passed
from ferrule_lint.semantics.walk import stored

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame


def after_call(frame: Frame, function: FunctionInfo, call: f.Call | None, receiver: bool) -> None:
    """At a call that some ranks alone make: what it enters into the dicts that are local here, or passed on."""
    if call is None or frame.light or not frame.conditions:
        return
    guard = frame.path_divergence()
    if guard is None or guard.confidence <= Confidence.LOW or guard.assumed:
        return
    for parameter, key in _entered(function):
        target, index = (passed(call, function, receiver, name) for name in (parameter, key))
        if type(target) is f.Name and index is not None and place_name(target):
            with frame.recording():
                stored.store_item(frame, f.Subscript(target, index, call.pos), Value(there=True))


def _entered(function: FunctionInfo) -> Iterator[tuple[str, str]]:
    """The parameters into which a function puts an entry under a key that it is given: (dict, key)."""
    names = {p.name for p in function.parameters if p.kind == "normal"}
    found = dict.fromkeys(
        (target.base.id, target.index.id)
        for s in statements(function.body)
        if type(s) is f.Assign
        for target in s.targets
        if type(target) is f.Subscript and type(target.base) is f.Name and type(target.index) is f.Name
    )
    for base, key in found:
        if {base, key} <= names and base != key and not _is_assigned(function, {base, key}):
            yield base, key


def _is_assigned(function: FunctionInfo, names: set[str]) -> bool:
    """Whether one of some parameters is made to stand for something else."""
    return any(
        type(target) is f.Name and target.id in names
        for s in statements(function.body)
        for target in (s.targets if type(s) is f.Assign else (s.target,) if type(s) is f.For else ())
    )
