"""What a player asks of the project: which calls are transfers, which numbers are ranks, what attributes hold."""

from __future__ import annotations

import re
from collections.abc import Container
from functools import partial

from ferrule_lint.checks.p2p import held
from ferrule_lint.checks.worlds.steps import Callee, Scope
from ferrule_lint.facts import types as f
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import last_name, place_name, render
from ferrule_lint.semantics.domain.trace import every_event
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.walk.frame import Frame

_NUMBER = re.compile(r"^(?:get_)?_?(?P<of>\w*?)_?(?P<what>rank|world_size|size)$")
#: groups by the names of which ranks are counted in the job
_JOB = ("", "global", "world", "dist")
#: ranks that are counted in something that is no group of ranks that talk to each other
_NO_GROUP = re.compile(r"local|node|lora|low|batch|hidden|block|chunk|page|vocab|head|window|kernel|matrix|svd")

#: the test that holds where another does not
_OPPOSITE = {">": "<=", "<": ">=", ">=": "<", "<=": ">", "!=": "==", "==": "!=", "is": "is not", "is not": "is"}


def scope_of(frame: Frame, local: Container[str]) -> Scope:
    """`local`: the tests of the rank's own data in the function, as they are written."""
    return _scope(frame.analysis, frame.module, frame.function, frame.self_class, local)


def _scope(
    analysis: Analysis,
    module: ModuleInfo,
    function: FunctionInfo | None,
    owner: ClassInfo | None,
    local: Container[str] = (),
) -> Scope:
    siblings: f.Body = ()
    if owner is not None:
        siblings = tuple(s for method in owner.methods.values() for s in method.body)
    parameters = frozenset(p.name for p in function.parameters) if function is not None else frozenset()
    return Scope(
        module.path,
        partial(_transfer, analysis, module),
        partial(_number, analysis, module, parameters),
        partial(_held, siblings),
        partial(_local, local),
        partial(_function, analysis, module, owner),
        partial(_plain, analysis, module, owner),
    )


def _transfer(analysis: Analysis, module: ModuleInfo, call: f.Call) -> tuple[str, f.Expr | None, f.Expr | None] | None:
    entity = analysis.names.resolve(call.func, module)
    model = analysis.models.call(entity.dotted) if isinstance(entity, External) else None
    if model is None or model.p2p not in ("send", "recv") or model.root is None:
        return None
    given = {k: v for k, v in call.keywords if k is not None}
    peer = given.get(model.root.name, given.get(f"group_{model.root.name}"))
    if peer is None and model.root.position is not None and len(call.args) > model.root.position:
        peer = call.args[model.root.position]
    return model.p2p, peer, given.get("tag", call.args[3] if len(call.args) > 3 else None)


def _number(analysis: Analysis, module: ModuleInfo, parameters: frozenset[str], e: f.Expr) -> tuple[str, str] | None:
    """The rank, or how many ranks there are, and of which group."""
    if type(e) is f.Call:
        found = _NUMBER.match(last_name(e.func))
        if found is None or not last_name(e.func).startswith("get_") or _NO_GROUP.search(found["of"]):
            return None
        group = next((v for k, v in e.keywords if k == "group"), e.args[0] if e.args else None)
        text = "" if group is None or group == f.Const("None") else render(group)
        return _what(found), text or _of(found)
    place = place_name(e)
    found = _NUMBER.match(place.removeprefix("self."))
    if found is None or _NO_GROUP.search(found["of"]) or "." in place.removeprefix("self."):
        return None
    if type(e) is f.Name and (place not in parameters or (place == "size" and "rank" not in parameters)):
        return None
    return _what(found), _of(found)


def _what(found: re.Match[str]) -> str:
    return "rank" if found["what"] == "rank" else "size"


def _of(found: re.Match[str]) -> str:
    return "" if found["of"] in _JOB else found["of"]


def _local(tests: Container[str], e: f.Expr) -> str:
    text = render(e)
    opposite = _OPPOSITE.get(e.ops[0]) if type(e) is f.Compare and len(e.ops) == 1 else None
    if text not in tests and opposite is not None:
        text = render(e._replace(ops=(opposite,)))
    return text if text in tests else ""


def _held(siblings: f.Body, e: f.Expr) -> f.Expr | None:
    values = held(siblings, e) if type(e) is f.Attr else []
    return values[0] if len(values) == 1 else None


def _function(analysis: Analysis, module: ModuleInfo, owner: ClassInfo | None, call: f.Call) -> Callee | None:
    """A function of the project with transfers in it."""
    entity = _called(analysis, module, owner, call)
    known = analysis.frame_of(entity) if entity is not None else None
    if entity is None or known is None or not any(event.p2p for event in every_event(known[0].trace)):
        return None
    return _callee(analysis, entity, owner)


def _plain(analysis: Analysis, module: ModuleInfo, owner: ClassInfo | None, call: f.Call) -> Callee | None:
    entity = _called(analysis, module, owner, call)
    if entity is None or [type(s) for s in entity.body] != [f.Return]:
        return None
    return _callee(analysis, entity, owner)


def _called(analysis: Analysis, module: ModuleInfo, owner: ClassInfo | None, call: f.Call) -> FunctionInfo | None:
    if type(call.func) is f.Lambda:
        return module.functions.get(call.func.qualname)
    entity = analysis.names.resolve(call.func, module)
    if entity is None and owner is not None and type(call.func) is f.Attr and place_name(call.func.base) == "self":
        entity = analysis.names.method(owner, call.func.attr)
    return entity if isinstance(entity, FunctionInfo) else None


def _callee(analysis: Analysis, function: FunctionInfo, owner: ClassInfo | None) -> Callee:
    scope = _scope(analysis, function.module, function, owner if function.owner else None)
    return function.body, function.parameters, scope
