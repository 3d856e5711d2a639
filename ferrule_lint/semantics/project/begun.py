"""What all callers have just begun when they hand it on: `losses = {}`, `fill(losses, batch)`.

A function that is handed a dict, list, number or tensor cannot tell what is in it. Where every call in the project
hands it one that stands written out, and that nobody has touched since, it holds what is written there: whatever comes
to differ in it does so here. Parameters that are handed on as they were come from the callers of the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.parts import said
from ferrule_lint.facts.walk import nodes, statements, way_to
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.options import calls_of, passed
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.sources.reducing import called_in

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: calls of one function that are looked at; with more nothing is said
MOST_CALLS = 4
#: functions that hand a thing on, one to the other
_DEEPEST = 2
#: what makes an empty container
_CONTAINERS = frozenset("list dict set deque OrderedDict defaultdict Counter".split())
#: what makes a tensor whose text tells what it is
_TENSORS = frozenset("zeros ones empty full tensor".split())


class Begun(NamedTuple):
    """What one caller hands over."""

    module: ModuleInfo
    expr: f.Expr
    #: it is handed on in a loop that it has been begun before: it may have been filled in an earlier round
    again: bool

    def said(self) -> str:
        return repr((self.module.path, said([self.expr]), self.again))


def of_parameter(analysis: Analysis, function: FunctionInfo, name: str) -> tuple[Begun, ...]:
    """What each caller has begun that hands it to a parameter; nothing where one hands over anything else."""
    traits = function.traits
    if name not in traits.set_again and name not in traits.run:
        return ()  # what stays as it is is its caller's
    question = f"{function.id} {name}"
    return analysis.begun.find(question, lambda: _of_callers(analysis, function, name, _DEEPEST), ())


def _of_callers(analysis: Analysis, function: FunctionInfo, name: str, depth: int) -> tuple[Begun, ...]:
    found: list[Begun] = []
    for site in sites(analysis, function, name) or ():
        begun = _at_call(analysis, *site, depth)
        if not begun:
            return ()
        found += begun
    return tuple(found)


def sites(
    analysis: Analysis, function: FunctionInfo, name: str
) -> list[tuple[ModuleInfo, FunctionInfo, f.Call, f.Expr]] | None:
    """The calls of a function, each with what it hands to a parameter; None unless all of them can be told that may
    be of it, those of tests left aside."""
    found: list[tuple[ModuleInfo, FunctionInfo, f.Call, f.Expr]] = []
    for module, owner, call in calls_of(analysis, function):
        if is_test(module.path) or (function.owner is None and _is_of_object(module, call)):
            continue
        given = passed(call, function, function.owner is not None, name)
        if owner is None or given is None or called_in(analysis, owner, call) is not function.origin:
            return None
        found.append((module, owner, call, given))
    return found if len(found) <= MOST_CALLS else None


def _is_of_object(module: ModuleInfo, call: f.Call) -> bool:
    """`model.train()`, which is nothing of a function of that name: what it is called on is no file or package."""
    func = call.func
    return type(func) is f.Attr and place_name(func.base).partition(".")[0] not in module.imports


def _at_call(
    analysis: Analysis, module: ModuleInfo, owner: FunctionInfo, call: f.Call, given: f.Expr, depth: int
) -> list[Begun]:
    if _is_written(given):
        return [Begun(module, given, False)]
    if type(given) is not f.Name:
        return []
    name, body = given.id, owner.body
    before = [node for node in nodes(body, f.Name) if node.id == name and node.pos < given.pos]
    if any(node.name == name for node in nodes(body, f.Walrus)) or any(
        type(a) is f.Name and a.id == name and a.pos != given.pos for a in (*call.args, *(v for _, v in call.keywords))
    ):
        return []
    way = way_to(body, call.pos)
    if not before:
        own = depth and any(p.name == name for p in owner.parameters) and not any(map(_is_loop, _around(way)))
        return list(_of_callers(analysis, owner, name, depth - 1)) if own else []
    last = max(before, key=lambda node: node.pos)
    for level, (block, number) in enumerate(way):
        for s in block[:number]:
            value = _bound(s, last)
            if value is not None and _is_written(value):
                again = any(map(_is_loop, _around(way[level:])))
                # a number that is stepped is another one in the next round
                return [] if again and type(value) is f.Const else [Begun(module, value, again)]
    return []


def targets_in(s: f.Stmt) -> list[f.Expr]:
    """What a statement and those in it bind."""
    return [target for one in statements((s,)) for target in targets_of(one)]


def targets_of(s: f.Stmt) -> list[f.Expr]:
    """What a statement binds itself, each part of what it takes apart."""
    found: list[f.Expr] = []
    if type(s) is f.Assign or type(s) is f.Delete:
        found += s.targets
    elif type(s) is f.AugAssign or type(s) is f.For:
        found.append(s.target)
    elif type(s) is f.With:
        found += [target for _, target in s.items if target is not None]
    return [part for one in found for part in (one.elements if type(one) is f.Sequence else (one,))]


def _around(way: list[tuple[f.Body, int]]) -> list[f.Stmt]:
    return [block[number] for block, number in way]


def _is_loop(s: f.Stmt) -> bool:
    return type(s) is f.For or type(s) is f.While


def _bound(s: f.Stmt, target: f.Name) -> f.Expr | None:
    """What a statement binds a name to, told by where the name stands."""
    if type(s) is not f.Assign or s.value is None:
        return None
    for one in s.targets:
        if one == target:
            return s.value
        if type(one) is f.Sequence and type(s.value) is f.Sequence and len(one.elements) == len(s.value.elements):
            for part, value in zip(one.elements, s.value.elements, strict=True):
                if part == target:
                    return value
    return None


def _is_written(expr: f.Expr) -> bool:
    """A list, dict or set as it is written, an empty one by its class, a number, or a tensor of written numbers."""
    if type(expr) is f.Sequence:
        return expr.kind == "list" and not any(type(x) is f.Starred for x in expr.elements)
    if type(expr) is f.DictDisplay:
        return all(type(key) is f.Const for key in expr.keys)
    if type(expr) is f.Const:
        return expr.text.replace(".", "", 1).isdigit()
    if type(expr) is not f.Call:
        return False
    name = last_name(expr.func)
    if name in _CONTAINERS and type(expr.func) in (f.Name, f.Attr):
        return not expr.keywords and (not expr.args or (name == "defaultdict" and type(expr.args[0]) is f.Name))
    tensor = name in _TENSORS and type(expr.func) is f.Attr and last_name(expr.func.base) == "torch"
    return tensor and bool(expr.args) and all(map(_is_number, expr.args))


def _is_number(expr: f.Expr) -> bool:
    if type(expr) is f.Sequence:
        return all(map(_is_number, expr.elements))
    return type(expr) is f.Const and expr.text not in ("None", "True", "False") and expr.text[:1] not in "'\"b"
