"""Does a module have parameters? One that keeps buffers only has nothing to shard, so its forward gathers nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: of the standard library and of torch itself: what makes no module
_PLAIN = frozenset(
    "int float str bool len min max sum abs tuple list dict set range round getattr isinstance super sorted zip".split()
)
#: annotations of what is no module
_NUMBERS = frozenset({"int", "float", "str", "bool", "Tensor", "device", "dtype"})


def has_none(analysis: Analysis, info: ClassInfo) -> bool:
    """Whether everything that the class and its bases in the project keep is plain, a tensor or a buffer.

    Other bases than `torch.nn.Module` may have parameters, and so may whatever an unknown call makes and what is stored
    as it was passed; but for what may be left out, and is neither called, nor gone through, nor has a method called. A
    function of the project has none.
    """
    if any(base != "torch.nn.Module" for base in analysis.names.external_bases(info)):
        return False
    methods = [m for c in analysis.names.mro(info) for m in c.methods.values()]
    called = {_of_self(call.func) for m in methods for call in m.calls}
    used = called | {_of_self(call.func.base) for m in methods for call in m.calls if type(call.func) is f.Attr}
    walked = {_of_self(n.iterable) for m in methods for n in walk(m.body) if type(n) in (f.For, f.Generator)}  # type: ignore[attr-defined]
    for c in analysis.names.mro(info):
        for method in c.methods.values():
            plain = {p.name for p in method.parameters if _holds_number(p)}
            left_out = {p.name for p in method.parameters if p.default == f.Const("None")}
            optional = left_out - _stored_as(method, used | walked)
            for node in walk(method.body):
                if (
                    type(node) is f.Assign
                    and node.value is not None
                    and not _is_function(analysis, method, node.value)
                    and not _is_plain(analysis, c, node, called, plain | optional)
                ):
                    return False
                if type(node) is f.Call and last_name(node.func) in ("register_parameter", "add_module", "Parameter"):
                    return False
    return True


def _is_function(analysis: Analysis, method: FunctionInfo, value: f.Expr) -> bool:
    """Whether what a method stores is a function of the project by its name."""
    if type(value) is not f.Name or any(p.name == value.id for p in method.parameters):
        return False
    return isinstance(analysis.names.resolve(value, method.module), FunctionInfo)


def _stored_as(method: FunctionInfo, attributes: set[str]) -> set[str]:
    """The names that a method stores in some attributes of the instance: what is done there shows a module."""
    return {
        s.value.id
        for s in statements(method.body)
        if type(s) is f.Assign and type(s.value) is f.Name and not attributes.isdisjoint(map(_of_self, s.targets))
    }


def _holds_number(parameter: f.Parameter) -> bool:
    """Whether a parameter is no module, by its annotation or by what stands in for it (`size=16`)."""
    default = parameter.default
    written = type(default) is f.Const and default.text not in ("None", "...")
    return written or any(_is_number(n) for n in walk(parameter.annotation))


def _is_number(annotation: object) -> bool:
    if type(annotation) is f.Name or type(annotation) is f.Attr:
        return last_name(annotation) in _NUMBERS
    return False


def _of_self(expr: f.Expr) -> str:
    """The attribute of the instance that an expression is."""
    if type(expr) is f.Attr and type(expr.base) is f.Name and expr.base.id == "self":
        return expr.attr
    return ""


def _is_plain(analysis: Analysis, owner: ClassInfo, s: f.Assign, called: set[str], plain: set[str]) -> bool:
    """Whether an assignment stores no module: one to an attribute of something that is computed from plain values."""
    stored = [attribute for t in s.targets if (attribute := _of_self(t))]
    if not stored:
        return True
    if type(s.value) is f.Name:
        return s.value.id in plain and called.isdisjoint(stored)
    if type(s.value) is not f.Call:
        return called.isdisjoint(stored) and not any(type(n) is f.Call for n in walk(s.value))
    return all(_makes_no_module(analysis, owner, n) for n in walk(s.value) if type(n) is f.Call)


def _makes_no_module(analysis: Analysis, owner: ClassInfo, call: f.Call) -> bool:
    if type(call.func) is f.Name and call.func.id in _PLAIN:
        return True
    entity = analysis.names.resolve(call.func, owner.module)
    if not isinstance(entity, External) or not entity.dotted.startswith(("torch.", "math.", "logging.")):
        return False
    model = analysis.models.class_(entity.dotted)
    return not entity.dotted.startswith("torch.nn.") or (model is not None and model.role == "leaf")
