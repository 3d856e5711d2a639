"""Groups of all ranks of the job, as a project makes them: a place in such a group is a rank of the job.

A program can be written for several groups and have one: `new_group(range(i * size, (i + 1) * size))`, where the size
is a parameter that is the number of all ranks for want of another. An assertion says so (`assert size is None, "not
implemented"`), or nobody in the project gives it. A function is handed such a group where all its calls hand it one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.arithmetic import remainder
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.groups.parts_of_job import dimensions_of
from ferrule_lint.semantics.project import options
from ferrule_lint.semantics.project.entities import External, FunctionInfo, GlobalName, ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.walk.frame import Frame

_DEEPEST = 6
_NONE = f.Const("None")
_LISTS = ("list", "tuple", "sorted")


class Scope(NamedTuple):
    """Where an expression stands."""

    analysis: Analysis
    module: ModuleInfo
    function: FunctionInfo | None

    def assigned(self, name: str) -> list[f.Expr]:
        """What the function sets a name to, but for None."""
        body = self.function.body if self.function is not None else ()
        return [value for value, _ in assignments(body, name) if value != _NONE]

    def has_parameter(self, name: str) -> bool:
        return self.function is not None and any(p.name == name for p in self.function.parameters)


def are_in(frame: Frame, group: f.Expr) -> bool:
    """Whether all ranks of the job are in a group, wherever the project makes it."""
    return _is_of_all(Scope(frame.analysis, frame.module, frame.function), group, 0)


def _is_of_all(scope: Scope, expr: f.Expr, depth: int) -> bool:
    if depth > _DEEPEST:
        return False
    if type(expr) is f.Name:
        made = scope.assigned(expr.id)
        if scope.has_parameter(expr.id) and not _is_left_at_none(scope, expr.id):
            return not made and _is_handed_all(scope, expr.id, depth)
        if made:
            return all(_is_of_all(scope, value, depth + 1) for value in made)
        variable = scope.analysis.names.resolve(expr, scope.module)
        return type(variable) is GlobalName and _holds_all(scope, variable, depth)
    if type(expr) is f.IfExp:
        return all(_is_of_all(scope, arm, depth + 1) for arm in (expr.body, expr.orelse))
    if type(expr) is f.Attr:
        named = scope.analysis.names.resolve(expr, scope.module)
        return type(named) is External and named.dotted in _WORLD
    if type(expr) is not f.Call:
        return False
    if type(expr.func) is f.Attr and expr.func.attr == "get_group":
        return _has_one_dimension(scope, expr.func.base)
    made_of = scope.analysis.names.resolve(expr.func, scope.module)
    if type(made_of) is FunctionInfo and not (expr.args or expr.keywords):
        there = Scope(scope.analysis, made_of.module, made_of)
        handed = [s.value for s in statements(made_of.body) if type(s) is f.Return and s.value is not None]
        return bool(handed) and all(_is_of_all(there, value, depth + 1) for value in handed)
    if type(made_of) is not External or made_of.dotted != "torch.distributed.new_group":
        return False
    ranks = next((value for name, value in expr.keywords if name == "ranks"), expr.args[0] if expr.args else _NONE)
    return ranks == _NONE or _lists_all(scope, ranks, depth)


#: the group of the job, as torch calls it
_WORLD = frozenset(f"torch.distributed.{name}" for name in ("group.WORLD", "GroupMember.WORLD"))


def _has_one_dimension(scope: Scope, mesh: f.Expr) -> bool:
    """Whether a function makes a mesh with one dimension, in whose only group are all ranks that ask for it."""
    mesh = mesh.base if type(mesh) is f.Subscript else mesh
    made = scope.assigned(mesh.id) if type(mesh) is f.Name else []
    return bool(made) and all(type(value) is f.Call and dimensions_of(value) == 1 for value in made)


def _is_handed_all(scope: Scope, name: str, depth: int) -> bool:
    """Whether all calls of a function outside of tests, and there are some, hand it a group of all ranks."""
    function, analysis = scope.function, scope.analysis
    if function is None or function.parent is not None or function.owner is not None:
        return False
    handed = [
        (Scope(analysis, module, caller), options.passed(call, function, False, name))
        for module, caller, call in options.calls_outside_tests(analysis, function)
    ]
    return bool(handed) and all(value is not None and _is_of_all(there, value, depth + 1) for there, value in handed)


def _holds_all(scope: Scope, variable: GlobalName, depth: int) -> bool:
    """The same of a module's variable, which functions set."""
    module = variable.module
    at_top = Scope(scope.analysis, module, None)
    made = [(at_top, value) for value in module.assigned(variable.name) if value != _NONE]
    for function in module.rebinders(variable.name):
        inside = Scope(scope.analysis, module, function)
        made += [(inside, value) for value in inside.assigned(variable.name)]
    return bool(made) and all(_is_of_all(there, value, depth + 1) for there, value in made)


def _lists_all(scope: Scope, expr: f.Expr, depth: int) -> bool:
    """Whether a list of ranks has as many as the job, one after the other."""
    if depth > _DEEPEST:
        return False
    if type(expr) is f.Name:
        made = scope.assigned(expr.id)
        return bool(made) and all(_lists_all(scope, value, depth + 1) for value in made)
    if type(expr) is not f.Call or expr.keywords:
        return False
    name = last_name(expr.func)
    if name in _LISTS and len(expr.args) == 1:
        return _lists_all(scope, expr.args[0], depth + 1)
    if name != "range" or len(expr.args) not in (1, 2):
        return False
    if len(expr.args) == 1:
        return _counts_all(scope, expr.args[0], depth)
    first, end = expr.args
    left = remainder(end, first)
    # `range(1, size)` leaves one out
    begins = first == f.Const("0") or (type(first) is f.Op and first.kind == "Mult")
    return begins and left is not None and len(left) == 1 and _counts_all(scope, left[0], depth)


def _counts_all(scope: Scope, expr: f.Expr, depth: int) -> bool:
    """Whether a number is that of all ranks."""
    if type(expr) is f.Call:
        asked = scope.analysis.names.resolve(expr.func, scope.module)
        of_job = not expr.args and not expr.keywords
        return of_job and type(asked) is External and asked.dotted == "torch.distributed.get_world_size"
    place = place_name(expr)
    if type(expr) is not f.Name or depth > _DEEPEST:
        return False
    if scope.has_parameter(place) and not _is_left_at_none(scope, place):
        return False
    made = scope.assigned(place)
    return bool(made) and all(_counts_all(scope, value, depth + 1) for value in made)


def _is_left_at_none(scope: Scope, name: str) -> bool:
    """Whether a parameter is None whenever the function goes on, or as far as the project gives it."""
    function = scope.function
    if function is None:
        return False
    if any(type(s) is f.Assert and _asks_for_none(s.test, name) for s in function.body):
        return True
    return options.is_left_out(scope.analysis, function, name, (_NONE,))


def _asks_for_none(test: f.Expr, name: str) -> bool:
    return type(test) is f.Compare and (test.ops, test.rights) == (("is",), (_NONE,)) and place_name(test.left) == name
