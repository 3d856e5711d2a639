"""The group that a collective is written to run in: the default one, what an attribute or a name of the program holds.

Axes tell whether ranks can meet in a group; two groups of the same ranks have the same axes, and are two communicators
all the same. Whether two collectives run in one communicator is asked of what is written: the same attribute of one
class, the same name of one scope, or no group at all, of functions of torch.distributed alone.
"""

from __future__ import annotations

from typing import TypeAlias

from ferrule_lint.checks.places import calls_at
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.calls.arguments import Arguments
from ferrule_lint.semantics.control.started import AWAITED, IN_EXECUTOR, MAPS, SUBMITS
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.domain.trace import Event
from ferrule_lint.semantics.groups import never_given
from ferrule_lint.semantics.project.entities import External, FunctionInfo, ModuleInfo

#: what a group is written as, and the class or scope that this belongs to
Written: TypeAlias = tuple[str, str]

_DEFAULT: Written = ("the default group", "")
_LIBRARY = "torch.distributed."
_DEFAULTS = frozenset({"torch.distributed.group.WORLD", "torch.distributed.GroupMember.WORLD"})


def written_group(analysis: Analysis, event: Event) -> Written | None:
    """The group of an event that a call of torch.distributed issues, or None where that cannot be told."""
    module = analysis.names.modules.get(event.path)
    if module is None or event.p2p:
        return None
    for function, call in calls_at(analysis, event.path, *event.pos[:2]):
        if call.pos == event.pos:
            return _of_call(analysis, module, function, handed_on(call))
    return None


def handed_on(call: f.Call) -> f.Call:
    """The call that a thread makes which is handed a function and its arguments: `pool.submit(all_reduce, x)`."""
    name = last_name(call.func)
    before = 1 if name == IN_EXECUTOR else 0
    if (name not in (SUBMITS, MAPS) and name not in AWAITED) or len(call.args) <= before:
        return call
    return call._replace(func=call.args[before], args=call.args[before + 1 :])


def _of_call(analysis: Analysis, module: ModuleInfo, function: FunctionInfo | None, call: f.Call) -> Written | None:
    called = analysis.names.resolve(call.func, module)
    if type(called) is not External or not analysis.models.canonical(called.dotted).startswith(_LIBRARY):
        return None
    model = analysis.models.call(called.dotted)
    if model is None or model.group is None or any(type(a) is f.Starred for a in call.args):
        return None
    arguments = Arguments(call, (), {})
    expr = arguments.expression(model.group.name, model.group.position)
    if expr is None:
        return None if arguments.is_open else _DEFAULT
    if type(expr) is f.Const and expr.text == "None":
        return _DEFAULT
    name = place_name(expr)
    if not name:
        return None
    resolved = analysis.names.resolve(expr, module)
    if type(resolved) is External and analysis.models.canonical(resolved.dotted) in _DEFAULTS:
        return _DEFAULT
    root, _, attribute = name.partition(".")
    if attribute:
        owner = function.owner if function is not None else None
        is_own = root == "self" and owner and "." not in attribute
        if is_own and never_given.is_never_set(analysis, attribute):
            return _DEFAULT
        return (name, f"{module.path}:{owner}") if is_own else None
    return name, _scope(module, function, name)


def _scope(module: ModuleInfo, function: FunctionInfo | None, name: str) -> str:
    """The function whose variable a name is, or the file."""
    while function is not None:
        if any(p.name == name for p in function.parameters) or _binds(function.body, name):
            return function.id
        function = module.functions.get(function.parent) if function.parent is not None else None
    return module.path


def _binds(body: f.Body, name: str) -> bool:
    targets = (t for s in nodes(body, f.Assign) for t in s.targets)
    return any(place_name(t) == name for t in targets) or any(w.name == name for w in nodes(body, f.Walrus))
