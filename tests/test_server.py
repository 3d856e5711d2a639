"""The language server, talked to by a real client over its standard streams."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pipeline import project

pytest.importorskip("pygls", reason="pygls is in the extra `lsp`")
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from ferrule_lint.resources import rules_dir

HELPER = "import torch.distributed as dist\n\n\ndef sync(x):\n    dist.all_reduce(x)\n"
MAIN = (
    "import torch.distributed as dist\nfrom helper import sync\n\n\n"
    'def step(x, y):\n    if dist.get_rank() == 0:\n        print("😀é"); sync(x)\n'
)
TIMEOUT = 25


class Client(LanguageClient):
    """A client that keeps the diagnostics it is sent."""

    def __init__(self) -> None:
        super().__init__("test", "1")
        self.published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.said: list[str] = []

        @self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

        @self.feature(lsp.WINDOW_LOG_MESSAGE)
        def say(params: lsp.LogMessageParams) -> None:
            self.said.append(params.message)

    async def diagnostics(self, uri: str) -> lsp.PublishDiagnosticsParams:
        """The next diagnostics of a document."""
        while True:
            params = await asyncio.wait_for(self.published.get(), TIMEOUT)
            if params.uri == uri:
                return params

    def open(self, uri: str, text: str) -> None:
        item = lsp.TextDocumentItem(uri, "python", 1, text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def change(self, uri: str, version: int, text: str) -> None:
        whole = lsp.TextDocumentContentChangeWholeDocument(text)
        document = lsp.VersionedTextDocumentIdentifier(version, uri)
        self.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [whole]))


Session = Callable[[Client, Path], Awaitable[None]]


def with_server(root: Path, session: Session) -> None:
    """Run `session` with a client of a server of its own."""

    async def run() -> None:
        client = Client()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        await client.start_io(sys.executable, "-m", "ferrule_lint", "server", "--stdio", env=environment, cwd=str(root))
        try:
            params = lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), root_uri=root.as_uri())
            await asyncio.wait_for(client.initialize_async(params), TIMEOUT)
            client.initialized(lsp.InitializedParams())
            await session(client, root)
            await asyncio.wait_for(client.shutdown_async(None), TIMEOUT)
            client.exit(None)
        finally:
            process = client._server
            if process is not None and process.returncode is None:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(process.wait(), 5)
            if process is not None and process.returncode is None:
                process.kill()
            await asyncio.wait_for(client.stop(), TIMEOUT)

    asyncio.run(run())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, {"helper.py": HELPER, "main.py": MAIN})


def at(uri: str, line: int, character: int) -> dict[str, Any]:
    return {"text_document": lsp.TextDocumentIdentifier(uri), "position": lsp.Position(line, character)}


def test_diagnostics_follow_what_is_typed(root: Path) -> None:
    async def session(client: Client, root: Path) -> None:
        uri = (root / "main.py").as_uri()
        client.open(uri, MAIN)
        published = await client.diagnostics(uri)
        (one,) = published.diagnostics
        assert (one.code, one.source, one.severity) == ("FER102", "ferrule-lint", lsp.DiagnosticSeverity.Error)
        # UTF-16: the smiley takes two units, "é" one
        text = '        print("😀é"); '
        start = len(text.encode("utf-16-le")) // 2
        assert one.range == lsp.Range(lsp.Position(6, start), lsp.Position(6, start + len("sync(x)")))
        related = one.related_information or []
        assert [item.message.split(":")[0] for item in related] == ["1. source", "2. condition", "3. call", "4. event"]
        assert related[-1].location.uri == (root / "helper.py").as_uri()
        assert related[-1].location.range.start == lsp.Position(4, 4)
        assert one.code_description is not None
        assert one.code_description.href.endswith("FER102.md")
        # unsaved text counts, the file does not
        client.change(uri, 2, MAIN.replace("dist.get_rank() == 0", "x is None"))
        published = await client.diagnostics(uri)
        assert (published.version, list(published.diagnostics)) == (2, [])
        client.change(uri, 3, "def f(:\n")
        published = await client.diagnostics(uri)
        assert [item.code for item in published.diagnostics] == ["FER001"]

    with_server(root, session)


def test_unsaved_text_of_other_documents_counts(root: Path) -> None:
    async def session(client: Client, root: Path) -> None:
        main, helper = (root / "main.py").as_uri(), (root / "helper.py").as_uri()
        client.open(helper, HELPER.replace("dist.all_reduce(x)", "return x"))
        await client.diagnostics(helper)
        client.open(main, MAIN)
        assert list((await client.diagnostics(main)).diagnostics) == []
        client.change(helper, 2, HELPER)
        await client.diagnostics(helper)
        saved = lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(helper))
        client.text_document_did_save(saved)
        assert len((await client.diagnostics(main)).diagnostics) == 1
        client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(main)))
        assert list((await client.diagnostics(main)).diagnostics) == []

    with_server(root, session)


def test_quick_fix_and_hover(root: Path) -> None:
    async def session(client: Client, root: Path) -> None:
        uri = (root / "main.py").as_uri()
        client.open(uri, MAIN)
        (one,) = (await client.diagnostics(uri)).diagnostics
        context = lsp.CodeActionContext(diagnostics=[one])
        request = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), one.range, context)
        (action,) = await asyncio.wait_for(client.text_document_code_action_async(request), TIMEOUT) or []
        assert isinstance(action, lsp.CodeAction)
        assert action.title == "ferrule-lint: suppress FER102 here"
        assert action.edit is not None
        assert action.edit.changes is not None
        (edit,) = action.edit.changes[uri]
        assert edit.range == lsp.Range(lsp.Position(6, 0), lsp.Position(7, 0))
        assert edit.new_text == MAIN.splitlines()[6] + "  # ferrule: ignore[FER102]\n"  # type: ignore[union-attr]
        client.change(uri, 2, MAIN.replace("sync(x)\n", "sync(x)  # ferrule: ignore[FER102]\n"))
        assert list((await client.diagnostics(uri)).diagnostics) == []
        # elsewhere there is nothing to fix
        away = lsp.CodeActionParams(
            lsp.TextDocumentIdentifier(uri), lsp.Range(lsp.Position(0, 0), lsp.Position(0, 1)), context
        )
        assert not await asyncio.wait_for(client.text_document_code_action_async(away), TIMEOUT)

        async def hover(line: int, character: int) -> str:
            found = await asyncio.wait_for(
                client.text_document_hover_async(lsp.HoverParams(**at(uri, line, character))), TIMEOUT
            )
            return "" if found is None else found.contents.value  # type: ignore[union-attr]

        condition = await hover(5, 13)
        assert condition.startswith("`dist.get_rank()`: **divergent**, able to differ between ranks")
        assert "1. source: " in condition
        assert await hover(2, 0) == ""
        assert (await hover(4, 12)).startswith("`y`: **unknown**, as the callers decide by `y`")
        client.change(uri, 3, MAIN)
        await client.diagnostics(uri)
        on_finding = await hover(6, 24)
        assert on_finding.startswith("**FER102** `all_reduce` (hidden in this call) is reached by some ranks only")
        page = (rules_dir() / "FER102.md").read_text("utf-8")
        for heading in ("What it does", "Why is this bad?", "Fix"):
            assert page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0].strip() in on_finding
        assert (rules_dir() / "FER102.md").as_uri() in on_finding
        # and the value under the cursor, with the rule of the finding before it
        assert "`x`: **divergent**, able to differ between ranks\n\nits content differs along dp" in await hover(6, 27)

    with_server(root, session)


def test_a_fact(root: Path) -> None:
    """What only a person can know is a quick fix as well: the finding is gone after it."""
    source = (
        "import torch.distributed as dist\n\n\ndef step(batch, x):\n"
        "    if batch.sum() > 0:\n        dist.all_reduce(x)\n    return x\n"
    )

    async def session(client: Client, root: Path) -> None:
        uri = (root / "fact.py").as_uri()
        client.open(uri, source)
        (one,) = (await client.diagnostics(uri)).diagnostics
        request = lsp.CodeActionParams(
            lsp.TextDocumentIdentifier(uri), one.range, lsp.CodeActionContext(diagnostics=[one])
        )
        actions = await asyncio.wait_for(client.text_document_code_action_async(request), TIMEOUT) or []
        wanted = "ferrule-lint: say that `batch.sum() > 0` is the same on all ranks (`# ferrule: uniform`)"
        (action,) = [action for action in actions if action.title == wanted]
        assert isinstance(action, lsp.CodeAction)
        assert action.edit is not None
        assert action.edit.changes is not None
        (edit,) = action.edit.changes[uri]
        assert edit.range == lsp.Range(lsp.Position(4, 0), lsp.Position(5, 0))
        line = "    if batch.sum() > 0:  # ferrule: uniform\n"
        assert edit.new_text == line  # type: ignore[union-attr]
        client.change(uri, 2, source.replace("    if batch.sum() > 0:\n", line))
        assert list((await client.diagnostics(uri)).diagnostics) == []

    with_server(root, session)


def test_a_repair(root: Path) -> None:
    source = (
        "import time\n\nimport torch\nimport torch.distributed as dist\n\n\ndef train(loader, model, limit):\n"
        "    start = time.time()\n    for batch in loader:\n"
        "        if time.time() - start > limit:\n            break\n        dist.all_reduce(model(batch).sum())\n"
    )

    async def session(client: Client, root: Path) -> None:
        uri = (root / "clock.py").as_uri()
        client.open(uri, source)
        (one,) = (await client.diagnostics(uri)).diagnostics
        request = lsp.CodeActionParams(
            lsp.TextDocumentIdentifier(uri), one.range, lsp.CodeActionContext(diagnostics=[one])
        )
        actions = await asyncio.wait_for(client.text_document_code_action_async(request), TIMEOUT) or []
        repair, suppress, _ = actions
        assert isinstance(repair, lsp.CodeAction)
        assert repair.title.endswith("(safe)")
        assert repair.is_preferred
        assert suppress.title == "ferrule-lint: suppress FER103 here"
        assert repair.edit is not None
        assert repair.edit.changes is not None
        lines = source.split("\n")
        offset = lambda place: sum(len(line) + 1 for line in lines[: place.line]) + place.character  # noqa: E731
        text = source
        for edit in sorted(repair.edit.changes[uri], key=lambda edit: offset(edit.range.start), reverse=True):
            text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]  # type: ignore[union-attr]
        client.change(uri, 2, text)
        assert list((await client.diagnostics(uri)).diagnostics) == []

    with_server(root, session)


def test_settings_and_broken_settings(root: Path) -> None:
    (root / "ferrule.toml").write_text('ignore = ["FER102"]\n')

    async def session(client: Client, root: Path) -> None:
        uri = (root / "main.py").as_uri()
        client.open(uri, MAIN)
        assert list((await client.diagnostics(uri)).diagnostics) == []
        (root / "ferrule.toml").write_text("ignore = [\n")
        client.change(uri, 2, MAIN + "\n")
        for _ in range(TIMEOUT * 10):
            if client.said:
                break
            await asyncio.sleep(0.1)
        assert "ferrule.toml:2: not valid TOML" in client.said[0]
        # the server lives on
        (root / "ferrule.toml").write_text("")
        client.change(uri, 3, MAIN)
        assert len((await client.diagnostics(uri)).diagnostics) == 1

    with_server(root, session)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\n", "a\nx\nc\n"),
        ("a\nb\n", "a\nb\nc\n"),
        ("a\nb", "a\nc"),
        ("a\nb", "# n\na\nb"),
        ("", "a\n"),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
    ],
)
def test_an_edit_of_lines(old: str, new: str) -> None:
    from ferrule_lint.server.convert import changed_lines

    edit = changed_lines(old, new, len)
    lines = old.splitlines(keepends=True)
    offset = lambda place: sum(map(len, lines[: place.line])) + place.character  # noqa: E731
    start, end = offset(edit.range.start), offset(edit.range.end)
    assert old[:start] + edit.new_text + old[end:] == new


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from ferrule_lint.cli import main as cli_main

    monkeypatch.setitem(sys.modules, "ferrule_lint.server.app", None)
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.delitem(sys.modules, "ferrule_lint.server.app")
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert cli_main.run(["server"]) == 2
    assert "install `ferrule-lint[lsp]`" in capsys.readouterr().err
