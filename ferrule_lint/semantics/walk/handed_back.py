"""A dict or object that a call is handed, fills and hands back: `info = forward(model, batch, info)`, `self.control =
self.callback.on_step_end(state, self.control)`.

The name stands for the same thing as before. What is known of its entries and attributes one by one stays, with those
that the call has put in; what has come out of the call would be all of them at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.assigned import targets
from ferrule_lint.semantics.domain.targets import FunctionTarget, MethodTarget
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.project.options import passed

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.walk.frame import Frame

#: how many calls below the one that is looked at are followed
DEEPEST = 3


def is_same(frame: Frame, place: str, value: f.Expr) -> bool:
    """Whether what a place is assigned is the dict or object that it has stood for already."""
    if type(value) is not f.Call or not place:
        return False
    if not any(place_name(arg) == place for arg in (*value.args, *(v for _, v in value.keywords))):
        return False
    found = _called(frame, value)
    if found is None or found[0].decorators or found[0].is_generator or found[0].is_async:
        return False
    function, receiver = found
    own = [p.name for p in function.parameters if place_name(passed(value, function, receiver, p.name)) == place]
    return any(_fills_and_returns(frame.analysis, function, parameter) for parameter in own)


def _called(frame: Frame, call: f.Call) -> tuple[FunctionInfo, bool] | None:
    """What a call calls, and whether as a method; None if that is not one function of the project."""
    target = frame.ask(call.func).target
    if type(target) is FunctionTarget:
        return target.function, target.receiver is not None
    if type(target) is not MethodTarget or len(target.receiver.types) != 1:
        return None
    (info,) = target.receiver.types
    method = frame.analysis.names.method(info, target.name)
    return (method, True) if method is not None and not method.is_static else None


def _fills_and_returns(analysis: Analysis, function: FunctionInfo, parameter: str, depth: int = 0) -> bool:
    """Whether a function puts something under a key or into an attribute of a parameter, or has another one do so, and
    hands back nothing else: `metrics = self.update(key, value, metrics)` leaves it what it was."""
    body = function.body
    last = body[-1] if body else None
    if type(last) is not f.Return or function.is_generator or function.is_async:
        return False
    named, name = _named_anew(body, parameter)
    fills = False
    for s in statements(body[named:]):
        if type(s) is f.Return and not _is(s.value, name):
            if not _is_by_call(analysis, function, s.value, name, depth):
                return False
            fills = True
        for target in _targets(s):
            if _binds(target, name):
                if type(s) is not f.Assign or not (
                    _is_by_call(analysis, function, s.value, name, depth) or _came_back(body, s.value, name)
                ):
                    return False
                fills = True
            fills = fills or _is_entry(target, name)
    return fills


def _named_anew(body: f.Body, parameter: str) -> tuple[int, str]:
    """From which statement on a parameter goes by another name, and by which: `metrics = previous`."""
    for place, s in enumerate(body):
        if type(s) is f.Assign and _is(s.value, parameter) and type(s.targets[0]) is f.Name:
            return place + 1, s.targets[0].id
    return 0, parameter


def _is_by_call(analysis: Analysis, function: FunctionInfo, value: f.Expr | None, name: str, depth: int) -> bool:
    """Whether an expression is a call, of a function or a method of the same class, that does the same with a name."""
    if depth >= DEEPEST or type(value) is not f.Call:
        return False
    called, receiver = called_by_text(analysis, function, value.func)
    if called is None or called is function.origin or called.decorator_names:
        return False
    own = [p.name for p in called.parameters if _is(passed(value, called, receiver, p.name), name)]
    return any(_fills_and_returns(analysis, called, parameter, depth + 1) for parameter in own)


def _came_back(body: f.Body, value: f.Expr | None, name: str) -> bool:
    """Whether a name stands for what calls that were given the thing have handed back, by the habit of callbacks:
    `result = callback(event, control)`, `if result is not None: control = result`."""
    if type(value) is not f.Name:
        return False
    made = [s.value for s in statements(body) if type(s) is f.Assign and any(_is(t, value.id) for t in s.targets)]
    return bool(made) and all(type(m) is f.Call and any(_is(a, name) for a in m.args) for m in made)


def called_by_text(analysis: Analysis, function: FunctionInfo, func: f.Expr) -> tuple[FunctionInfo | None, bool]:
    """What a call calls, as far as its text tells, and whether as a method."""
    own = function.parameters[0].name if function.owner and function.parameters else ""
    owner = function.module.classes.get(function.owner or "")
    if type(func) is f.Attr and owner is not None and _is(func.base, own):
        return analysis.names.method(owner, func.attr), True
    entity = analysis.names.resolve(func, function.module)
    return (entity, False) if type(entity) is FunctionInfo else (None, False)


def _is_entry(target: f.Expr, name: str) -> bool:
    """`name["a"]`, `name[key]`, `name.a`, and `name["a"]["b"]`."""
    while type(target) is f.Subscript or type(target) is f.Attr:
        target = target.base
        if _is(target, name):
            return True
    return False


def _targets(s: f.Stmt) -> tuple[f.Expr, ...]:
    if type(s) is f.With:
        return tuple([target for _, target in s.items if target is not None])
    return targets(s)


def _binds(target: f.Expr, name: str) -> bool:
    if type(target) is f.Starred:
        return _binds(target.value, name)
    return _is(target, name) or (type(target) is f.Sequence and any(_binds(x, name) for x in target.elements))


def _is(expr: f.Expr | None, name: str) -> bool:
    return type(expr) is f.Name and expr.id == name
