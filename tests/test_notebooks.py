"""Notebooks, written by Jupyter's own library: findings by cell."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pipeline import project

from ferrule_lint.cli import main as cli_main
from ferrule_lint.frontend.errors import SourceError
from ferrule_lint.frontend.notebook import read_notebook

nbformat = pytest.importorskip("nbformat", reason="nbformat is in the extra `dev`")

IMPORTS = "import torch.distributed as dist\nfrom helper import sync"
BUG = "def step(x):\n    if dist.get_rank() == 0:\n        sync(x)\n"
HELPER = "import torch.distributed as dist\n\n\ndef sync(x):\n    dist.all_reduce(x)\n"


def notebook(*cells: str, language: str = "python") -> str:
    """A notebook with these code cells, each after a cell of prose."""
    made = nbformat.v4.new_notebook(metadata={"language_info": {"name": language}})
    for cell in cells:
        made.cells += [nbformat.v4.new_markdown_cell("# prose\n\nif rank == 0:"), nbformat.v4.new_code_cell(cell)]
    nbformat.validate(made)
    return nbformat.writes(made)  # type: ignore[no-any-return]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project(tmp_path, {"helper.py": HELPER, "a.ipynb": notebook(IMPORTS, "x = 1", BUG)})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *args: str, status: int = 1) -> str:
    capsys.readouterr()
    assert cli_main.run(["--no-cache", *args]) == status
    return capsys.readouterr().out


@pytest.mark.parametrize("paths", [[], ["."], ["a.ipynb"]])
def test_findings_by_cell(root: Path, paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, *paths)
    assert "a.ipynb:cell 6:3:9: FER102" in out
    # the frame shows the cell, and the witness leads through cells and files
    assert "3 | sync(x)\n  | ^^^^^^^" in out
    assert "(a.ipynb:cell 6:2:8)" in out
    assert "(helper.py:5:5)" in out


def test_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from importlib import resources

    document = json.loads(run(capsys, "--output-format", "json"))
    schema = json.loads(resources.files("ferrule_lint.reporters").joinpath("schema.json").read_text("utf-8"))
    jsonschema.validate(document, schema)
    (finding,) = document["findings"]
    assert (finding["path"], finding["cell"], finding["line"]) == ("a.ipynb", 6, 3)
    assert [step.get("cell") for step in finding["witness"]] == [6, 6, 6, None]


@pytest.mark.parametrize("name", ["github", "sarif", "gitlab", "junit", "azure", "pylint", "rdjson"])
def test_formats_that_know_no_cells(root: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "--output-format", name)
    assert "cell 6, line 3: " in out
    assert "a.ipynb:cell" not in out


def test_the_fingerprint_does_not_depend_on_the_format(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (finding,) = json.loads(run(capsys, "--output-format", "json"))["findings"]
    (result,) = json.loads(run(capsys, "--output-format", "sarif"))["runs"][0]["results"]
    assert result["partialFingerprints"]["ferruleLint/v1"] == finding["fingerprint"] + ":1"
    # other cells before it do not matter
    (root / "a.ipynb").write_text(notebook("y = 2\nz = 3", IMPORTS, BUG))
    (moved,) = json.loads(run(capsys, "--output-format", "json"))["findings"]
    assert moved["fingerprint"] == finding["fingerprint"]
    run(capsys, "--write-baseline", status=0)
    run(capsys, status=0)


def test_comments_suppress(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "a.ipynb").write_text(
        notebook(IMPORTS, BUG.replace("0:", "0:  # ferrule: ignore[FER102]"), "# noqa: FER103")
    )
    out = run(capsys, "--output-format", "concise")
    assert out.splitlines()[0].startswith("a.ipynb:cell 6:1:9: FER002")
    assert "1 suppressed" in out


def test_comments_are_not_written_into_notebooks(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (root / "a.ipynb").read_bytes()
    capsys.readouterr()
    assert cli_main.run(["--no-cache", "--add-suppressions"]) == 2
    assert "error: a.ipynb: comments cannot be written into notebooks" in capsys.readouterr().err
    assert (root / "a.ipynb").read_bytes() == before


def test_stdin(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import io

    content = notebook("x = 1", IMPORTS + "\n" + BUG).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert "a.ipynb:cell 4:5:9" in run(capsys, "--stdin-filename", "a.ipynb", "--output-format", "concise")


def test_changed_notebooks(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-q", "-m", "start"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    run(capsys, "--changed", status=0)
    (root / "b.ipynb").write_text(notebook(IMPORTS, BUG))
    out = run(capsys, "--changed", "--output-format", "concise")
    assert out.splitlines()[0].startswith("b.ipynb:cell 4:3:9")
    assert "a.ipynb" not in out


@pytest.mark.parametrize(
    ("cells", "place"),
    [
        (["!pip install torch\n%matplotlib inline", IMPORTS, BUG], "cell 6:3:9"),
        (["pip install torch==2.4.0 'numpy<2'\ncd ..\nls", IMPORTS, BUG], "cell 6:3:9"),
        (["%%bash\nif [ x ]; then\n  echo y\nfi", IMPORTS, BUG], "cell 6:3:9"),
        (["%%time\n" + IMPORTS, "%%capture out\n" + BUG], "cell 4:4:9"),
        (["files = !ls \\\n  -l\nx = %env HOME\nlen?\n??len", IMPORTS, BUG], "cell 6:3:9"),
        ([IMPORTS, "for i in range(3):\n    !echo {i}\n    %time f(i)", BUG], "cell 6:3:9"),
        ([IMPORTS, 'x = """\n%d\n! not a magic\n""" % 3', BUG], "cell 6:3:9"),
        ([IMPORTS, "x = (5\n    % 3)", BUG], "cell 6:3:9"),
        ([IMPORTS, "", "await something", BUG], "cell 8:3:9"),
    ],
)
def test_magics(root: Path, cells: list[str], place: str, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "a.ipynb").write_text(notebook(*cells))
    lines = run(capsys, "--output-format", "concise").splitlines()
    assert lines[0].startswith(f"a.ipynb:{place}: FER102")
    assert len(lines) == 2


def test_a_cell_that_cannot_be_parsed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "a.ipynb").write_text(notebook(IMPORTS, "x = 1\ndef f(:\n", BUG))
    assert run(capsys, "--output-format", "concise").startswith("a.ipynb:cell 4:2:")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a notebook: it is not JSON"),
        ("[]", "not a notebook of format 4"),
        ('{"worksheets": []}', "not a notebook of format 4"),
        ('{"cells": 1}', "not a notebook of format 4"),
        ("[" * 100_000, "not a notebook"),
    ],
)
def test_broken_notebooks(root: Path, content: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "a.ipynb").write_text(content)
    out = run(capsys, "--output-format", "concise")
    assert out.startswith("a.ipynb:1:1: FER001 [high] " + message)


def test_other_languages_and_odd_cells(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "a.ipynb").write_text(notebook("if (x) { y <- 1 }", language="R"))
    (root / "b.ipynb").write_text(nbformat.writes(nbformat.v4.new_notebook()))
    (root / "new.ipynb").write_text("")
    run(capsys, status=0)
    odd: list[Any] = [
        1,
        {},
        {"cell_type": "code"},
        {"cell_type": "code", "source": 3},
        {"cell_type": "code", "source": ["x", 1]},
    ]
    made = read_notebook(json.dumps({"cells": odd, "metadata": 3}).encode())
    assert made is not None
    assert made.source == b"\nx\n"
    with pytest.raises(SourceError):
        read_notebook(b"\xff")


def test_checkpoints_and_notebooks_around_are_not_read(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(root, {".ipynb_checkpoints/a.ipynb": "{", "broken.ipynb": "{"})
    assert "1 problem" in run(capsys, "a.ipynb")
    run(capsys, "helper.py", status=0)


def test_why(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "b.ipynb").write_text(notebook(IMPORTS, "if dist.get_rank() == 0:\n    pass", "x = 1\nsync(x)"))
    assert cli_main.run(["why", "--no-cache", "a.ipynb:cell 6:3:9"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("a.ipynb:cell 6:3 in `step`\n  sync(x)\n")
    assert "\n      2  if `dist.get_rank() == 0`, which differs along world (rank)\n>     3" in out
    assert "\n  a.ipynb:cell 6:3 FER102 " in out
    # how a value comes about, and what the rest of the notebook issues
    assert cli_main.run(["why", "--no-cache", "b.ipynb:cell 4:1", "--graph", "why.mmd"]) == 0
    out = capsys.readouterr().out
    assert "(b.ipynb:cell 4:1:4)" in out
    assert "\n  cell 6:2  calls `sync`" in out
    assert "b.ipynb:cell 6:2" in (root / "why.mmd").read_text()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("a.ipynb:3", "a.ipynb: error: has cells; line 3 of the first one is 'a.ipynb:cell 2:3'"),
        ("a.ipynb:cell 5:1", "a.ipynb: error: cell 5 is none with code"),
        ("a.ipynb:cell 4:2", "a.ipynb: error: cell 4 has 1 line"),
        ("a.ipynb:cell 2:1", "a.ipynb:cell 2:1: error: there is nothing to say of this line"),
        ("helper.py:cell 1:1", "helper.py: error: is no notebook, and has no cells"),
    ],
)
def test_places_why_knows_nothing_of(root: Path, place: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["why", "--no-cache", place]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_a_place_that_is_no_path(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "`ferrule-lint why 'a.ipynb:cell 6:3'` says" in run(capsys, "a.ipynb:cell 6:3:9", status=2)
