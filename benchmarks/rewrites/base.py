"""What a rewrite is, and what several of them share."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst


@dataclass(frozen=True)
class Rewrite:
    """A change of form: what it is called, what it does in a line, and the change of one module; `moves`: the files by
    name that take its place instead, its own under the empty name, or none."""

    name: str
    says: str
    apply: Callable[[cst.Module], cst.Module]
    moves: Callable[[cst.Module], Mapping[str, cst.Module]] | None = None


def by(transformer: Callable[[], cst.CSTTransformer]) -> Callable[[cst.Module], cst.Module]:
    """The change that a fresh transformer makes."""
    return lambda module: module.visit(transformer())


def statement(code: str) -> cst.BaseStatement:
    """One statement from its text."""
    return cst.parse_statement(code)


def function_of(name: str, parameters: str, body: Iterable[cst.BaseStatement]) -> cst.FunctionDef:
    """A function from the text of its parameters and its statements."""
    made = statement(f"def {name}({parameters}):\n    pass\n")
    assert isinstance(made, cst.FunctionDef)
    return made.with_changes(body=block_of(body))


def code_of(node: cst.CSTNode) -> str:
    """The text of a node."""
    return cst.Module([]).code_for_node(node)


def block_of(body: Iterable[cst.BaseStatement]) -> cst.IndentedBlock:
    """An indented block; never an empty one."""
    return cst.IndentedBlock(list(body) or [statement("pass\n")])


def statements_of(body: cst.BaseSuite) -> list[cst.BaseStatement]:
    """The statements of a suite, also of one on the line of its head."""
    if isinstance(body, cst.IndentedBlock):
        return list(body.body)
    assert isinstance(body, cst.SimpleStatementSuite)
    return [cst.SimpleStatementLine(list(body.body))]


def negated(test: cst.BaseExpression) -> cst.BaseExpression:
    """`not (test)`."""
    return cst.parse_expression(f"not ({code_of(test)})")


def is_entry(node: cst.If) -> bool:
    """`if __name__ == "__main__":`, which everybody writes like that."""
    return "__name__" in code_of(node.test)


class OfIfs(cst.CSTTransformer):
    """A change of `if` statements that leaves alone what has to stay one: `elif`, and what makes a file a program."""

    def __init__(self) -> None:
        self._kept: set[cst.If] = set()

    def visit_If(self, node: cst.If) -> None:
        if isinstance(node.orelse, cst.If):
            self._kept.add(node.orelse)
        if is_entry(node):
            self._kept.add(node)

    def may_change(self, node: cst.If) -> bool:
        return node not in self._kept


def names_read(nodes: Iterable[cst.CSTNode]) -> list[str]:
    """The names that code reads, in the order in which they come, without built-in ones."""
    tree = ast.parse(_dedented(nodes))
    found = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return [name for name in dict.fromkeys(found) if not hasattr(builtins, name)]


def names_bound(nodes: Iterable[cst.CSTNode]) -> set[str]:
    """The names that code assigns."""
    tree = ast.parse(_dedented(nodes))
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


def leaves(nodes: Sequence[cst.CSTNode]) -> bool:
    """Whether code leaves the block that it is in, or hands something out of the function while it runs."""
    tree = ast.parse("while True:\n    def f():\n        pass\n" + _indented(_dedented(nodes)))
    kinds = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await, ast.Nonlocal, ast.Global)
    return any(isinstance(n, kinds) for n in ast.walk(tree))


def _dedented(nodes: Iterable[cst.CSTNode]) -> str:
    return "".join(code_of(node).rstrip("\n") + "\n" for node in nodes)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def local_names(function: cst.FunctionDef) -> set[str]:
    """The names that are a function's own: parameters and what it assigns, but not what it imports or defines."""
    tree = ast.parse(_dedented([function]))
    own: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
    return own


class Inside(cst.CSTTransformer):
    """A change that knows how many functions are around what it looks at."""

    depth = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.depth += 1

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self.depth -= 1
        return updated_node
