"""Objects that are built around others: `Runner(Evaluator(rows))`, `Thinker(AutoModel.from_pretrained(name))`.

What a constructor's parameter holds is the callers' to say (of which classes that is, `kept_arguments` tells). Where
one of them passes a module, the attribute that keeps it is one: a part of the module around it, and sharded with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.text import position
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.options import calls_of, given_by_callers, passed

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: what makes a library's model from its name or its settings
FACTORIES = ("from_pretrained", "from_config", "_from_config")
#: what a module hands back itself from
MOVES = frozenset("to cuda cpu eval train half float double bfloat16 requires_grad_ type".split())
#: functions that hand back the module that they are passed, with something around it
_AROUND = frozenset({"get_peft_model", "prepare_model_for_kbit_training", "compile"})
#: names behind each other that are looked up for what was passed
DEEPEST = 3


def sources(module: ModuleInfo, owner: FunctionInfo | None, name: str) -> list[f.Expr]:
    """What is assigned to a name in a function, or at the top level of a file."""
    if owner is None:
        return module.assigned(name)
    return [source for source, _ in assignments(owner.body, name)]


def wrapper_given(analysis: Analysis, function: FunctionInfo, name: str) -> str:
    """The dotted name of what each caller has put the module in that it passes for a constructor's parameter (DDP,
    FSDP); empty where one passes anything else."""
    question = f"{function.id} {name}"
    return analysis.given_wrapper.find(question, lambda: _wrapper_given(analysis, function, name), "")


def _wrapper_given(analysis: Analysis, function: FunctionInfo, name: str) -> str:
    callers = given_by_callers(analysis, function, name)
    found = {_wrapper_of(analysis, module, owner, given) for module, owner, given in callers}
    return next(iter(found)) if len(found) == 1 else ""


def _wrapper_of(analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr) -> str:
    """What an expression puts a module in, or what a name has been set to in any case."""
    if type(expr) is f.Name and owner is not None:
        set_to = sorted(assignments(owner.body, expr.id), key=lambda one: position(one[0]) or (0, 0, 0, 0))
        if not set_to or set_to[-1][1]:
            return ""
        expr = set_to[-1][0]
    entity = analysis.names.resolve(expr.func, module) if type(expr) is f.Call else None
    if not isinstance(entity, External):
        return ""
    role = analysis.models.class_(entity.dotted)
    return analysis.models.canonical(entity.dotted) if role is not None and role.role in ("sharded", "ddp") else ""


def is_given_module(analysis: Analysis, function: FunctionInfo, name: str) -> bool:
    """Whether some call in the project passes a module for this parameter of a module's constructor."""
    return analysis.built_around.find(f"{function.id} {name}", lambda: _is_given(analysis, function, name), False)


def _is_given(analysis: Analysis, function: FunctionInfo, name: str) -> bool:
    return any(
        _makes_module(analysis, module, owner, given)
        for module, owner, call in calls_of(analysis, function)
        if (given := passed(call, function, True, name)) is not None
    )


def _makes_module(
    analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr, depth: int = 0
) -> bool:
    """Whether an expression is surely a module with parameters, made here or before and kept in a name."""
    if type(expr) is f.Name and depth < DEEPEST:
        begun = sources(module, owner, expr.id)
        return any(_makes_module(analysis, module, owner, source, depth + 1) for source in begun if source != expr)
    if type(expr) is not f.Call:
        return False
    func = expr.func
    if type(func) is f.Attr and func.attr in MOVES:
        return _makes_module(analysis, module, owner, func.base, depth)
    entity = analysis.names.resolve(func, module)
    if isinstance(entity, ClassInfo):
        return analysis.is_module(entity) and not analysis.sharding.is_bare(entity)
    if type(func) is f.Attr and func.attr in FACTORIES:
        entity = analysis.names.resolve(func.base, module)
        if isinstance(entity, ClassInfo):
            return analysis.is_module(entity)
    elif isinstance(entity, External) and entity.dotted.rpartition(".")[2] in _AROUND and expr.args:
        return _makes_module(analysis, module, owner, expr.args[0], depth)
    return isinstance(entity, External) and makes_module(analysis, entity.dotted)


def makes_module(analysis: Analysis, dotted: str) -> bool:
    """Whether something of a library, when it is called, makes a module with parameters."""
    if analysis.is_module_class(dotted):
        role = analysis.models.class_(dotted)
        return role is None or role.role != "leaf"
    model = analysis.models.call(dotted)
    made = "" if model is None or model.returns == "argument" else model.makes
    return bool(made) and analysis.is_module_class(made)
