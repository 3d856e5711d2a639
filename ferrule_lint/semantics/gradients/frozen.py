"""Parts of a module that its constructor freezes: `for p in self.vision.parameters(): p.requires_grad = False`.

DDP reduces what has gradients when it wraps, so that nobody waits for those of a frozen part: that its output reaches
the loss on some ranks only is nobody's concern. What is frozen under a setting may be trained.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project.entities import FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ClassInfo

_FALSE = f.Const("False")
_PARAMETERS = frozenset({"parameters", "named_parameters"})
_SWITCH = "requires_grad"


def is_frozen(analysis: Analysis, info: ClassInfo, part: str) -> bool:
    """Whether instances are made with no parameter of a part (an attribute) that has gradients, and nothing in the
    class, above or below it puts something else in its place or turns gradients on again."""
    place = f"self.{part}"
    classes = analysis.names.mro(info)
    made = [c.methods["__init__"] for c in classes if "__init__" in c.methods]
    if analysis.hierarchy.has_many_heirs(info.id) or not any(_freezes(analysis, m, place, 1) for m in made):
        return False
    methods = [m for c in (*classes, *analysis.hierarchy.below(info)) for m in c.methods.values()]
    return sum(_sets(m.body, place) for m in methods) == 1 and not any(_thaws(m.body, place) for m in methods)


def is_frozen_here(analysis: Analysis, function: FunctionInfo | None, place: f.Expr | None) -> bool:
    """Whether a function turns off the gradients of all parameters of what one of its places holds, in any case."""
    name = place_name(place) if place is not None else ""
    return bool(name) and function is not None and _freezes(analysis, function, name, 1)


def _freezes(analysis: Analysis, function: FunctionInfo, place: str, depth: int) -> bool:
    """Whether a function turns off the gradients of all parameters of what a place in it holds, in any case; `depth`:
    in calls that it is handed to, or that are of the same instance."""
    for s in function.body:
        if type(s) is f.For and _iterates_over(s.iterable) == place:
            if any(_switched(inner) is False for inner in s.body):
                return True
        elif type(s) is f.Assign and s.value is not None and place in map(place_name, s.targets):
            if _chain(s.value):
                return True
        elif type(s) is f.ExprStmt and type(s.value) is f.Call:
            if _switched(s) is False and place_name(_receiver(s.value)) == place:
                return True
            if depth and _hands_on(analysis, function, s.value, place, depth - 1):
                return True
    return False


def _hands_on(analysis: Analysis, function: FunctionInfo, call: f.Call, place: str, depth: int) -> bool:
    """Whether a call freezes a place that it is given, or that is of the same instance: `freeze(self.vision)`,
    `self.freeze_vision()`."""
    if type(call.func) is f.Attr and place_name(call.func.base) == "self":
        owner = function.module.classes.get(function.owner or "")
        method = owner.methods.get(call.func.attr) if owner is not None else None
        return method is not None and _freezes(analysis, method, place, depth)
    given = [i for i, argument in enumerate(call.args) if place_name(argument) == place]
    callee = analysis.names.resolve(call.func, function.module) if given else None
    if not isinstance(callee, FunctionInfo) or callee.owner is not None or given[0] >= len(callee.parameters):
        return False
    return _freezes(analysis, callee, callee.parameters[given[0]].name, depth)


def _sets(body: f.Body, place: str) -> int:
    """How often something is put in a place."""
    return sum(type(n) is f.Assign and place in map(place_name, n.targets) for n in walk(body))


def _thaws(body: f.Body, place: str) -> bool:
    """Whether gradients are turned on, or set to what nobody knows, of a place or of anything but another attribute."""
    loops = [n for n in walk(body) if type(n) is f.For and _iterates_over(n.iterable)]
    for node in walk(body):
        if not isinstance(node, f.Assign | f.ExprStmt) or _switched(node) is not True:
            continue
        around = [_iterates_over(loop.iterable) for loop in loops if node in loop.body]
        on = around[0] if around else place_name(_on(node))
        if not on.startswith("self.") or on == place or on.startswith(place + "."):
            return True
    return False


def _switched(node: object) -> bool | None:
    """What a statement does to gradients of something: on (True), off (False), or nothing of the kind."""
    if type(node) is f.Assign:
        if not any(type(t) is f.Attr and t.attr == _SWITCH for t in node.targets):
            return None
        return node.value != _FALSE
    call = node.value if type(node) is f.ExprStmt else None
    if type(call) is not f.Call or last_name(call.func) != _SWITCH + "_":
        return None
    given = [*call.args, *(value for _, value in call.keywords)]
    return given != [_FALSE]


def _on(node: f.Assign | f.ExprStmt) -> f.Expr | None:
    """What a statement turns gradients on or off of."""
    if type(node) is f.Assign:
        return next(t.base for t in node.targets if type(t) is f.Attr and t.attr == _SWITCH)
    return _receiver(node.value)


def _receiver(call: f.Expr | None) -> f.Expr | None:
    return call.func.base if type(call) is f.Call and type(call.func) is f.Attr else None


def _iterates_over(iterable: f.Expr) -> str:
    """The place whose parameters a loop goes over: `self.vision.named_parameters()`."""
    receiver = _receiver(iterable)
    return place_name(receiver) if receiver is not None and last_name(_called(iterable)) in _PARAMETERS else ""


def _called(expr: f.Expr) -> f.Expr | None:
    return expr.func if type(expr) is f.Call else None


def _chain(value: f.Expr) -> bool:
    """Whether something is made without gradients: `Tower().eval().requires_grad_(False)`."""
    return any(last_name(call.func) == _SWITCH + "_" and call.args == (_FALSE,) for call in _calls(value))


def _calls(value: f.Expr) -> Iterator[f.Call]:
    """The calls that follow each other on what one expression makes."""
    while type(value) is f.Call and type(value.func) is f.Attr:
        yield value
        value = value.func.base
