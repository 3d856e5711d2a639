"""The language server: diagnostics while one types, hovers, and quick fixes.

One check runs at a time, in a thread. Open documents stand in for their files, so what is not saved counts, in other
files too.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

import ferrule_lint
from ferrule_lint import engine, inquiry
from ferrule_lint.models.loader import ModelError
from ferrule_lint.project.config import ConfigError, Settings, load_settings
from ferrule_lint.project.discovery import find_root
from ferrule_lint.server.convert import SOURCE, Converter, changed_lines
from ferrule_lint.server.hover import hover_text

if TYPE_CHECKING:
    from ferrule_lint.findings import Finding, Report

#: seconds without typing before a document is checked again
PATIENCE = 0.4


@dataclass(slots=True)
class _Checked:
    """The findings of a document as it was checked last."""

    findings: tuple[Finding, ...] = ()
    diagnostics: list[lsp.Diagnostic] = field(default_factory=list)


class Server(LanguageServer):
    """A language server with what it knows of its documents."""

    def __init__(self, *, patience: float = PATIENCE) -> None:
        super().__init__("ferrule-lint", ferrule_lint.__version__)
        self.patience = patience
        self.checked: dict[str, _Checked] = {}
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Lock()

    # ------------------------------------------------------------------ documents
    def path_of(self, uri: str) -> Path | None:
        """The file of a document; None for one that is no Python file."""
        name = to_fs_path(uri)
        return Path(name) if name and name.endswith(".py") else None

    def contents(self) -> dict[Path, bytes]:
        """The text of all open Python files."""
        documents = self.workspace.text_documents.values()
        return {path: one.source.encode("utf-8", "replace") for one in documents if (path := self.path_of(one.uri))}

    def units(self, text: str) -> int:
        """The length of a text as the client counts it."""
        return self.workspace.position_codec.client_num_units(text)

    # ------------------------------------------------------------------ checking
    def check_soon(self, uri: str, delay: float) -> None:
        """Check a document once `delay` seconds have passed without another call for it."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self._waiting[uri] = asyncio.get_running_loop().create_task(self._check_later(uri, delay))

    async def _check_later(self, uri: str, delay: float) -> None:
        await asyncio.sleep(delay)
        self._waiting.pop(uri, None)
        async with self._one_at_a_time:
            await self._check(uri)

    async def _check(self, uri: str) -> None:
        path = self.path_of(uri)
        if path is None or uri not in self.workspace.text_documents:
            return
        version = self.workspace.get_text_document(uri).version
        contents = self.contents()
        try:
            settings = settings_for(path)
            report = await asyncio.to_thread(engine.lint, [path], settings, contents=contents)
        except (ConfigError, ModelError) as error:
            place = f"{error.path}:{error.line}: " if error.line else f"{error.path}: " if error.path else ""
            self._say(f"{place}{error.message}")
            return
        for problem in report.errors:
            self._say(problem.message)
        if uri in self.workspace.text_documents and self.workspace.get_text_document(uri).version == version:
            self._publish(uri, version, report, settings.root or path.parent)

    def _publish(self, uri: str, version: int | None, report: Report, root: Path) -> None:
        from ferrule_lint.reporters.source import Sources

        converter = Converter(root, Sources(root, report.contents).line, self.units)
        diagnostics = [converter.diagnostic(finding) for finding in report.findings]
        self.checked[uri] = _Checked(report.findings, diagnostics)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, version))

    def _say(self, message: str) -> None:
        self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Warning, f"ferrule-lint: {message}"))

    def forget(self, uri: str) -> None:
        """Take back what was said of a document that is closed."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        if self.checked.pop(uri, None) is not None:
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def settings_for(path: Path) -> Settings:
    """The settings that count for a file; raises ConfigError."""
    return replace(load_settings(path), root=find_root([path]))


def make_server(*, patience: float = PATIENCE) -> Server:
    """A server that is ready to be started."""
    server = Server(patience=patience)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
        ls.check_soon(params.text_document.uri, 0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
        ls.check_soon(params.text_document.uri, ls.patience)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(ls: Server, params: lsp.DidSaveTextDocumentParams) -> None:
        # the cause of what is shown elsewhere may have been saved
        for uri in ls.workspace.text_documents:
            ls.check_soon(uri, 0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
        ls.forget(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
        return await hover_at(ls, params.text_document.uri, params.position)

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])
    )
    def actions(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return code_actions(ls, params.text_document.uri, params.range)

    return server


async def hover_at(ls: Server, uri: str, position: lsp.Position) -> lsp.Hover | None:
    """What is known of the expression at a place, and the findings there."""
    path = ls.path_of(uri)
    if path is None:
        return None
    document = ls.workspace.get_text_document(uri)
    place = ls.workspace.position_codec.position_from_client_units(document.lines, position)
    line, column = place.line + 1, place.character + 1
    checked = ls.checked.get(uri, _Checked())
    findings = [
        finding
        for finding, diagnostic in zip(checked.findings, checked.diagnostics, strict=True)
        if _overlap(diagnostic.range, lsp.Range(position, position))
    ]
    contents = ls.contents()
    try:
        answer = await asyncio.to_thread(inquiry.why, path, line, settings_for(path), contents=contents)
        explanation = answer.explanation
    except (ConfigError, ModelError, inquiry.CannotAnswer):
        explanation = None
    line_text = document.lines[place.line] if place.line < len(document.lines) else ""
    text = hover_text(explanation, line_text, column, findings)
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text)) if text else None


def code_actions(ls: Server, uri: str, range_: lsp.Range) -> list[lsp.CodeAction]:
    """Quick fixes for the findings in a range."""
    from ferrule_lint.suppressions.insert import CannotInsert, insert, state

    document = ls.workspace.get_text_document(uri)
    checked = ls.checked.get(uri, _Checked())
    actions = []
    for finding, diagnostic in zip(checked.findings, checked.diagnostics, strict=True):
        if not _overlap(diagnostic.range, range_) or finding.code in ("FER001", "FER002"):
            continue
        if finding.fix is not None:
            actions.append(_repair(ls, uri, finding, diagnostic))
        source = document.source.encode("utf-8")
        test = _stated_test(finding, document.lines)
        try:
            comments = [(f"suppress {finding.code} here", insert(source, [finding]))]
            if test is not None:
                title = f"say that {test[1]} is the same on all ranks (`# ferrule: uniform`)"
                comments.append((title, state(source, test[0], "uniform")))
        except (CannotInsert, UnicodeError):
            continue
        for title, new in comments:
            edit = changed_lines(document.source, new.decode("utf-8"), ls.units)
            actions.append(
                lsp.CodeAction(
                    title=f"{SOURCE}: {title}",
                    kind=lsp.CodeActionKind.QuickFix,
                    diagnostics=[diagnostic],
                    edit=lsp.WorkspaceEdit(changes={uri: [edit]}),
                )
            )
    return actions


#: how a witness names the test at which a comment can state a fact
_TEST = re.compile(r"(`.+`) decides this `if`")
_HEADER = re.compile(r"\s*(if|elif|while)\b")


def _stated_test(finding: Finding, lines: Sequence[str]) -> tuple[int, str] | None:
    """The line and the text of the test in the finding's file that somebody may know to come out alike on all ranks; of
    the rank itself nobody does."""
    for step in reversed(finding.witness if finding.kind != "rank" else ()):
        told = _TEST.fullmatch(step.note) if step.role == "condition" and step.path == finding.path else None
        if told is not None and lines[step.line - 1 : step.line] and _HEADER.match(lines[step.line - 1]):
            return step.line, told[1]
    return None


def _repair(ls: Server, uri: str, finding: Finding, diagnostic: lsp.Diagnostic) -> lsp.CodeAction:
    """The fix of a finding; only a safe one is what an editor may choose by itself."""
    from ferrule_lint.findings import Safety

    fix = finding.fix
    assert fix is not None
    lines = ls.workspace.get_text_document(uri).source.split("\n")

    def line_of(path: str, number: int) -> str | None:
        return lines[number - 1] if number <= len(lines) else None

    converter = Converter(Path(), line_of, ls.units)
    edits = [lsp.TextEdit(converter.range(finding.path, edit.span), edit.text) for edit in fix.edits]
    return lsp.CodeAction(
        title=f"{SOURCE}: {fix.message} ({fix.safety.label})",
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        is_preferred=fix.safety == Safety.SAFE,
        edit=lsp.WorkspaceEdit(changes={uri: edits}),
    )


def _overlap(one: lsp.Range, other: lsp.Range) -> bool:
    return not (_key(one.end) < _key(other.start) or _key(other.end) < _key(one.start))


def _key(position: lsp.Position) -> tuple[int, int]:
    return position.line, position.character
