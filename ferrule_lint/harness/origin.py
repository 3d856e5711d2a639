"""Where a value that differs comes from: back from the call, over the bindings of the names in it.

Pure: source text, and what the variables of two ranks held. The ranks ran the same lines, and the last binding before
the call in the text is taken for the last that ran.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

#: bindings gone back over
MOST_STEPS = 16


@dataclass(frozen=True, slots=True)
class View:
    """One frame of the user's on two ranks: at which line it is, and what differs in its variables."""

    path: str
    line: int
    source: str
    mine: Mapping[str, str]
    theirs: Mapping[str, str]

    def differs(self, name: str) -> bool:
        return name in self.mine and name in self.theirs and self.mine[name] != self.theirs[name]


@dataclass(frozen=True, slots=True)
class Origin:
    """The line that made a value, the variable that took it, and what that was on each of the two ranks."""

    path: str
    line: int
    name: str
    values: tuple[str, str]
    ranks: tuple[int, int] = (0, 1)

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


def origin(views: Sequence[View]) -> Origin | None:
    """The first binding of a value that differs between two ranks; None if no variable at the call differs.

    `views` are the frames of the call and of its callers, innermost first. A value that a function was given is looked
    for in its caller.
    """
    for view in views:
        try:
            tree = ast.parse(view.source)
        except (SyntaxError, ValueError):
            return None
        scope = _scope(tree, view.line)
        statement = _statement(scope, view.line)
        if statement is None:
            return None
        name = next((one for one in _names(_header(statement)) if view.differs(one)), None)
        if name is None:
            return None
        found = _back(view, scope, statement, name)
        if found is not None:
            return found
    return None


def _back(view: View, scope: ast.AST, statement: ast.stmt, name: str) -> Origin | None:
    """From the use of `name` in `statement` to its first binding; None if the function was given it."""
    found = None
    seen: set[ast.stmt] = set()
    for _ in range(MOST_STEPS):
        binding = _binding(scope, name, statement.lineno, seen)
        if binding is None:
            break
        seen.add(binding)
        found = Origin(view.path, binding.lineno, name, (view.mine[name], view.theirs[name]))
        source = next((one for one in _names(_value(binding)) if view.differs(one)), None)
        if source is None:
            break
        name, statement = source, binding
    return found


def _scope(tree: ast.AST, line: int) -> ast.AST:
    """The innermost function around a line, else the module."""
    found = tree
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            found = node
    return found


def _statement(scope: ast.AST, line: int) -> ast.stmt | None:
    """The innermost statement at a line."""
    found = None
    for node in ast.walk(scope):
        if isinstance(node, ast.stmt) and node is not scope and node.lineno <= line <= (node.end_lineno or 0):
            found = node
    return found


def _header(statement: ast.stmt) -> list[ast.AST]:
    """What a statement evaluates itself, without the statements in it."""
    return [node for node in ast.iter_child_nodes(statement) if not isinstance(node, ast.stmt)]


def _names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                yield one.id


def _value(binding: ast.stmt) -> list[ast.AST]:
    if isinstance(binding, ast.For | ast.AsyncFor):
        return [binding.iter]
    return _header(binding)


def _binding(scope: ast.AST, name: str, line: int, seen: set[ast.stmt]) -> ast.stmt | None:
    """The last statement up to a line that binds a name, the line's own only if it is a loop."""
    last = None
    for node in ast.walk(scope):
        if not isinstance(node, ast.stmt) or node in seen or node.lineno > line:
            continue
        if node.lineno == line and not isinstance(node, ast.For | ast.AsyncFor):
            continue
        targets = [one for part in _header(node) for one in ast.walk(part) if isinstance(one, ast.Name)]
        bound = any(one.id == name and isinstance(one.ctx, ast.Store) for one in targets)
        if bound and (last is None or node.lineno >= last.lineno):
            last = node
    return last
