"""Attributes that stand for workers in other processes.

A program that drives groups of workers annotates the group with the class of a worker, and calls its methods on all of
them at once. What gives it away is that it waits for the answer (`self.actor.load().wait()`) of a method that returns
nothing one could wait for, or that the class says how calls of its methods are dispatched, and that nobody here makes
an instance. Such calls run elsewhere, on all workers, whatever this one process decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
    from ferrule_lint.semantics.project.names import Names

#: what such an attribute is an instance of, whatever it is called after
WORKERS = Value(external="<workers in other processes>")
#: what futures offer
#: https://github.com/volcengine/verl/blob/main/verl/single_controller/base/decorator.py
_DISPATCH = "dispatch_mode"
_WAITS = frozenset({"wait", "result"})


def stands_for_workers(names: Names, info: ClassInfo, types: Iterable[ClassInfo]) -> bool:
    """Whether a class holds handles where it seems to hold instances of `types`: some method of it waits for the
    answer of a method of theirs that gives none, or methods of theirs are dispatched to many."""
    types = tuple(types)
    if info not in types and all(any(map(_is_dispatched, t.methods.values())) for t in types):
        made = {t.name for t in types}
        return not any(last_name(call.func) in made for m in info.methods.values() for call in m.calls)
    for c in names.mro(info):
        if not c.module.mentions_any(_WAITS):
            continue  # this is asked of every attribute: no need to walk the methods
        for method in c.methods.values():
            if not method.parameters:
                continue
            for called in _waited_for(method, f"{method.parameters[0].name}."):
                known = [m for t in types if (m := names.method(t, called)) is not None]
                if known and all(_gives_nothing(m) for m in known):
                    return True
    return False


def _is_dispatched(method: FunctionInfo) -> bool:
    """Whether a decorator says how a call of a method is handed out to workers."""
    return any(type(d) is f.Call and any(name == _DISPATCH for name, _ in d.keywords) for d in method.decorators)


def _waited_for(method: FunctionInfo, attributes: str) -> Iterable[str]:
    for waiting in method.calls:
        if waiting.args or type(waiting.func) is not f.Attr or waiting.func.attr not in _WAITS:
            continue
        call = waiting.func.base
        if type(call) is f.Call and type(call.func) is f.Attr and place_name(call.func.base).startswith(attributes):
            yield call.func.attr


def _gives_nothing(method: FunctionInfo) -> bool:
    """Whether a method returns nothing, or something plain that it writes out."""
    if method.is_async or method.is_generator:
        return False
    returned = (node.value for node in walk(method.body) if type(node) is f.Return)
    return all(v is None or type(v) in (f.Const, f.Sequence, f.DictDisplay) for v in returned)
