"""Generators that keep the ranks in step: what ends one of them ends those of all ranks, in the same round.

`for batch in source` behind an agreement: the generator notes that its source has ended, asks all ranks whether one of
theirs has, by a collective, and goes on only where none has. An exception by which it says so comes to all ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.data import iteration
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def brings(frame: Frame, call: f.Call, error: ClassInfo) -> bool:
    """Whether an exception of the project's own comes to a call by such a generator alone, which it is given."""
    analysis = frame.analysis
    raisers = [
        analysis.names.modules[path].functions[name] for path, name in analysis.exceptions.handled(error.name)[1]
    ]
    if not raisers or not all(one.is_generator for one in raisers):
        return False
    return any(_keeps_step(frame, given) for given in (*call.args, *(value for _, value in call.keywords)))


def _keeps_step(frame: Frame, given: f.Expr) -> bool:
    made = iteration.definition(frame, given)
    function = frame.analysis.names.resolve(made.func, frame.module) if type(made) is f.Call else None
    if not isinstance(function, FunctionInfo) or not function.is_generator:
        return False
    handlers = [handler for node in walk(function.body) if type(node) is f.Try for handler in node.handlers]
    if not handlers or any(type(node) is f.Raise for handler in handlers for node in walk(handler.body)):
        return False
    known = frame.analysis.frame_of(function)
    if known is None or any(escape.divergence is not None for escape in known[1].escapes.values()):
        return False
    return any(not event.hidden for event in known[0].events)
