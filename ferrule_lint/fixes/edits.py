"""Edits of several fixes in one file: which go together, and what they are together."""

from __future__ import annotations

from collections.abc import Iterable

from ferrule_lint.findings import Edit, Fix, Span


def insertion(line: int, text: str, column: int = 1) -> Edit:
    """`text` before the character at `line` and `column`."""
    return Edit(Span(line, column, line, column), text)


def in_order(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Edits as a fix holds them: without repeats, sorted by place."""
    return tuple(sorted(dict.fromkeys(edits), key=lambda edit: (_start(edit), _end(edit))))


def together(fixes: Iterable[Fix]) -> tuple[list[Fix], list[Edit]]:
    """The fixes that can be applied at once, earlier ones first, and their edits.

    What two fixes insert alike (an import, a helper) is inserted once; any other touch of the same text keeps the
    later fix for the next round.
    """
    taken: list[Fix] = []
    edits: dict[Edit, None] = {}
    for fix in fixes:
        if fix in taken:
            continue
        new = [edit for edit in fix.edits if edit not in edits]
        if all(_apart(edit, other) for edit in new for other in edits):
            taken.append(fix)
            edits.update(dict.fromkeys(new))
    return taken, list(in_order(edits))


def _apart(one: Edit, other: Edit) -> bool:
    if _start(one) == _end(one) == _start(other) == _end(other):
        # two insertions at one place: helpers and imports, which bear any order
        return one.text.endswith("\n") and other.text.endswith("\n")
    return _end(one) <= _start(other) or _end(other) <= _start(one)


def _start(edit: Edit) -> tuple[int, int]:
    return edit.span.line, edit.span.column


def _end(edit: Edit) -> tuple[int, int]:
    return edit.span.end_line, edit.span.end_column
