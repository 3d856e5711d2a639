"""Arguments of a call, one more or with other texts, laid out as a formatter would."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from ferrule_lint.findings import Edit, Span
from ferrule_lint.fixes.blocks import WIDE, indent_of
from ferrule_lint.fixes.edits import insertion
from ferrule_lint.fixes.tree import Tree


def argument(tree: Tree, call: cst.Call, text: str) -> list[Edit]:
    """The argument `text` behind the last one; none if there is no simple way."""
    if not call.args or any(arg.star for arg in call.args):
        return []
    first, last, end = tree.span(call.args[0]), tree.span(call.args[-1].value), tree.span(call)
    line = tree.source.line(last.end_line)
    rest = line[last.end_column - 1 :]
    if end.end_line > last.end_line:
        indent = indent_of(tree.source.line(tree.span(call.args[-1]).line))
        if rest.partition("#")[0].strip() == ",":
            return [insertion(last.end_line + 1, f"{indent}{text},\n")]
        if "#" in rest:
            return []
    elif end.line == end.end_line and len(line) + len(text) > WIDE and _ends(line[end.end_column - 1 :]):
        indent = indent_of(line)
        return [
            insertion(first.line, f"\n{indent}    ", first.column),
            insertion(last.end_line, f", {text}\n{indent}", last.end_column),
        ]
    return [insertion(last.end_line, f", {text}", last.end_column)]


def rewritten(tree: Tree, call: cst.Call, texts: Mapping[int, str]) -> tuple[Edit, ...]:
    """Other texts for arguments, by their places; each on a line of its own where the line gets too long."""
    spans = [tree.span(arg) for arg in call.args]
    olds = [tree.text(arg) for arg in call.args]
    line, end = tree.span(call).line, tree.span(call).end_line
    wider = sum(len(text) - len(olds[at]) for at, text in texts.items())
    if line != end or len(tree.source.line(line)) + wider <= WIDE:
        return tuple(Edit(spans[at], text) for at, text in sorted(texts.items()))
    indent = indent_of(tree.source.line(line))
    listed = "".join(f"{indent}    {texts.get(at, old)},\n" for at, old in enumerate(olds))
    first, last = spans[0], spans[-1]
    return (Edit(Span(first.line, first.column, last.end_line, last.end_column), f"\n{listed}{indent}"),)


def _ends(rest: str) -> bool:
    """Whether nothing but the end of a statement, or of its head, stands behind a call."""
    return rest.partition("#")[0].strip() in ("", ":")
