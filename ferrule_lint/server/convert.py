"""Findings as the Language Server Protocol has them.

Findings count characters from 1; clients count in units they have agreed on with the server (mostly UTF-16) from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from lsprotocol import types as lsp

from ferrule_lint.findings import Finding, Span, Step
from ferrule_lint.project.selection import UNUSED_SUPPRESSION
from ferrule_lint.resources import rules_dir

SOURCE = "ferrule-lint"

#: the number of units of a text, as the client counts
Units = Callable[[str], int]
#: a line of a file (path relative to the root, number from 1), or None
LineOf = Callable[[str, int], str | None]

_SEVERITY = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}


class Converter:
    """From findings of one project to diagnostics."""

    def __init__(self, root: Path, line_of: LineOf, units: Units) -> None:
        self._root = root
        self._line_of = line_of
        self._units = units

    def diagnostic(self, finding: Finding) -> lsp.Diagnostic:
        """The diagnostic of a finding, with its witness as related places."""
        page = (rules_dir() / f"{finding.code}.md").as_uri()
        return lsp.Diagnostic(
            range=self.range(finding.path, finding.span),
            message=finding.message,
            severity=_SEVERITY[finding.severity],
            code=finding.code,
            code_description=lsp.CodeDescription(href=page),
            source=SOURCE,
            tags=[lsp.DiagnosticTag.Unnecessary] if finding.code == UNUSED_SUPPRESSION else None,
            related_information=[self._related(number, step) for number, step in enumerate(finding.witness, 1)],
            data={"fingerprint": finding.fingerprint, "confidence": finding.confidence.label},
        )

    def range(self, path: str, span: Span) -> lsp.Range:
        """A range of a file."""
        return lsp.Range(
            self._position(path, span.line, span.column), self._position(path, span.end_line, span.end_column)
        )

    def _related(self, number: int, step: Step) -> lsp.DiagnosticRelatedInformation:
        start = self._position(step.path, step.line, step.column)
        text = self._line_of(step.path, step.line) or ""
        end = self._position(step.path, step.line, max(step.column, len(text.rstrip()) + 1))
        location = lsp.Location((self._root / step.path).as_uri(), lsp.Range(start, end))
        return lsp.DiagnosticRelatedInformation(location, f"{number}. {step.role}: {step.note}")

    def _position(self, path: str, line: int, column: int) -> lsp.Position:
        text = self._line_of(path, line) or ""
        return lsp.Position(line - 1, self._units(text[: column - 1]))


def changed_lines(old: str, new: str, units: Units) -> lsp.TextEdit:
    """One edit that turns `old` into `new`, as small as whole lines allow."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    stop = len(before) - end
    if stop == len(before) and before and not before[-1].endswith(("\n", "\r")):
        # the end of a file without a last line end
        place = lsp.Position(len(before) - 1, units(before[-1])) if stop > start else lsp.Position(stop, 0)
    else:
        place = lsp.Position(stop, 0)
    text = "".join(after[start : len(after) - end])
    return lsp.TextEdit(lsp.Range(lsp.Position(start, 0), place), text)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
