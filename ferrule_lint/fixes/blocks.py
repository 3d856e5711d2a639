"""Statements as lines of text that are moved about: with their comments, in another indentation."""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.findings import Edit, Span
from ferrule_lint.fixes.edits import insertion
from ferrule_lint.fixes.tree import Tree

#: longer lines are broken
WIDE = 100


def indent_of(line: str) -> str:
    """The whitespace that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def lines_of(tree: Tree, statement: cst.BaseStatement) -> list[str]:
    """A statement with the comments right above it, as lines without the block's indentation."""
    indent = tree.indent(statement)
    comments: list[str] = []
    line = tree.span(statement).line - 1
    while line >= 1 and tree.source.line(line).strip().startswith("#") and _column(tree, line) == len(indent):
        comments.insert(0, tree.source.line(line).strip())
        line -= 1
    span = tree.span(statement)
    end = tree.source.line(span.end_line)[span.end_column - 1 :].rstrip()
    body = tree.text(statement).split("\n")
    body = [body[0], *(one.removeprefix(indent) for one in body[1:])]
    body[-1] += end if end.strip().startswith("#") else ""
    return [*comments, "\n".join(body)]


def _column(tree: Tree, line: int) -> int:
    return len(indent_of(tree.source.line(line)))


def whole_lines(tree: Tree, statement: cst.BaseStatement) -> Span:
    """The lines of a statement and of the comments right above it."""
    first = tree.span(statement).line
    indent = len(tree.indent(statement))
    while first > 1 and tree.source.line(first - 1).strip().startswith("#") and _column(tree, first - 1) == indent:
        first -= 1
    return Span(first, 1, tree.span(statement).end_line + 1, 1)


def indented(text: str, indent: str) -> str:
    return "".join(f"{indent}{line}\n" if line.strip() else "\n" for line in text.split("\n"))


def deepened(tree: Tree, first: int, last: int, step: str) -> list[Edit]:
    """The edits that move the lines from `first` to `last` in by `step`, where they stand."""
    return [insertion(line, step) for line in range(first, last + 1) if tree.source.line(line).strip()]


def spans_lines(tree: Tree, guard: cst.If) -> bool:
    """Whether the test is written over several lines, or a string in the block is: those are not moved about."""
    span = tree.span(guard.test)
    if span.line != span.end_line:
        return True
    return long_string(tree, guard.body)


def long_string(tree: Tree, root: cst.CSTNode) -> bool:
    """Whether some string goes over several lines, which cannot be indented anew."""
    return any(
        isinstance(one, cst.SimpleString | cst.FormattedString) and tree.span(one).line != tree.span(one).end_line
        for one in tree.walk(root)
    )


def comment_of(tree: Tree, guard: cst.If) -> str:
    """The comment behind the colon of an `if`, or ""."""
    span = tree.span(guard.test)
    _, hash_sign, text = tree.source.line(span.end_line)[span.end_column - 1 :].partition("#")
    return hash_sign + text.rstrip()


def below_head(tree: Tree, owner: cst.If) -> int:
    """The line below the head of an `if`, whose test may go on over lines in parentheses."""
    line = tree.span(owner.test).end_line
    text = tree.source.line(line)[tree.span(owner.test).end_column - 1 :]
    while not text.partition("#")[0].rstrip().endswith(":"):
        line += 1
        text = tree.source.line(line)
    return line + 1


def on_one_line(tree: Tree, node: cst.CSTNode) -> str:
    """The text of an expression; "" if it cannot be written on one line."""
    first, *rest = tree.text(node).split("\n")
    if rest and (long_string(tree, node) or re.search(r"[#\\]", tree.text(node))):
        return ""
    text = first.rstrip()
    for line in filter(None, map(str.strip, rest)):
        text += line if text[-1] in "([{" or line[0] in ")]}" else f" {line}"
    return text


def call_of(indent: str, targets: str, helper: str, values: list[str], group: str) -> str:
    """The line `targets = helper(values, group=...)`, or several if it is too long; `group` is that of `site.Group`."""
    line = f"{indent}{targets} = {helper}({', '.join(values)}{group})\n"
    if len(line) <= 100 and "\n" not in line[:-1]:
        return line
    arguments = [*values, *([group.removeprefix(", ")] if group else [])]
    listed = "".join(f"{indent}    {argument},\n" for argument in arguments)
    return f"{indent}{targets} = {helper}(\n{listed}{indent})\n"
