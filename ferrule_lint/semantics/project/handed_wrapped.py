"""Modules that all callers have sharded when they hand them on: `model = FSDP(net)`, `train(model, loader)`.

A function that is handed a module cannot tell what it is in. Where every call in the project hands it one that has
been put into FSDP, or sharded in place, be it under a setting (`if cfg.fsdp: model = FSDP(model)`), it is in that. So
is what is handed on. What a module in DDP issues hangs on the module, too, and is told at the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, way_to
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.project import begun, strategies
from ferrule_lint.semantics.project.built_around import MOVES
from ferrule_lint.semantics.project.entities import External, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: functions that hand a module on, one to the other
_DEEPEST = 2


def wrapper_of(analysis: Analysis, function: FunctionInfo, name: str) -> str:
    """The dotted name of what each caller has put the module in that it hands to a parameter, which the function runs
    or hands on, if that shards it; empty where one hands over anything else."""
    if name not in function.traits.run or name in function.traits.set_again:
        return ""
    return analysis.handed_wrapped.find(
        f"{function.id} {name}", lambda: _of_callers(analysis, function, name, _DEEPEST), ""
    )


def _of_callers(analysis: Analysis, function: FunctionInfo, name: str, depth: int) -> str:
    found: set[str] = set()
    for site in begun.sites(analysis, function, name) or ():
        found.add(_at_call(analysis, *site, depth))
    return next(iter(found)) if len(found) == 1 else ""


def _at_call(
    analysis: Analysis, module: ModuleInfo, owner: FunctionInfo, call: f.Call, given: f.Expr, depth: int
) -> str:
    if type(given) is f.Attr and given.attr == "module":
        given = given.base  # what is in parts is so without what has put it there
    if type(given) is not f.Name:
        return _made_by(analysis, module, given)
    way = _Way(analysis, module, given.id)
    for block, number in way_to(owner.body, call.pos):
        way.go_on(block[:number])
    if not way.bound and not way.wrapper and depth and any(p.name == given.id for p in owner.parameters):
        return _of_callers(analysis, owner, given.id, depth - 1)
    return way.wrapper


class _Way:
    """What a name is in, statement by statement on the way to a call. What is sharded in place is so wherever it is
    handed on."""

    def __init__(self, analysis: Analysis, module: ModuleInfo, name: str) -> None:
        self._analysis, self._module, self._name = analysis, module, name
        self.wrapper, self.bound = "", False

    def go_on(self, block: f.Body) -> None:
        for s in block:
            mine = [node for node in nodes((s,), f.Name) if node.id == self._name]
            if mine:
                self._pass_by(s, mine)

    def _pass_by(self, s: f.Stmt, mine: list[f.Name]) -> None:
        if type(s) is f.Assign and s.value is not None and any(target in mine for target in s.targets):
            self.wrapper, self.bound = _made_by(self._analysis, self._module, s.value, self._name, self.wrapper), True
        elif type(s) is f.Assign and any(_is_first_of(target, self._name) for target in s.targets):
            # `model, optimizer = fabric.setup(model, optimizer)`
            self.wrapper, self.bound = _set_up_by(self._analysis, self._module, s.value), True
        elif type(s) is f.ExprStmt and type(s.value) is f.Call:
            self.wrapper = _made_by(self._analysis, self._module, s.value, self._name) or self.wrapper
        elif type(s) is f.If:
            self._pass_arms(s)
        elif type(s) is f.With and not any(target in mine for _, target in s.items):
            self.go_on(s.body)  # `with torch.device("meta"): model = make()`
        elif any(target in mine for target in begun.targets_in(s)):
            self.wrapper, self.bound = "", True  # among others, in some round, or where something may fail

    def _pass_arms(self, s: f.If) -> None:
        """By one setting or another: whoever has chosen to shard it has it sharded."""
        before = self.wrapper, self.bound
        after: list[tuple[str, bool]] = []
        for arm in (s.body, s.orelse):
            self.wrapper, self.bound = before
            self.go_on(arm)
            if not arm or type(arm[-1]) not in (f.Return, f.Raise):
                after.append((self.wrapper, self.bound))
        self.wrapper = next((wrapper for wrapper, _ in after if wrapper), "")
        self.bound = any(bound for _, bound in after)


def _is_first_of(target: f.Expr, name: str) -> bool:
    return type(target) is f.Sequence and place_name(target.elements[0] if target.elements else None) == name


def _set_up_by(analysis: Analysis, module: ModuleInfo, expr: f.Expr | None) -> str:
    """What a call puts a module in that wraps it as the strategies do which the file makes, or as the project's engines
    are configured to: `engine, *_ = deepspeed.initialize(model=model, config=config)`."""
    entity = analysis.names.resolve(expr.func, module) if type(expr) is f.Call else None
    model = analysis.models.call(entity.dotted) if isinstance(entity, External) else None
    if model is not None and model.results[:1] == ("module",) and model.makes in analysis.models.engines:
        return model.makes if analysis.sharding.by_engines else ""
    return strategies.IN_PARTS if type(expr) is f.Call and strategies.sets_up_in_parts(analysis, module, expr) else ""


def _made_by(analysis: Analysis, module: ModuleInfo, expr: f.Expr, name: str = "", before: str = "") -> str:
    """What an expression puts a module in; `before`: what a name is in, which is moved (`model = model.cuda()`)."""
    if type(expr) is not f.Call:
        return ""
    if type(expr.func) is f.Attr and expr.func.attr in MOVES:
        base = expr.func.base
        return before if type(base) is f.Name and base.id == name else _made_by(analysis, module, base, name, before)
    entity = analysis.names.resolve(expr.func, module)
    if not isinstance(entity, External):
        return _set_up_by(analysis, module, expr)
    role = analysis.models.class_(entity.dotted)
    if role is not None and role.role == "sharded":
        return analysis.models.canonical(entity.dotted)
    model = analysis.models.call(entity.dotted)
    if model is None or not model.wraps or not model.makes or not expr.args:
        return ""
    made = analysis.models.class_(model.makes)
    whole = not name or (type(expr.args[0]) is f.Name and expr.args[0].id == name)
    return model.makes if made is not None and made.role == "sharded" and whole else ""
