"""Parameters that are handed what ranks have gathered: `self.resample(samples, gather(rewards))`.

The name of a parameter (`rewards`, `labels`) says that it is local data for want of anything better. Where all calls in
the project hand it what a gather has handed back, here or in a method that they call, the ranks have met over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import last_name, variables
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.options import calls_of, passed
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.sources.admissions import SAME, reduction
from ferrule_lint.semantics.sources.reducing import called_in, is_spoken_of

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: calls of one function that are looked at; with more nothing is said
MOST_CALLS = 8
#: names, helpers and parameters behind each other
_DEEPEST = 8


def is_handed_gathered(analysis: Analysis, function: FunctionInfo, name: str) -> bool:
    """Whether every call of a function that can be seen hands a parameter what a gather has handed back."""
    return function.name != "forward" and _is_handed(analysis, function, name, _DEEPEST)


def _is_handed(analysis: Analysis, function: FunctionInfo, name: str, depth: int) -> bool:
    key = (function.id, name, depth)
    return bool(analysis.handed_gathered.find(key, lambda: _look(analysis, function, name, depth), False))


def _look(analysis: Analysis, function: FunctionInfo, name: str, depth: int) -> bool:
    if depth <= 0:
        return False
    sites = []
    for module, owner, call in calls_of(analysis, function):
        # a method of the same name that the instance has by another class is not meant
        helper = called_in(analysis, owner, call) if owner is not None else None
        if not is_test(module.path) and helper in (None, function):
            sites.append((module, owner, call))
    if not 0 < len(sites) <= MOST_CALLS:
        return False
    for module, owner, call in sites:
        value = passed(call, function, function.owner is not None, name)
        if owner is None or value is None or not _is_gathered(analysis, owner, module, value, call.pos[0], depth - 1):
            return False
    return True


def _is_gathered(
    analysis: Analysis, owner: FunctionInfo, module: ModuleInfo, value: f.Expr, before: int, depth: int
) -> bool:
    """Whether an expression at a place of a function is what a gather or reduction has handed back."""
    if depth < 0:
        return False
    if type(value) is f.Name:
        return _is_bound_to_it(analysis, owner, module, value.id, before, depth)
    if type(value) is not f.Call:
        return False
    model = reduction(analysis, module, value)
    if model is not None:
        return model.returns == "uniform"
    if last_name(value.func) in SAME:
        on_torch = type(value.func) is f.Attr and type(value.func.base) is f.Name and value.func.base.id == "torch"
        given = value.func.base if type(value.func) is f.Attr and not on_torch else next(iter(value.args), None)
        return given is not None and _is_gathered(analysis, owner, module, given, before, depth)
    helper = called_in(analysis, owner, value)
    return helper is not None and _hands_it_back(analysis, helper, depth - 1)


def _is_bound_to_it(
    analysis: Analysis, owner: FunctionInfo, module: ModuleInfo, name: str, before: int, depth: int
) -> bool:
    """Whether the last assignment above a place binds a name to it, or the function is handed it."""
    above = [s for s in statements(owner.body) if name in _bound(s) and s.line < before]
    if above:
        last = max(above, key=lambda s: s.line)
        return (
            type(last) is f.Assign
            and last.value is not None
            and any(type(t) is f.Name and t.id == name for t in last.targets)
            and _is_gathered(analysis, owner, module, last.value, last.line, depth)
        )
    return any(p.name == name for p in owner.parameters) and _is_handed(analysis, owner, name, depth)


def _bound(s: f.Stmt) -> set[str]:
    """The names that a statement binds by itself."""
    targets: tuple[f.Expr, ...] = ()
    if type(s) is f.Assign:
        targets = s.targets
    elif type(s) is f.For or type(s) is f.AugAssign:
        targets = (s.target,)
    return variables(targets)


def _hands_it_back(analysis: Analysis, helper: FunctionInfo, depth: int) -> bool:
    """Whether some return of a function hands back what it has gathered: with one rank there is nothing to gather."""
    if not is_spoken_of(helper.module):
        return False
    returned = [(s.value, s.line) for s in statements(helper.body) if type(s) is f.Return and s.value is not None]
    return any(_is_gathered(analysis, helper, helper.module, value, line, depth) for value, line in returned)
