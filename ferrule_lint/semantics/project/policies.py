"""Classes that a policy names whose modules are sharded one by one: `FSDP(model, auto_wrap_policy=policy)`.

    policy = partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})

So modules of these classes are units, whatever the model is. Followed are the variables of the function, lambdas, and
functions of the project that make a policy or are one; what stands behind a `not` is meant to be left out.
https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.FullyShardedDataParallel
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements, walk
from ferrule_lint.semantics.domain.text import argument_of
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo, by_id

if TYPE_CHECKING:
    from ferrule_lint.models.types import Argument
    from ferrule_lint.semantics.analysis import Analysis

#: variables and functions that are followed from the call, one behind another
_DEEPEST = 3


def units(
    analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, call: f.Call, argument: Argument
) -> list[ClassInfo]:
    """The project's modules that the policy given for an argument of a call names."""
    given = argument_of(call, argument.name, argument.position)
    if given is None:
        return []
    return by_id({i for i in _named(analysis, module, owner, given, _DEEPEST) if analysis.is_module(i)})


def _named(
    analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr, depth: int
) -> Iterator[ClassInfo]:
    if depth < 0:
        return
    left_out = {id(inner) for negated in nodes(expr, f.Not) for inner in walk(negated)}
    for node in walk(expr):
        if id(node) in left_out:
            continue
        if type(node) is f.Lambda:
            yield from _in_function(analysis, module.functions.get(node.qualname), depth - 1)
        if type(node) is not f.Name and type(node) is not f.Attr:
            continue
        if type(node) is f.Name and owner is not None:
            inner = module.functions.get(f"{owner.qualname}.{node.id}")
            yield from _in_function(analysis, inner, depth - 1)
            for made in analysis.bodies.assigned(owner.body, node.id):
                yield from _named(analysis, module, owner, made, depth - 1)
        entity = analysis.names.resolve(node, module)
        if isinstance(entity, ClassInfo):
            yield entity
        elif isinstance(entity, FunctionInfo):
            yield from _in_function(analysis, entity, depth - 1)


def _in_function(analysis: Analysis, function: FunctionInfo | None, depth: int) -> Iterator[ClassInfo]:
    """What a function names that is a policy, or what it makes one of and hands back."""
    for s in statements(function.body) if function is not None else ():
        if type(s) is f.Return and s.value is not None and function is not None:
            yield from _named(analysis, function.module, function, s.value, depth)
