"""Whatever is on the disk: a clear message with its place, the right exit code, and never a crash."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pipeline import fake_checks, nothing, project
from test_reporters import schema

from ferrule_lint.cli import main as cli_main

BRANCH = "import torch.distributed as dist\nif dist.get_rank() == 0:\n    dist.barrier()\n"


class Run:
    """Runs the real pipeline in a folder and keeps what it said."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys
        self.err = ""
        self.document: dict[str, Any] = {}

    def __call__(self, *args: str) -> int:
        status = cli_main.run(["--output-format", "json", *(args or (".",))])
        out, self.err = self._capsys.readouterr()
        self.document = json.loads(out) if out else {}
        if out:
            jsonschema.validate(self.document, schema())
        return status

    @property
    def findings(self) -> list[tuple[str, str, int]]:
        return [(one["path"], one["code"], one["line"]) for one in self.document["findings"]]

    @property
    def errors(self) -> list[tuple[str, str]]:
        return [(one["path"], one["message"]) for one in self.document["errors"]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    project(tmp_path, {})
    monkeypatch.chdir(tmp_path)
    return Run(tmp_path, capsys)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"# only a comment",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbfx = 1\n",
        b"x = 1\r\nif x:\r\n    y = 2\r\n",
        b"x = 1\rif x:\r    y = 2\r",
        b"x = 1\n\x0c\ndef f():\n    \x0c\n    return 1\n",
        b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
        "x = 'é日本🎉\u2028'\n".encode(),
        b"x = 1",
    ],
)
def test_odd_but_valid(run: Run, content: bytes) -> None:
    project(run.root, {"a.py": content})
    assert run() == 0, run.document
    assert run.document["summary"]["files"] == 1


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"x = 1\ndef f(:\n    pass\n", 2),
        (b"if x:\npass\n", 2),
        (b"x = (\n", 1),
        (b"x = '''\n\n", 1),
        (b"x = 1\n\x00\n", None),
        (b"x = '\xe9'\n", None),
        (b"# coding: utf-8\nx = 1\ny = '\xff'\n", None),
        (b"# coding: no-such-encoding\nx = 1\n", None),
        (b"\xef\xbb\xbf# coding: latin-1\nx = 1\n", None),
        ("x = 1\n".encode("utf-16"), None),
        (b"print 'python 2'\n", 1),
        (b"x = " + b"(" * 10_000 + b")" * 10_000 + b"\n", None),
        (b"\x7fELF\x02\x01\x01\x00\x00\xff\xfe", None),
    ],
)
def test_what_cannot_be_parsed_is_a_finding(run: Run, content: bytes, line: int | None) -> None:
    project(run.root, {"bad.py": content, "good.py": BRANCH})
    assert run() == 1
    bad = [(path, code) for path, code, _ in run.findings if path == "bad.py"]
    assert bad == [("bad.py", "FER001")]
    if line is not None:
        assert ("bad.py", "FER001", line) in run.findings
    assert run.errors == []
    # the other file is checked all the same
    assert any(path == "good.py" for path, _, _ in run.findings)
    # the text report must cope with the file, too
    assert cli_main.run(["bad.py"]) == 1


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("def f(:\n", "bad.py:1:7: FER001 [high] invalid syntax\n  |\n1 | def f(:\n  |       ^\n"),
        (
            "x = 'é'; y = = 1\n",
            "bad.py:1:14: FER001 [high] invalid syntax\n  |\n1 | x = 'é'; y = = 1\n  |              ^\n",
        ),
        ("def f():\n    x = 1\n      y = 2\n", "bad.py:3:"),
    ],
)
def test_a_mistake_has_its_column(run: Run, content: str, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    project(run.root, {"bad.py": content})
    assert cli_main.run(["--no-cache"]) == 1
    assert capsys.readouterr().out.startswith(place)


def test_broken_files_that_are_only_read_are_silent(run: Run) -> None:
    project(run.root, {"sub/good.py": "x = 1\n", "broken.py": "def f(:\n"})
    (run.root / "dead.py").symlink_to("nowhere")
    assert run("sub") == 0
    assert run.findings == []
    assert run.errors == []
    assert cli_main.run(["-v", "sub"]) == 0


def test_a_pointer_of_large_file_storage_is_no_mistake(run: Run) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0630d9cd966c241b7addd7ba29999d68\nsize 6985\n"
    project(run.root, {"stored.py": pointer, "told.py": pointer.partition("\n")[2]})
    assert run() == 1
    assert [(path, code) for path, code, _ in run.findings] == [("told.py", "FER001")]


@pytest.mark.parametrize("place", ["${size}", "${size}.", "{{ cookiecutter.size }} 1", "{% if x %}"])
def test_a_template_is_no_mistake(run: Run, place: str) -> None:
    project(run.root, {"layout.py": f"model = dict(\n    size={place},\n)\n", "broken.py": f"x = '{place}'\ny = = 1\n"})
    assert run() == 1
    assert [(path, code) for path, code, _ in run.findings] == [("broken.py", "FER001")]


def test_syntax_errors_come_through_any_selection(run: Run) -> None:
    project(run.root, {"broken.py": "def f(:\n"})
    assert run("--select", "FER2", "--min-confidence", "high") == 1
    assert run("--ignore", "FER001") == 0


def test_fifty_thousand_lines(run: Run) -> None:
    project(run.root, {"long.py": "x = 1\n" * 50_000 + BRANCH})
    assert run() == 1
    assert run.document["summary"]["lines"] == 50_003
    assert [line for _, _, line in run.findings] == [50_003]


@pytest.mark.parametrize("kind", ["blocks", "calls", "brackets", "functions"])
def test_nesting(run: Run, kind: str) -> None:
    if kind == "blocks":
        # Python itself refuses more than 100 levels of indentation
        source = "".join(" " * depth + f"if a{depth}:\n" for depth in range(99)) + " " * 99 + "pass\n"
    elif kind == "functions":
        # more than 20 loops cannot be nested, functions can
        source = "".join(" " * depth + f"def f{depth}():\n" for depth in range(90)) + " " * 90 + "pass\n"
    elif kind == "calls":
        source = "x = " + "f(" * 190 + ")" * 190 + "\n"
    else:
        source = "x = " + "[" * 190 + "]" * 190 + "\n"
    project(run.root, {"deep.py": source + BRANCH})
    assert run() == 1, run.document
    assert [code for _, code, _ in run.findings] == ["FER102"]


@pytest.mark.parametrize("chain", ["+".join(["a"] * 50_000), "a" + ".b" * 20_000, "not " * 50_000 + "a"])
def test_chains_end_no_process(run: Run, chain: str) -> None:
    project(run.root, {"chain.py": f"x = {chain}\n{BRANCH}"})
    assert run() == 1
    assert run.errors == []


def test_links_that_go_round(run: Run) -> None:
    project(run.root, {"pkg/a.py": "x = 1\n"})
    (run.root / "pkg" / "again").symlink_to(run.root)
    (run.root / "me.py").symlink_to("me.py")
    assert run("pkg") == 0
    assert run.document["summary"]["files"] == 1


def test_dangling_link(run: Run) -> None:
    (run.root / "dead.py").symlink_to("nowhere.py")
    for path in (".", "dead.py"):
        assert run(path) == 2
        assert run.errors == [("dead.py", "dangling symbolic link to nowhere.py")]


def test_folder_called_like_a_file(run: Run) -> None:
    project(run.root, {"x.py/a.py": "x = 1\n"})
    assert run("x.py") == 0
    assert run.document["summary"]["files"] == 1


def test_missing_path(run: Run) -> None:
    project(run.root, {"a.py": "x = 1\n"})
    assert run("a.py", "gone.py") == 2
    assert run.errors == [("gone.py", "no such file or folder")]


def test_unreadable_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    project(run.root, {"locked.py": "x = 1\n", "a.py": BRANCH})
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "locked.py":
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert run() == 2
    assert run.errors == [("locked.py", "cannot be read: Permission denied")]
    assert [code for _, code, _ in run.findings] == ["FER102"]
    # not asked about, not reported
    assert run("a.py") == 1
    assert run.errors == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_fifo_does_not_block(run: Run) -> None:
    os.mkfifo(run.root / "pipe.py")
    assert run() == 0
    assert run("pipe.py") == 2
    assert run.errors == [("pipe.py", "not a regular file")]


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        (b"select = [\n", "ferrule.toml:2", "not valid TOML"),
        (b"\nselekt = []\n", "ferrule.toml:2", 'unknown setting "selekt"; did you mean "select"?'),
        (b"sharded = 3\n", "ferrule.toml:1", '"sharded": expected'),
        (b"\xff", "ferrule.toml", "is not UTF-8"),
    ],
)
def test_broken_settings(run: Run, content: bytes, place: str, message: str) -> None:
    project(run.root, {"ferrule.toml": content, "a.py": ""})
    assert run() == 2
    assert run.document == {}
    assert f"{place}: error: " in run.err
    assert message in run.err
    assert run.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"[[call]\n", ":1: error: "),
        (b'[library]\nname = "x"\n\n[[call]]\nnmae = "f"\n', ":5: error: "),
        (None, "error: "),
    ],
)
def test_broken_model_file(run: Run, content: bytes | None, place: str) -> None:
    project(run.root, {"ferrule.toml": 'models = ["mine.toml"]\n', "a.py": "x = 1\n"})
    if content is not None:
        (run.root / "mine.toml").write_bytes(content)
    assert run() == 2
    assert "mine.toml" in run.err
    assert place in run.err
    assert "Traceback" not in run.err


def test_unwritable_cache(run: Run) -> None:
    project(run.root, {"a.py": "x = 1\n", ".ferrule_cache": "in the way"})
    assert run() == 0


def test_results_do_not_depend_on_the_cache(run: Run) -> None:
    project(run.root, {"a.py": BRANCH, "b.py": "def f(:\n"})
    results = []
    for args in (["."], ["."], ["--no-cache", "."]):
        run(*args)
        del run.document["summary"]["seconds"]
        results.append(run.document)
    assert results[0] == results[1] == results[2]
    for path in (run.root / ".ferrule_cache").rglob("*.json"):
        path.write_bytes(path.read_bytes()[:-10])
    run()
    del run.document["summary"]["seconds"]
    assert run.document == results[0]


def test_file_that_vanishes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    project(run.root, {"a.py": "x = 1\n"})

    def vanish(facts: object, report: object) -> list[Any]:
        (run.root / "a.py").unlink()
        return []

    fake_checks(monkeypatch, vanish)
    assert run() == 0
    monkeypatch.undo()


def test_a_crash_in_one_file_does_not_hide_the_others(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from ferrule_lint.frontend import lower

    extract = lower.extract

    def crash(source: bytes) -> object:
        if b"boom" in source:
            raise AssertionError("a\nb")
        return extract(source)

    project(run.root, {"a.py": "boom = 1\n", "b.py": "x = 1\n"})
    calls = fake_checks(monkeypatch, nothing)
    monkeypatch.setattr(lower, "extract", crash)
    assert run("--no-cache") == 2
    ((path, message),) = run.errors
    assert path == "a.py"
    assert message.startswith("internal error (AssertionError: a b")
    assert "please report it" in message
    assert set(calls.facts or ()) == {"b.py"}
