"""What functions and attributes said is kept: an edit that does not change it concerns nobody else, and where nothing
has changed it is read and not worked out again."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from pipeline import project
from test_memory import CHAINS, LAST, PIECES, Project, checked, lint, write

from ferrule_lint import engine
from ferrule_lint.checks import known
from ferrule_lint.checks.known import FileResult, Remembered
from ferrule_lint.checks.remembered import Answers
from ferrule_lint.checks.reread import reread
from ferrule_lint.checks.written import written
from ferrule_lint.engine import run as whole_run
from ferrule_lint.findings import Report
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models
from ferrule_lint.project.config import load_settings
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.calls.summaries import Summaries
from ferrule_lint.semantics.domain.summary import Summary

__all__ = ["checked"]

TOP = (
    "from pkg.middle import name\nimport torch.distributed as dist\n\n"
    "def top():\n    if name() == 'a':\n        dist.barrier()\n"
)
STEPS = {
    "pkg/__init__.py": "",
    "pkg/top.py": TOP,
    "pkg/middle.py": "from pkg.low import low\n\ndef name():\n    return low() + 'x'\n",
    "pkg/low.py": "from pkg.lowest import lowest\n\ndef low():\n    return lowest()\n",
    "pkg/lowest.py": "def lowest():\n    kind = 'b'\n    return kind\n",
}


@pytest.fixture(autouse=True)
def over_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_run, "MANY", 1)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions whose summaries are worked out."""
    seen: list[str] = []
    compute = Summaries._computed

    def note(self: Summaries, key: object, before: object, function: object, *more: object) -> object:
        seen.append(function.name)  # type: ignore[attr-defined]
        return compute(self, key, before, function, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Summaries, "_computed", note)
    return seen


def test_an_edit_that_changes_nothing_of_what_is_said_concerns_nobody_else(
    tmp_path: Path, checked: list[str], computed: list[str]
) -> None:
    root = project(tmp_path, STEPS)
    lint(root)
    checked.clear()
    computed.clear()
    write(root, "lowest.py", STEPS["pkg/lowest.py"].replace("    kind", "    other = 3\n    kind"))
    warm = lint(root)
    assert checked == ["pkg/lowest.py"]
    assert set(computed) == {"lowest"}
    assert warm == lint(root, use_cache=False)


def test_what_is_said_otherwise_concerns_those_who_say_otherwise_then(
    tmp_path: Path, checked: list[str], computed: list[str]
) -> None:
    root = project(tmp_path, {**STEPS, "pkg/lowest.py": "import os\n" + STEPS["pkg/lowest.py"]})
    assert not lint(root).findings
    checked.clear()
    write(root, "lowest.py", "import os\n" + STEPS["pkg/lowest.py"].replace("'b'", "os.environ['RANK']"))
    warm = lint(root)
    assert [finding.path for finding in warm.findings] == ["pkg/top.py"]
    assert set(checked) == {path for path in STEPS if path != "pkg/__init__.py"}
    assert warm == lint(root, use_cache=False)


def lint_few(root: Path, name: str, monkeypatch: pytest.MonkeyPatch, *, use_cache: bool = True) -> Report:
    """A run over one file, as in a commit."""
    with monkeypatch.context() as few:
        few.setattr(whole_run, "MANY", 16)
        return engine.lint([root / "pkg" / name], load_settings(root), use_cache=use_cache)


def test_a_run_over_one_file_reads_what_one_over_the_project_has_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, computed: list[str]
) -> None:
    root = project(tmp_path, STEPS)
    lint(root)
    write(root, "top.py", TOP + "    return 1\n")
    computed.clear()
    lint_few(root, "top.py", monkeypatch)
    assert computed == ["top"]
    # which stays what it was
    computed.clear()
    lint(root)
    assert computed == ["top"]


def test_runs_over_a_few_files_keep_something_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, computed: list[str]
) -> None:
    root = project(tmp_path, STEPS)
    lint_few(root, "top.py", monkeypatch)
    assert set(computed) == {"top", "name", "low", "lowest"}
    computed.clear()
    write(root, "top.py", TOP + "    return 1\n")
    lint_few(root, "top.py", monkeypatch)
    assert computed == ["top"]


@pytest.mark.parametrize("seed", range(6))
def test_a_run_over_one_file_finds_what_a_cold_one_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    root = project(tmp_path, {"pkg/__init__.py": ""})
    pick = random.Random(seed)
    edited = Project(root, pick)
    edited.write()
    if seed % 2:
        lint(root)
    for _ in range(10):
        edited.edit()
        edited.write()
        name = pick.choice(["use.py", "again.py", "library.py"])
        warm = lint_few(root, name, monkeypatch)
        assert warm.findings == lint_few(root, name, monkeypatch, use_cache=False).findings


def test_columns_that_have_moved_are_shown_where_they_are(tmp_path: Path, computed: list[str]) -> None:
    root = project(tmp_path, CHAINS)
    lint(root)
    write(root, "chain_c.py", LAST.replace("    dist.barrier()", "    True;  dist . barrier()"))
    lint(root)
    write(root, "chain_c.py", LAST.replace("    dist.barrier()", "    True;     dist . barrier()"))
    computed.clear()
    warm = lint(root)
    assert "go" not in computed
    assert warm == lint(root, use_cache=False)
    shown = {step.column for finding in warm.findings for step in finding.witness if step.path == "pkg/chain_c.py"}
    assert 15 in shown


def test_lines_that_have_moved_are_shown_where_they_are(tmp_path: Path, computed: list[str]) -> None:
    root = project(tmp_path, CHAINS)
    lint(root)
    write(root, "chain_c.py", "\n\n" + LAST)
    write(root, "use_one.py", CHAINS["pkg/use_one.py"] + "\ndef more():\n    pass\n")
    computed.clear()
    warm = lint(root)
    assert "act" not in computed
    assert warm == lint(root, use_cache=False)
    assert {step.line for finding in warm.findings for step in finding.witness if step.path == "pkg/chain_c.py"} == {
        6,
        9,
    }


@pytest.mark.parametrize("files", [CHAINS, STEPS, {f"pkg/{name}": "\n".join(p) for name, p in PIECES.items()}])
def test_what_is_read_again_is_what_was_written(files: dict[str, str]) -> None:
    facts = {path: extract(text.encode()) for path, text in files.items()}
    analysis = Analysis(facts, load_models())
    for module in analysis.names.modules.values():
        for function in module.functions.values():
            analysis.frame_of(function)
    summaries = [known for known, _ in analysis.summaries._known.values() if known.question is not None]
    assert len(summaries) > 3
    for summary in summaries:
        said = written(summary, lambda question: "digest")
        assert said is not None
        again = reread(said.text(), analysis, lambda path, point: point, Summary(None))
        assert written(again, lambda question: "digest") == said


def spoilt(text: str, pick: random.Random) -> str:
    """What somebody else may have put in the place of what was written."""
    kind = pick.randrange(4)
    if kind == 0:
        return text[: len(text) // 2]
    if kind == 1:
        return json.dumps([["f", 1, "x"], []])
    if kind == 2:
        return json.dumps([["FunctionInfo", "pkg/none.py:f"], [["pkg/none.py", 1, 0]]])
    return json.dumps([["^", 3], None])


@pytest.mark.parametrize("seed", range(4))
def test_foreign_answers_are_worked_out_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    pick = random.Random(seed)
    root = project(tmp_path, CHAINS)
    lint(root)
    inputs = Remembered.inputs

    def other(self: Remembered) -> list[known.KnownInput]:
        return [one._replace(text=spoilt(one.text, pick)) if one.text else one for one in inputs(self)]

    monkeypatch.setattr(Remembered, "inputs", other)
    write(root, "use_one.py", CHAINS["pkg/use_one.py"] + "\ndef more():\n    run()\n")
    warm = lint(root)
    assert not warm.errors
    assert warm == lint(root, use_cache=False)


def test_who_calls_what_cannot_be_written_does_not_count_as_unchanged(tmp_path: Path) -> None:
    """A function that returns another one, with what stands around it: nothing says whether that is the same."""
    maker = (
        "import torch.distributed as dist\n\ndef make():\n    flag = 1\n    dist.barrier()\n"
        "    def inner():\n        return flag\n    return inner\n"
    )
    middle = "from pkg.maker import make\n\ndef first():\n    make()\n\n" + "".join(
        f"def {name}():\n    {called}()\n\n"
        for name, called in (("second", "first"), ("third", "second"), ("fourth", "third"), ("middle", "fourth"))
    )
    use = (
        "import torch.distributed as dist\nfrom pkg.middle import middle\n\ndef use():\n"
        "    if dist.get_rank() == 0:\n        middle()\n    else:\n        dist.barrier()\n"
    )
    root = project(tmp_path, {"pkg/__init__.py": "", "pkg/maker.py": maker, "pkg/middle.py": middle, "pkg/use.py": use})
    assert not lint(root).findings
    write(root, "maker.py", maker.replace("    dist.barrier()\n", "    dist.barrier()\n    dist.barrier()\n"))
    assert [finding.path for finding in lint(root).findings] == ["pkg/use.py"]


def test_an_error_in_working_out_what_a_function_says_is_one_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path, STEPS)
    lint(root)
    write(root, "lowest.py", STEPS["pkg/lowest.py"].replace("    kind", "    other = 3\n    kind"))
    compute = Summaries._computed

    def fail(self: Summaries, key: object, before: object, function: object, *more: object) -> object:
        if function.name == "lowest":  # type: ignore[attr-defined]
            raise ValueError("not today")
        return compute(self, key, before, function, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Summaries, "_computed", fail)
    report = lint(root)
    assert "pkg/lowest.py" in {error.path for error in report.errors}
    assert all("internal error" in error.message and "not today" in error.message for error in report.errors)


def test_an_entry_that_lacks_something_is_not_used(tmp_path: Path, computed: list[str]) -> None:
    root = project(tmp_path, STEPS)
    lint(root)
    for entry in (root / ".ferrule_cache" / "results").glob("*.json"):
        body = entry.read_text().partition("\n")[2]
        if "\\u0000" in body:
            body = body.replace("\\u0000", "", 1)
            entry.write_text(f"ferrule-results {zlib.crc32(body.encode()):08x}\n{body}")
    write(root, "top.py", TOP + "    return 1\n")
    computed.clear()
    assert lint(root) == lint(root, use_cache=False)
    assert "low" in computed


def test_findings_that_have_moved_are_not_looked_for_again(tmp_path: Path, checked: list[str]) -> None:
    root = project(tmp_path, CHAINS)
    assert len(lint(root).findings) == 4
    checked.clear()
    write(root, "use_one.py", "# a comment\n" + CHAINS["pkg/use_one.py"].replace("    if", "    # and another\n    if"))
    write(root, "chain_c.py", "\n" + LAST)
    warm = lint(root)
    assert not checked
    assert warm == lint(root, use_cache=False)


def test_the_files_behind_what_functions_say_count_as_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixes of two files are tried together where one reads what the fix of the other changes, however far below."""
    found: list[set[str]] = []
    remember = Answers.remembered

    def note(self: Answers, results: Sequence[FileResult]) -> Remembered:
        found.extend(self.files_of(result) for result in results if result.path == "pkg/top.py")
        return remember(self, results)

    monkeypatch.setattr(Answers, "remembered", note)
    root = project(tmp_path, STEPS)
    lint(root)
    write(root, "low.py", "# a comment\n" + STEPS["pkg/low.py"])
    lint(root)
    assert len(found) == 2
    assert all({"pkg/top.py", "pkg/middle.py", "pkg/low.py", "pkg/lowest.py"} <= files for files in found)
