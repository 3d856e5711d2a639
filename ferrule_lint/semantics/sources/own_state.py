"""Parameters that a module gives itself out of what it keeps: `self.replace(samples, mask=self.counts < 2)`.

The name of a parameter (`mask`, `batch_mask`) says that it is local data for want of anything better. A method that
its own class alone calls is given what these calls say. Where that is worked out of buffers, settings and numbers and
of nothing else, it is the module's state, which DDP sends from the first rank to the others, and which a program that
updates it by itself reduces before. Whether it does so is not looked at: nothing says that ranks differ.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.project.options import passed

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: names that an expression may be followed over
_DEEPEST = 3
#: what draws numbers, each rank its own
_DRAWS = re.compile(r"rand|bernoulli|multinomial|normal|uniform|exponential")


def is_own_state(analysis: Analysis, function: FunctionInfo, name: str) -> bool:
    """Whether all calls of a method that give it a parameter are the class' own (of one above or below it as well), and
    give what the module keeps in its buffers and settings, or what is worked out of these."""
    info = function.module.classes.get(function.owner or "")
    if info is None or function.is_static or function.is_class_method or analysis.hierarchy.has_many_heirs(info.id):
        return False
    classes = [*analysis.names.mro(info), *analysis.hierarchy.below(info)]
    methods = [m for c in classes for m in c.methods.values()]
    calls = [(m, c) for m in methods for c in m.calls if _is_of_self(c.func) and last_name(c.func) == function.name]
    kept = _buffers(methods) if calls else frozenset()
    if not kept:
        return False
    told = False
    for method, call in calls:
        value = passed(call, function, True, name)
        if value is None or not _is_of_buffers(method, value, kept, _DEEPEST):
            return False
        told = told or any(type(node) is f.Attr and node.attr in kept for node in _followed(method, value))
    return told and not _is_given_elsewhere(analysis, function, name)


def _buffers(methods: list[FunctionInfo]) -> frozenset[str]:
    """The names of buffers that some methods register."""
    calls = [call for m in methods for call in m.calls]
    names = [c.args[0].text for c in calls if _registers(c) and c.args and type(c.args[0]) is f.Const]
    return frozenset(name[1:-1] for name in names if name[:1] in "'\"")


def _registers(call: f.Call) -> bool:
    return last_name(call.func) == "register_buffer" and _is_of_self(call.func)


def _is_of_self(expr: f.Expr) -> bool:
    return type(expr) is f.Attr and type(expr.base) is f.Name and expr.base.id == "self"


def _is_given_elsewhere(analysis: Analysis, function: FunctionInfo, name: str) -> bool:
    """Whether the project passes the parameter by its name to a method that is called so on another object."""
    return any(
        last_name(call.func) == function.name
        and not _is_of_self(call.func)
        and any(k == name for k, _ in call.keywords)
        for module in analysis.names.mentioning(function.name)
        for _, calls in module.calls()
        for call in calls
    )


def _is_of_buffers(method: FunctionInfo, value: f.Expr, kept: frozenset[str], depth: int) -> bool:
    """Whether an expression holds buffers, settings of the instance and numbers, and what methods of these say."""
    if type(value) is f.Const:
        return True
    if type(value) is f.Attr:
        return _is_of_self(value) and (value.attr in kept or _is_set_once(method, value.attr))
    if type(value) is f.Name:
        sources = _assigned(method, value.id)
        return depth > 0 and len(sources) == 1 and _is_of_buffers(method, sources[0], kept, depth - 1)
    if type(value) is f.Call:
        if type(value.func) is not f.Attr or value.keywords or _DRAWS.match(value.func.attr):
            return False
        on_torch = type(value.func.base) is f.Name and value.func.base.id == "torch"
        parts = value.args if on_torch else (value.func.base, *value.args)
        return bool(parts) and all(_is_of_buffers(method, part, kept, depth) for part in parts)
    if type(value) is f.Compare:
        return all(_is_of_buffers(method, part, kept, depth) for part in (value.left, *value.rights))
    if type(value) is f.Not:
        return _is_of_buffers(method, value.operand, kept, depth)
    if type(value) is f.BoolOp:
        return all(_is_of_buffers(method, part, kept, depth) for part in value.values)
    return type(value) is f.Op and all(_is_of_buffers(method, part, kept, depth) for part in value.operands)


def _is_set_once(method: FunctionInfo, attribute: str) -> bool:
    """Whether an attribute gets what it holds where the instance is made, and nowhere else: a setting."""
    info = method.module.classes.get(method.owner or "")
    setters = {
        m.name
        for m in (info.methods.values() if info is not None else ())
        for node in walk(m.body)
        if type(node) is f.Assign and any(_is_of_self(t) and last_name(t) == attribute for t in node.targets)
    }
    return setters == {"__init__"}


def _assigned(method: FunctionInfo, name: str) -> list[f.Expr]:
    """What a method assigns to a name; nothing where it is given it, or binds it in another way as well."""
    if any(p.name == name for p in method.parameters):
        return []
    found: list[f.Expr] = []
    for node in walk(method.body):
        if type(node) is f.Assign and any(type(t) is f.Name and t.id == name for t in node.targets):
            if node.value is None:
                return []
            found.append(node.value)
    return found


def _followed(method: FunctionInfo, value: f.Expr) -> list[object]:
    """The parts of an expression, and of what its names are assigned."""
    found = list(walk(value))
    for _ in range(_DEEPEST):
        names = [node.id for node in found if type(node) is f.Name]
        more = [part for name in names for source in _assigned(method, name) for part in walk(source)]
        if all(part in found for part in more):
            break
        found += more
    return found
