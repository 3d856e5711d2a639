"""A baseline: what was found before is not reported, what is new is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pipeline import project

from ferrule_lint.cli import main as cli_main

HEAD = "import torch.distributed as dist\n\n\n"
BUG = HEAD + "def f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n"
OTHER = HEAD + "def g(x):\n    if dist.get_rank() == 0:\n        return\n    dist.barrier()\n"
FILE = ".ferrule-baseline.json"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project(tmp_path, {"a.py": BUG, "b.py": OTHER})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str) -> int:
    return cli_main.run(["--no-cache", "--output-format", "concise", *args])


def entries(root: Path) -> list[dict[str, Any]]:
    return json.loads((root / FILE).read_text())["findings"]  # type: ignore[no-any-return]


def test_only_new_findings_are_reported(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--write-baseline") == 0
    out, err = capsys.readouterr()
    assert err == f"Wrote 2 findings to {FILE}.\n"
    assert out == "No problems found in 2 files, 2 in the baseline.\n"
    assert run() == 0
    assert run("--no-baseline") == 1
    (root / "b.py").write_text(OTHER + "    if dist.get_rank() == 1:\n        dist.all_gather(x, x)\n")
    capsys.readouterr()
    assert run() == 1
    out, _ = capsys.readouterr()
    assert out.splitlines()[0].startswith("b.py:9:9: FER102")
    assert out.splitlines()[1] == "Found 1 problem (1 error) in 2 files, 2 in the baseline."


def test_entries_survive_moved_lines_and_new_spacing(root: Path) -> None:
    run("--write-baseline")
    reformatted = "    dist.all_reduce(\n            x,\n        )"
    (root / "a.py").write_text(BUG.replace(HEAD, HEAD + "y = 1\n\n\n").replace("    dist.all_reduce(x)", reformatted))
    assert run() == 0
    # the text of the call decides, and the function
    (root / "a.py").write_text(BUG.replace("all_reduce(x)", "all_reduce(x + 1)"))
    assert run() == 1
    (root / "a.py").write_text(BUG.replace("def f", "def h"))
    assert run() == 1


def test_one_more_of_the_same_is_new(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--write-baseline")
    (root / "a.py").write_text(BUG + "    if dist.get_rank() == 2:\n        dist.all_reduce(x)\n")
    assert run() == 1
    assert "Found 1 problem" in capsys.readouterr().out
    run("--write-baseline")
    assert [entry["count"] for entry in entries(root)] == [2, 1]
    assert run() == 0


def test_stale_entries_are_said_and_pruned(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--write-baseline")
    (root / "a.py").write_text("x = 1\n")
    capsys.readouterr()
    assert run() == 0
    assert capsys.readouterr().err == f"1 entry of {FILE} matches nothing any more; --prune-baseline drops it.\n"
    assert len(entries(root)) == 2
    (root / "b.py").unlink()
    assert run("--prune-baseline") == 0
    assert capsys.readouterr().err == f"Dropped 2 entries of {FILE}.\n"
    assert entries(root) == []
    # and the bug is news if it comes back
    (root / "a.py").write_text(BUG)
    assert run() == 1


def test_only_what_the_run_could_have_found_is_judged(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--write-baseline")
    (root / "a.py").write_text("x = 1\n")
    capsys.readouterr()
    for args in (["b.py"], ["--select", "FER103"], ["--min-confidence", "high", "b.py"]):
        assert run(*args) == 0
        assert capsys.readouterr().err == ""
    # a part can be written anew without touching the rest
    assert run("--write-baseline", "b.py") == 0
    assert run("--write-baseline", "--select", "FER2") == 0
    assert [entry["code"] for entry in entries(root)] == ["FER102", "FER103"]
    assert run("--write-baseline") == 0
    assert [entry["code"] for entry in entries(root)] == ["FER103"]


def test_a_comment_takes_the_place_of_an_entry(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--write-baseline")
    (root / "a.py").write_text(BUG.replace("(x)\n", "(x)  # ferrule: ignore[FER102]\n"))
    capsys.readouterr()
    assert run() == 0
    out, err = capsys.readouterr()
    assert out == "No problems found in 2 files, 1 suppressed, 1 in the baseline.\n"
    assert "1 entry" in err


def test_writing_twice_changes_nothing(root: Path) -> None:
    run("--write-baseline")
    first = (root / FILE).read_bytes()
    assert json.loads(first)["version"] == "1"
    run("--write-baseline")
    assert (root / FILE).read_bytes() == first


def test_another_file(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--write-baseline", "--baseline", "old.json") == 0
    assert not (root / FILE).exists()
    assert run() == 1
    assert run("--baseline", "old.json") == 0
    (root / "ferrule.toml").write_text('baseline = "old.json"\n')
    assert run() == 0
    (root / "sub").mkdir()
    assert run("--baseline", "gone.json") == 2
    assert "there is no such baseline" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a baseline"),
        ("[]", "not a baseline of version 1"),
        ('{"version": "7", "findings": []}', "not a baseline of version 1"),
        ('{"version": "1"}', "an entry is damaged"),
        ('{"version": "1", "findings": [{}]}', "an entry is damaged"),
        ('{"version": "1", "findings": [1]}', "an entry is damaged"),
        ("[" * 100_000, "not a baseline"),
    ],
)
def test_damaged_files(root: Path, content: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    (root / FILE).write_text(content)
    assert run() == 2
    err = capsys.readouterr().err
    assert err.startswith(f"{root / FILE}: error: ")
    assert message in err
    # it can be written anew
    assert run("--write-baseline") == 0
    assert run() == 0


@pytest.mark.parametrize(
    "args", [["--no-baseline", "--write-baseline"], ["--write-baseline", "--add-suppressions"], ["--prune-baseline"]]
)
def test_contradictions(root: Path, args: list[str]) -> None:
    assert run(*args) == 2


def test_errors_are_still_told(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--write-baseline", "a.py", "gone.py") == 2
    assert "error: gone.py: no such file" in capsys.readouterr().out
    assert len(entries(root)) == 1


def test_the_file_is_not_written_half(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("--write-baseline")
    before = (root / FILE).read_bytes()
    (root / "a.py").write_text("x = 1\n")

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    assert run("--write-baseline") == 2
    assert (root / FILE).read_bytes() == before
    assert sorted(path.name for path in root.iterdir()) == [FILE, "a.py", "b.py", "pyproject.toml"]
