"""Hooks and callbacks that some ranks register alone: `if rank == 0: trainer.add_callback(Evaluate())`.

Whoever runs them stands elsewhere, mostly in a library, and runs what there is. So under a test of the rank what such
an object or function issues is taken to be issued where it is registered, or where a function is called that registers
it on what it is given; anywhere else nothing is said of it.
https://github.com/facebookresearch/detectron2/blob/main/detectron2/engine/train_loop.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import callbacks
from ferrule_lint.semantics.calls.arguments import Arguments
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import last_name, place_name, position, variables
from ferrule_lint.semantics.project.begun import targets_of
from ferrule_lint.semantics.project.entities import FunctionInfo, by_id

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


def in_callee(frame: Frame, function: FunctionInfo, receiver: Value | None, call: f.Call | None) -> None:
    """The same of what a function registers on something that it is given (`stats.attach(model)`), called for some."""
    if call is None or not frame.conditions or not _is_for_some(frame):
        return
    given = {p.name for p in function.parameters}
    for registering in function.calls:
        func = registering.func
        if type(func) is not f.Attr or _REGISTERS.fullmatch(func.attr) is None:
            continue
        if _is_of(given, function, place_name(func.base).partition(".")[0]):
            for expr in (*registering.args, *(v for _, v in registering.keywords)):
                _run(frame, _named_in(frame, function, receiver, expr), call)


def _is_of(given: set[str], function: FunctionInfo, name: str) -> bool:
    """Whether a name is one of the parameters, or walks over what one holds: `for m in model.modules()`."""
    loops = (s for s in statements(function.body) if type(s) is f.For and name in variables(s.target))
    return name in given or any(not given.isdisjoint(variables(s.iterable)) for s in loops)


def _named_in(frame: Frame, function: FunctionInfo, receiver: Value | None, expr: f.Expr) -> Value:
    """A function of the project that another one names, or a method of its instance, or what such a one makes
    (`register_forward_hook(self.hook_for(name))`); UNKNOWN for anything else."""
    if type(expr) is f.Call and last_name(expr.func) == "partial" and expr.args:
        expr = expr.args[0]
    elif type(expr) is f.Call:
        maker = _named_in(frame, function, receiver, expr.func).target
        if type(maker) is not FunctionTarget:
            return UNKNOWN
        with frame.aside():
            return frame.analysis.call_function(frame, maker.function, maker.receiver, (), {}, expr.pos)
    names = frame.analysis.names
    own = function.parameters[0].name if function.owner and function.parameters and not function.is_static else ""
    if type(expr) is f.Attr and own and type(expr.base) is f.Name and expr.base.id == own:
        for info in by_id(receiver.types) if receiver is not None else ():
            method = names.method(info, expr.attr)
            return UNKNOWN if method is None else Value(target=FunctionTarget(method, receiver))
        return UNKNOWN
    root = place_name(expr).partition(".")[0]
    bound = {p.name for p in function.parameters}.union(
        *(variables(t) for s in statements(function.body) for t in targets_of(s))
    )
    if not root or root in bound:
        return UNKNOWN
    if (inner := function.module.functions.get(f"{function.qualname}.{root}")) is not None:
        return Value(target=FunctionTarget(inner)) if type(expr) is f.Name else UNKNOWN
    entity = names.resolve(expr, function.module)
    return Value(target=FunctionTarget(entity)) if isinstance(entity, FunctionInfo) else UNKNOWN


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
