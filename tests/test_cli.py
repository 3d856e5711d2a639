"""The command line: arguments, exit codes, and what goes to which stream."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pipeline import at_text, fake_checks, nothing, project

import ferrule_lint
from ferrule_lint.cli import main as cli_main
from ferrule_lint.findings import Confidence, LintError
from ferrule_lint.project.config import Settings

SOURCE = "if rank == 0:\n    dist.all_reduce(x)\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one finding, as the current folder."""
    project(tmp_path, {"train.py": SOURCE, "clean.py": "x = 1\n"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    finding = at_text("train.py", SOURCE, "dist.all_reduce(x)", "rank == 0")
    fake_checks(monkeypatch, lambda facts, report: [finding] if "train.py" in report else [])
    return tmp_path


def test_finding_is_exit_code_1(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run([]) == 1
    out, err = capsys.readouterr()
    assert "train.py:2:5: FER102 [high] `all_reduce` is reached by some ranks only" in out
    assert "Found 1 problem (1 error) in 2 files." in out
    assert err == ""


def test_clean_is_exit_code_0(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["clean.py"]) == 0
    assert capsys.readouterr().out == "No problems found in 1 file.\n"


def test_exit_zero(here: Path) -> None:
    assert cli_main.run(["--exit-zero"]) == 0


def test_missing_path_is_exit_code_2_even_with_exit_zero(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--exit-zero", "gone.py", "train.py"]) == 2
    out = capsys.readouterr().out
    assert "error: gone.py: no such file or folder" in out
    # the rest is linted all the same
    assert "FER102" in out


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["rule", "FER101"], "rule: no such file or folder; did you mean `ferrule-lint explain`?"),
        (["--select", "FER102", "FER103"], "codes are separated by commas: `--select FER102,FER103`"),
        (["train.py:2:5"], "`ferrule-lint why train.py:2` says what is known of a line"),
        (["format", "gone.py"], "format: no such file or folder; nothing is formatted here"),
        (["chek", "gone.py"], "chek: no such file or folder; did you mean `ferrule-lint check`?"),
        (["data", "gone.py"], "data: no such file or folder\n"),
        (["gone.py:2"], "gone.py:2: no such file or folder\n"),
    ],
)
def test_paths_that_mean_something_else(
    here: Path, capsys: pytest.CaptureFixture[str], args: list[str], hint: str
) -> None:
    assert cli_main.run(args) == 2
    out = capsys.readouterr().out
    assert hint in out
    assert out.count("; ") <= 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--add-noqa"], "No such option '--add-noqa': `--add-suppressions` writes comments"),
        (["train.py", "--exclude", "x"], "No such option '--exclude': `--extend-exclude` adds to"),
        (["check", "--watch"], "No such option '--watch': `ferrule-lint server`"),
        (["--selct", "FER1"], "No such option '--selct'. "),
    ],
)
def test_options_of_other_linters(
    here: Path, capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    assert cli_main.run(args) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "args", [["check", "train.py"], ["-q", "check", "train.py"], ["--ignore", "FER2", "check", "train.py"]]
)
def test_check_may_be_named(here: Path, args: list[str]) -> None:
    assert cli_main.run(args) == 1


@pytest.mark.parametrize("args", [["./rules"], ["check", "./rules"], ["check", "rules"], ["./check"]])
def test_folders_called_like_commands(here: Path, args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("rules", "check"):
        project(here, {f"{name}/inside.py": "x = 1\n"})
    assert cli_main.run([*args, "--show-files"]) == 0
    assert capsys.readouterr().out in ("rules/inside.py\n", "check/inside.py\n")


def test_other_commands_come_before_options(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["-q", "rules"]) == 2
    assert "./rules" in capsys.readouterr().err


def test_select_and_ignore(here: Path) -> None:
    assert cli_main.run(["--select", "FER2"]) == 0
    assert cli_main.run(["--select", "fer2,FER102"]) == 1
    assert cli_main.run(["--ignore", "FER1"]) == 0
    # the more specific prefix decides
    assert cli_main.run(["--ignore", "FER1", "--extend-select", "FER102"]) == 1
    assert cli_main.run(["--select", "FER102", "--ignore", "FER102"]) == 0


def test_selection_on_the_command_line_starts_anew(here: Path) -> None:
    (here / "ferrule.toml").write_text('ignore = ["FER102"]\n')
    assert cli_main.run([]) == 0
    assert cli_main.run(["--extend-select", "FER102"]) == 0
    assert cli_main.run(["--select", "FER102"]) == 1
    assert cli_main.run(["--isolated"]) == 1


def test_unknown_code_is_an_error_with_a_suggestion(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--select", "FER10Z"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith('error: unknown rule code "FER10Z" in select; did you mean "FER10')


@pytest.mark.parametrize(
    ("word", "hint"),
    [("Collective-in-divergent-branch", '; did you mean "FER102"?'), ("E501", ""), ("FER999", "")],
)
def test_unknown_codes_that_mean_something_else(
    here: Path, capsys: pytest.CaptureFixture[str], word: str, hint: str
) -> None:
    assert cli_main.run(["--select", word]) == 2
    assert capsys.readouterr().err == f'error: unknown rule code "{word}" in select{hint}\n'


def test_unknown_code_in_a_settings_file_has_its_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "ferrule.toml").write_text('select = [\n  "FER102",\n  "FER9",\n]\n')
    assert cli_main.run([]) == 2
    assert capsys.readouterr().err.startswith(f'{here / "ferrule.toml"}:3: error: unknown rule code "FER9"')


def test_excluded_on_the_command_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(here, {"vendored/a.py": "x = 1\n", "tests/b.py": "x = 1\n", "sub/vendored/c.py": "x = 1\n"})
    (here / "ferrule.toml").write_text('extend-exclude = ["/tests"]\n')

    def files(*args: str) -> list[str]:
        assert cli_main.run(["--show-files", *args]) == 0
        return capsys.readouterr().out.split()

    assert files() == ["clean.py", "sub/vendored/c.py", "train.py", "vendored/a.py"]
    # beside what the settings exclude
    assert files("--extend-exclude", "vendored, clean.py") == ["train.py"]
    assert files("--extend-exclude", "/vendored", "--isolated") == [
        "clean.py", "sub/vendored/c.py", "tests/b.py", "train.py",
    ]  # fmt: skip


def test_min_confidence(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    low = at_text("train.py", SOURCE, "dist.all_reduce(x)", confidence=Confidence.LOW)
    fake_checks(monkeypatch, lambda facts, report: [low])
    assert cli_main.run([]) == 0
    assert cli_main.run(["--min-confidence", "low"]) == 1


def test_bad_option_is_exit_code_2(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--bogus"]) == 2
    assert "No such option" in capsys.readouterr().err


def test_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--output-format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [(finding["code"], finding["path"]) for finding in document["findings"]] == [("FER102", "train.py")]
    assert document["summary"]["files"] == 2
    assert document["summary"]["lines"] == 3


def test_paths_are_relative_to_the_current_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "sub").mkdir()
    monkeypatch.chdir(here / "sub")
    cli_main.run(["../train.py", "--output-format", "json"])
    assert json.loads(capsys.readouterr().out)["findings"][0]["path"] == "../train.py"
    cli_main.run(["../train.py", "--output-format", "concise"])
    assert capsys.readouterr().out.startswith("../train.py:2:5: FER102")


def test_statistics(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--statistics"]) == 1
    assert capsys.readouterr().out == "1  FER102  collective-in-divergent-branch\n"
    cli_main.run(["--statistics", "--output-format", "json"])
    counts = json.loads(capsys.readouterr().out)
    assert counts == [{"code": "FER102", "name": "collective-in-divergent-branch", "count": 1}]
    # nothing to count is no empty page
    assert cli_main.run(["--statistics", "clean.py"]) == 0
    assert capsys.readouterr().out == "No problems found in 1 file.\n"


def test_quiet_has_no_summary(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli_main.run(["-q", "clean.py"])
    assert capsys.readouterr() == ("", "")


def test_verbose_goes_to_the_standard_error(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli_main.run(["-v", "--output-format", "json"])
    out, err = capsys.readouterr()
    json.loads(out)
    assert f"project root: {here}" in err
    assert "linted: 2 files, 3 lines, in " in err
    assert "read: 2 files of the project\n" in err
    # budgets that nothing has come to are not spoken of
    assert "cut off: functions (budget, 3 times)\n" in err
    assert "budget_exceeded" not in err


def test_show_settings(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "ferrule.toml").write_text('sharded = [".*Block"]\n')
    assert cli_main.run(["--show-settings", "--min-confidence", "high"]) == 0
    out = capsys.readouterr().out
    assert f"# settings file: {here / 'ferrule.toml'}" in out
    assert 'sharded = [".*Block"]' in out
    assert 'min-confidence = "high"' in out


def test_settings_reach_the_checks(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "ferrule.toml").write_text("sharded = true\n")
    calls = fake_checks(monkeypatch, nothing)
    assert cli_main.run(["train.py"]) == 0
    assert calls.sharded is True
    # the whole project is read, only the given paths are reported
    assert set(calls.facts or ()) == {"train.py", "clean.py"}
    assert set(calls.report or ()) == {"train.py"}


def test_cache_options(here: Path) -> None:
    cli_main.run(["--no-cache"])
    assert not (here / ".ferrule_cache").exists()
    cli_main.run(["--cache-dir", "elsewhere"])
    assert not (here / ".ferrule_cache").exists()
    assert list((here / "elsewhere").rglob("*.json"))
    cli_main.run([])
    assert list((here / ".ferrule_cache").rglob("*.json"))


def test_errors_of_the_checks_are_exit_code_2(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_checks(monkeypatch, nothing, errors=(LintError("train.py", 2, "too odd"),))
    assert cli_main.run([]) == 2
    assert "error: train.py:2: too odd" in capsys.readouterr().out


def test_a_crash_in_the_analysis_is_reported_and_not_raised(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(facts: object, report: object) -> list[object]:
        raise ZeroDivisionError("in a check")

    fake_checks(monkeypatch, crash)  # type: ignore[arg-type]
    (here / "broken.py").write_text("def f(:\n")
    assert cli_main.run([]) == 2
    out = capsys.readouterr().out
    assert "error: internal error (ZeroDivisionError: in a check" in out
    assert "please report it" in out
    # what was found before stands
    assert "broken.py:1:7: FER001" in out


def test_a_crash_of_the_command_line_is_exit_code_2(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(*args: object, **named: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr("ferrule_lint.engine.lint", crash)
    assert cli_main.run([]) == 2
    assert "bug in ferrule-lint" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="the current folder cannot be deleted here")
def test_the_current_folder_is_gone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = here / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    for args in ([], ["why", "a.py:1"], [str(here)]):
        assert cli_main.run(args) == 2
        assert capsys.readouterr().err == "error: the current folder does not exist any more\n"


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["explain", "fer102"]) == 0
    out = capsys.readouterr().out
    assert "## What it does" in out
    assert cli_main.run(["explain", "collective-in-divergent-branch"]) == 0
    assert capsys.readouterr().out == out


def test_explain_unknown_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["explain", "FER1O2"]) == 2
    assert capsys.readouterr().err.startswith("error: there is no rule 'FER1O2', did you mean FER1")
    assert cli_main.run(["explain", "fer20"]) == 2
    assert capsys.readouterr().err == "error: there is no rule 'fer20'; these begin so: FER201, FER202\n"
    assert cli_main.run(["explain", "syntax-errors"]) == 2
    assert capsys.readouterr().err == "error: there is no rule 'syntax-errors', did you mean syntax-error?\n"


def test_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines]
    assert "FER102" in listed
    assert lines[0].split("  ")[-1].strip() == "A file that cannot be parsed"
    assert "  no fix  " in lines[0] and "  safe fix  " in lines[1]
    assert listed == sorted(listed)
    assert cli_main.run(["rules", "--output-format", "json"]) == 0
    rules = json.loads(capsys.readouterr().out)
    assert [rule["code"] for rule in rules] == listed


def test_help_names_options_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["-h"]) == 0
    out = capsys.readouterr().out
    for word in ("--select", "--version", "explain", "rules", "Exit codes"):
        assert word in out


def test_module_entry_point(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ferrule_lint", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ferrule-lint ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_full_disk_is_no_bug(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = (\n")
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "ferrule_lint", "--no-cache", "a.py"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(ferrule_lint.__file__).parents[1])},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: the report cannot be written: No space left on device\n")
    assert "Traceback" not in done.stderr


def test_a_stream_that_cannot_show_a_character(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "bad.py").write_text("é = (\n", encoding="utf-8")
    # no checks needed: the file does not parse, and the encoding of the pipe has no "é"
    done = subprocess.run(
        [sys.executable, "-m", "ferrule_lint", "bad.py", "--no-cache", "--isolated", "--show-files"],
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
        cwd=here,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_settings_of_the_given_path_count_not_of_the_current_folder(
    here: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    other = project(tmp_path_factory.mktemp("other"), {"a.py": "", "ferrule.toml": 'output-format = "json"\n'})
    assert cli_main.run([str(other / "a.py")]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["files"] == 1
    assert Settings().output_format == "full"


OF_ONE_RANK = """\
import torch.distributed as dist


def first(batch):
    if batch.sum() > 3:
        dist.barrier()


class Trainer:
    def step(self, batch):
        if batch.sum() > 3:
            return
        dist.barrier()
"""


@pytest.mark.parametrize("options", [[], ["--no-cache"], ["--fix"]])
def test_a_parameter_stands_where_the_text_of_its_line_begins(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(OF_ONE_RANK)
    for _ in range(2):  # the second time from the cache, or what is left after the fix of the first function
        assert cli_main.run(["a.py", "--isolated", "--output-format", "json", *options]) == 1
        finding = json.loads(capsys.readouterr().out)["findings"][-1]
        source = (tmp_path / "a.py").read_text().splitlines()[finding["witness"][0]["line"] - 1]
        assert source[finding["witness"][0]["column"] - 1 :] == "def step(self, batch):"
