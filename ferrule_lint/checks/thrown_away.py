"""Whether a function throws away what a call in it hands back.

A step that is skipped asks for its batch all the same, so that the loader goes on: nothing becomes of it. By the text
of one function: the call is a statement of its own, or a name is bound to it that is read for nothing but to be bound
anew (`batch = sharded(batch)`).
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk


def thrown_away(body: f.Body, call: f.Call) -> bool:
    every = statements(body)
    if any(type(s) is f.ExprStmt and s.value == call for s in every):
        return True
    bound = next((s for s in every if type(s) is f.Assign and s.value == call), None)
    if bound is None or len(bound.targets) != 1 or type(bound.targets[0]) is not f.Name:
        return False
    name = bound.targets[0].id
    # what stands outside the function, or in one inside it, may read the name
    if any(type(s) is f.ScopeDecl and name in s.names for s in every) or any(type(s) is f.FunctionDef for s in every):
        return False
    return not _is_read([s for s in every if not _binds_anew(s, name)], name)


def _binds_anew(s: f.Stmt, name: str) -> bool:
    """Whether a statement does nothing but bind the name once more, or end it."""
    if type(s) is f.Assign and s.value is not None:
        return len(s.targets) == 1 and type(s.targets[0]) is f.Name and s.targets[0].id == name
    return type(s) is f.Delete and all(type(t) is f.Name for t in s.targets)


def _is_read(every: list[f.Stmt], name: str) -> bool:
    parts = [node for s in every for node in walk(_own(s))]
    return any((type(node) is f.Name and node.id == name) or type(node) is f.Lambda for node in parts)


def _own(s: f.Stmt) -> tuple[object, ...]:
    """The parts of a statement but for the blocks in it, whose statements are asked one by one."""
    if type(s) is f.For:
        return (s.target, s.iterable)
    if type(s) is f.If or type(s) is f.While:
        return (s.test,)
    if type(s) is f.With:
        return s.items
    if type(s) is f.Try:
        return tuple(h.type for h in s.handlers if h.type is not None)
    return tuple(s)
