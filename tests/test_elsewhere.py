"""Few files are linted: what a test in them makes go wrong in files that call what they define is reported, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pipeline import project

from ferrule_lint.cli import main as cli_main
from ferrule_lint.engine import lint
from ferrule_lint.project.config import load_settings

HELPER = """\
import torch.distributed as dist


def shared(flag, x):
    if flag:
        dist.all_reduce(x)
    return x
"""
CALLER = """\
import torch.distributed as dist
from helper import shared


def train(x):
    return shared(dist.get_rank() == 0, x)
"""
GUARD = """\
import torch.distributed as dist
from helper import shared


def train(x):
    if dist.get_rank() == 0:
        return shared(True, x)
    return x
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project(tmp_path, {"helper.py": HELPER, "caller.py": CALLER, "guard.py": GUARD, "other.py": "x = 1\n"})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[tuple[str, str]]:
    cli_main.run([*arguments, "--output-format", "json"])
    out, _ = capsys.readouterr()
    return sorted((one["path"], one["code"]) for one in json.loads(out)["findings"])


def test_a_test_in_the_linted_file_decides_over_a_call_in_another(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert found(capsys, "helper.py") == [("caller.py", "FER102")]
    assert found(capsys, "other.py") == []
    assert found(capsys) == [("caller.py", "FER102"), ("guard.py", "FER102")]


def test_it_is_found_again_with_what_an_earlier_run_knows(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cold = found(capsys, "helper.py", "--no-cache")
    assert cold == found(capsys, "helper.py") == found(capsys, "helper.py") != []
    (here / "caller.py").write_text(CALLER.replace("dist.get_rank() == 0", "True"))
    assert found(capsys, "helper.py") == []
    (here / "caller.py").write_text(CALLER)
    assert found(capsys, "helper.py") == cold
    assert found(capsys, "other.py") == []


def test_a_comment_at_the_call_counts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unused = CALLER + "\n\ny = 1  # ferrule: ignore[FER101]\n"
    (here / "caller.py").write_text(unused)
    assert found(capsys, "helper.py", "--extend-select", "FER002") == [("caller.py", "FER102")]
    call = "    return shared(dist.get_rank() == 0, x)"
    (here / "caller.py").write_text(CALLER.replace(call, f"{call}  # ferrule: ignore[FER102]"))
    assert found(capsys, "helper.py") == []


def test_a_file_that_was_not_asked_for_is_not_changed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = GUARD.replace("return shared(True, x)", "dist.barrier()")
    (here / "caller.py").write_text(text.replace("    return x\n", "    return shared(dist.get_rank() == 0, x)\n"))
    before = (here / "caller.py").read_bytes()
    cli_main.run(["helper.py", "--fix", "--unsafe-fixes"])
    assert (here / "caller.py").read_bytes() == before


def test_an_excluded_file_stays_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert found(capsys, "helper.py", "--extend-exclude", "caller.py") == []


def test_an_editor_is_told_of_its_file_alone(here: Path) -> None:
    assert lint([here / "helper.py"], load_settings(here), use_cache=False).findings == ()


def test_what_is_written_down_is_of_the_files_that_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (here / "caller.py").read_bytes()
    cli_main.run(["helper.py", "--add-suppressions"])
    assert (here / "caller.py").read_bytes() == before
    cli_main.run(["--write-baseline"])
    cli_main.run(["helper.py", "--write-baseline"])
    capsys.readouterr()
    assert cli_main.run([]) == 0
    assert "any more" not in capsys.readouterr().err
