"""Hooks and callbacks that some ranks register alone: `if rank == 0: trainer.add_callback(Evaluate())`.

Whoever runs them stands elsewhere, mostly in a library, and runs what there is. So under a test of the rank what such
an object or function issues is taken to be issued where it is registered; anywhere else nothing is said of it.
https://github.com/facebookresearch/detectron2/blob/main/detectron2/engine/train_loop.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import callbacks
from ferrule_lint.semantics.calls.arguments import Arguments
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, position
from ferrule_lint.semantics.project.entities import by_id

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_REGISTERS = re.compile(r"(add|register|attach)_(\w+_)?(hook|callback|handler|listener)s?")
#: what puts something into a list, and what such a list is called
_PUTS = frozenset({"append", "insert", "extend"})
_LIST = re.compile(r"(\w+_)?(hooks|callbacks|cbs)", re.IGNORECASE)
#: methods that are run where something has happened or is about to
_RUN = re.compile(r"(on|before|after)_\w+|__call__")
_MOST = 12


def at_call(frame: Frame, arguments: Arguments) -> None:
    """Run what a call registers, if only some ranks come to it."""
    if not frame.conditions:
        return  # most calls stand under no test: nothing more is asked of them
    func = arguments.expr.func
    name = last_name(func)
    if name in _PUTS:
        if type(func) is not f.Attr or _LIST.fullmatch(last_name(func.base)) is None:
            return
    elif _REGISTERS.fullmatch(name) is None:
        return
    if _is_for_some(frame):
        for value in arguments.values:
            _run(frame, value, arguments.expr)


def at_adding(frame: Frame, s: f.AugAssign, value: Value) -> None:
    """The same of `callbacks += [Evaluate()]`."""
    if type(s.value) is f.Sequence and _LIST.fullmatch(last_name(s.target)) is not None and _is_for_some(frame):
        _run(frame, value, f.Call(s.target, (), (), position(s.value) or (s.line, 1, s.line, 1)))


def _is_for_some(frame: Frame) -> bool:
    here = None if frame.light else frame.path_divergence()
    return here is not None and here.kind == "rank" and here.confidence is not Confidence.LOW


def _run(frame: Frame, value: Value, call: f.Call) -> None:
    """Run a hook, or each of several."""
    e = call._replace(args=(), keywords=())
    for each in value.items or (value,):
        if callbacks.is_callback(each):
            callbacks.run(frame, each, Arguments(e, (), {}))
        for info in by_id(each.types)[:1]:
            named = (name for c in frame.analysis.names.mro(info) for name in c.methods if _RUN.fullmatch(name))
            for name in list(dict.fromkeys(named))[:_MOST]:
                method = frame.analysis.names.method(info, name)
                if method is not None:
                    frame.analysis.call_function(frame, method, each, (), {}, e.pos, call=e)
