"""Functions that only pass on: `def reduce(*args, **kwargs): return dist.all_reduce(*args, **kwargs)`.

Such a function hands all its arguments on as they come, once, whatever else it does (it takes the time, it writes a
log), and hands back what comes of it. A call of it is a call of that. A decorator whose wrapper does so with the
function it is given leaves the function what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.calls.arguments import Arguments
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.targets import ExternalTarget, FunctionTarget
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.domain.trace import Exit

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: methods that are called for another reason than that somebody says their name
_CALLED_BY_OTHERS = frozenset({"forward", "__call__", "__init__", "__new__"})


def handed_on(function: FunctionInfo) -> f.Call | None:
    """The call to which a function hands all its arguments as they come, and whose result it returns."""
    kinds = [p.kind for p in function.parameters]
    if "*" not in kinds or function.is_generator or function.is_async:
        return None
    found = list(_calls(function, function.body))
    return found[0] if len(found) == 1 and _mentions(function) == 1 else None


def _calls(function: FunctionInfo, body: f.Body) -> Iterator[f.Call]:
    """The calls in a body that get all its arguments, and whose result is returned at the end of it."""
    named: dict[str, f.Call] = {}
    for s in body:
        if type(s) is f.With or (type(s) is f.Try and not s.handlers and not s.orelse):
            yield from _calls(function, s.body)
        elif type(s) is f.Assign and len(s.targets) == 1 and type(s.targets[0]) is f.Name:
            if type(s.value) is f.Call and _gets_all(function, s.value):
                named[s.targets[0].id] = s.value
        elif type(s) is f.Return and type(s.value) is f.Call and _gets_all(function, s.value):
            yield s.value
        elif type(s) is f.Return and type(s.value) is f.Name and s.value.id in named:
            yield named[s.value.id]


def _gets_all(function: FunctionInfo, call: f.Call) -> bool:
    own = function.owner is not None and not function.is_static
    parameters = function.parameters[1:] if own else function.parameters
    positional = [p.name for p in parameters if p.kind == "normal"]
    gathered = [p.name for p in parameters if p.kind == "*"]
    named = [p.name for p in parameters if p.kind == "**"]
    if len(positional) + len(gathered) + len(named) < len(parameters) or not place_name(call.func):
        return False
    passed = [x.value if type(x) is f.Starred else x for x in call.args]
    starred = [type(x) is f.Starred for x in call.args]
    if [place_name(x) for x in passed] != [*positional, *gathered] or starred != [False] * len(positional) + [True]:
        return False
    return [(k, place_name(v)) for k, v in call.keywords] == [(None, name) for name in named]


def _mentions(function: FunctionInfo) -> int:
    """How often something that gathers arguments is passed on at all."""
    gathered = {p.name for p in function.parameters if p.kind == "*"}
    return sum(type(n) is f.Starred and place_name(n.value) in gathered for n in walk(function.body))


def call(frame: Frame, target: FunctionTarget, arguments: Arguments) -> tuple[Value, Arguments] | None:
    """What a function that only passes on calls, and with what; None if it does anything else."""
    function = target.function
    if frame.light or function.name in _CALLED_BY_OTHERS or (function.decorators and not target.raw):
        return None
    on = handed_on(function)
    if on is None or not _does_nothing_else(frame, target):
        return None
    called = _evaluated(frame, target, on.func)
    if type(called.target) not in (FunctionTarget, ExternalTarget):
        return None
    if type(called.target) is FunctionTarget and handed_on(called.target.function) is not None:
        return None  # and so on
    return called, Arguments(arguments.expr._replace(func=on.func), arguments.positional, arguments.keywords)


def _does_nothing_else(frame: Frame, target: FunctionTarget) -> bool:
    function = target.function
    if all(type(s) in (f.Return, f.Assign) for s in function.body) and len(function.body) <= 2:
        return True
    owner = function.module.classes.get(function.owner) if function.owner else None
    known = frame.analysis.summaries.of(function, (), owner, target.closure, frame.depth + 1)
    return known is not None and len([t for t in known[0].trace if type(t) is not Exit]) <= 1


def _evaluated(frame: Frame, target: FunctionTarget, func: f.Expr) -> Value:
    from ferrule_lint.semantics.walk.frame import Frame
    from ferrule_lint.semantics.walk.holders import enter

    function = target.function
    inner = Frame(frame.analysis, function.module, function, depth=frame.depth + 1, closure=target.closure)
    owner = function.module.classes.get(function.owner) if function.owner else None
    enter(inner, function, owner, {}, target.receiver if owner is not None and not function.is_static else None)
    return inner.eval(func)
