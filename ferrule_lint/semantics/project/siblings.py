"""Files of which a program takes the one or the other: trainers that stand side by side, and keep what they wrap.

A registry holds all trainers of a library. One of them puts its model into DDP, `self.model = DDP(self.model)`; that
says nothing of the model that another one makes for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.domain.text import called_name
from ferrule_lint.semantics.project import wrapping_calls, wrapping_names
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis


def are(analysis: Analysis, one: ModuleInfo, wrapping: ModuleInfo) -> bool:
    """Whether classes of one file have a base in common with those of another, or are registered by the same decorator,
    and what the other wraps stays with who wraps it."""
    if set(_kinds(analysis, one)).isdisjoint(_kinds(analysis, wrapping)):
        return False
    analysis.names.reads.ask("renamed", "")
    with analysis.names.reads.apart():
        names = wrapping_names.names(analysis)
    return all(_stays(call.owner, call.call) for call in wrapping_calls.in_file(wrapping, names))


def _kinds(analysis: Analysis, module: ModuleInfo) -> Iterator[str]:
    """The bases of the classes of a file that lie in other files of the project, and what registers them."""
    for info in module.classes.values():
        if analysis.is_module(info):
            continue
        yield from (base.id for base in analysis.names.mro(info)[1:] if base.module is not module)
        yield from (f"@{name}" for name in _registering(analysis, info))


def _registering(analysis: Analysis, info: ClassInfo) -> Iterator[str]:
    for decorator in info.decorators:
        made_by = decorator.func if type(decorator) is f.Call else decorator
        entity = analysis.names.resolve(made_by, info.module)
        if isinstance(entity, FunctionInfo) and entity.module is not info.module:
            yield entity.id


def _stays(owner: FunctionInfo | None, call: f.Call) -> bool:
    """Whether what a call wraps is kept where it is: an attribute of the instance, set anew, or a local name that the
    function does not hand back."""
    if owner is None:
        return False
    own = owner.parameters[0].name if owner.owner and owner.parameters else ""
    for s in statements(owner.body):
        if type(s) is not f.Assign or s.value is None or call not in nodes(s.value, f.Call):
            continue
        if all(_is_own(target, own) for target in s.targets):
            given = [*call.args[:1], *(value for name, value in call.keywords if name == "module")]
            return bool(given) and _is_own(given[0], own)
        names = {target.id for target in s.targets if type(target) is f.Name}
        return len(names) == len(s.targets) and not any(map(names.__contains__, _handed_on(owner.body)))
    return False


def _is_own(expr: f.Expr, own: str) -> bool:
    return type(expr) is f.Attr and type(expr.base) is f.Name and expr.base.id == own != ""


def _handed_on(body: f.Body) -> Iterator[str]:
    """The names that a function hands back, keeps, or hands to a class."""
    for s in statements(body):
        if type(s) is f.Return or (type(s) is f.Assign and any(type(target) is not f.Name for target in s.targets)):
            yield from (name.id for name in nodes(s.value, f.Name))
        for call in nodes(s, f.Call):
            if called_name(call)[:1].isupper():
                yield from (a.id for a in (*call.args, *(v for _, v in call.keywords)) if type(a) is f.Name)
