"""Groups that a function could be given, and that nobody in the project does: `def gather(data, dst=0, group=None)`.

Then it works on all ranks, where a place in the group and a rank of the job are the same number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.project.entities import FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_NONE = f.Const("None")


def is_left_out(frame: Frame, group: f.Expr) -> bool:
    """Whether a group is a parameter with None for a default that no call leaves anything else in, and there are calls.
    A function that nobody calls is one for other projects."""
    function = frame.function
    if function is None or function.owner is not None or function.parent is not None or type(group) is not f.Name:
        return False
    places = [i for i, p in enumerate(function.parameters) if p.name == group.id and p.default == _NONE]
    if not places or function.parameters[places[0]].kind not in ("normal", "keyword"):
        return False
    called = False
    for call in _calls(frame, function):
        if _may_give(call, function, group.id, places[0]):
            return False
        called = True
    return called


def _calls(frame: Frame, function: FunctionInfo) -> list[f.Call]:
    """The calls of a function in the project, those included that may be of it."""
    names = frame.analysis.names
    found: list[f.Call] = []
    for module in names.mentioning(function.name):
        for owner, calls in module.calls():
            if owner is function:
                continue
            for call in calls:
                if _last(call.func) == function.name and names.resolve(call.func, module) in (function, None):
                    found.append(call)
    return found


def _last(func: f.Expr) -> str:
    if type(func) is f.Name:
        return func.id
    return func.attr if type(func) is f.Attr else ""


def _may_give(call: f.Call, function: FunctionInfo, name: str, place: int) -> bool:
    """Whether a call gives a parameter something else than None, or may in `*args` or `**kwargs`."""
    if any(type(a) is f.Starred for a in call.args):
        return True
    by_place = call.args[place] if function.parameters[place].kind == "normal" and place < len(call.args) else None
    given = [value for key, value in call.keywords if key in (name, None)]
    return any(value != _NONE for value in (*given, *([by_place] if by_place is not None else [])))
