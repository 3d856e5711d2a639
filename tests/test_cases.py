"""benchmarks/cases.py: the format of the records, and how a case is counted. No clone and no network is needed."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from support import benchmark

SCRIPT = pathlib.Path(__file__).parents[1] / "benchmarks" / "cases.py"
cases = benchmark("cases")

LEARN = "https://github.com/own/proj/pull/2"  # sha256 begins with an even digit
UNSEEN = "https://github.com/own/proj/pull/1"  # and with an odd one
ENTRY: dict[str, Any] = {
    "id": "proj-rank-zero-reduce",
    "repo": "own/proj",
    "url": LEARN,
    "buggy_commit": "a" * 40,
    "fixed_commit": "b" * 40,
    "path": "proj/train.py",
    "buggy_lines": [3],
    "condition_line": 2,
    "fixed_lines": [2],
    "category": "rank-guard",
    "scope": "intra",
    "mechanism": "Rank 0 reduces alone.",
    "needs": "A rank test.",
    "fix_form": "hoist",
    "confidence": "high",
}


def write(folder: pathlib.Path, name: str, *entries: dict[str, Any]) -> None:
    def block(entry: dict[str, Any]) -> str:
        return "[[case]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in entry.items())

    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(map(block, entries)))


def faults(folder: pathlib.Path) -> list[str]:
    found: list[str] = cases.read_records(folder)[1]
    return found


def test_the_records_of_this_repository_have_the_right_format() -> None:
    found, wrong = cases.read_records(cases.RECORDS)
    assert wrong == []
    assert all(case.wanted_lines for of_set in found.values() for case in of_set)


def test_the_half_follows_from_the_address() -> None:
    assert cases.half_of(LEARN) == "learn"
    assert cases.half_of(UNSEEN) == "unseen"
    assert cases.Case(**{**ENTRY, "url": ""}).address == "own/proj@" + "b" * 40


def test_a_good_record_has_no_fault(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "learn_x.toml", ENTRY)
    assert faults(tmp_path) == []


def test_opened_cases_are_of_the_unseen_half_and_a_set_of_their_own(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "opened_x.toml", {**ENTRY, "url": UNSEEN}, {**ENTRY, "id": "another"})
    assert [c.id for c in cases.read_records(tmp_path)[0]["opened"]] == [ENTRY["id"], "another"]
    assert [f.rpartition(": ")[2] for f in faults(tmp_path)] == ["its address belongs to learn"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"buggy_lines": []}, "no buggy_lines"),
        ({"buggy_lines": "3"}, "buggy_lines = '3' is not of type list[int]"),
        ({"fixed_lines": [0]}, "fixed_lines = [0] is not of type list[int]"),
        ({"condition_line": True}, "condition_line = True is not of type int"),
        ({"fixed_commit": "bbbb"}, "fixed_commit is not a full commit id"),
        ({"category": "odd"}, "category = 'odd' is none of"),
        ({"scope": "file"}, "scope = 'file' is none of"),
        ({"url": "http://else.where/1"}, "is not the address of"),
        ({"mechanism": " "}, "mechanism is empty"),
        ({"colour": "red"}, "unknown key colour"),
        ({"id": "Has Blanks"}, "the id is words of"),
        ({"url": UNSEEN}, "its address belongs to unseen"),
    ],
)
def test_a_wrong_value_is_named(tmp_path: pathlib.Path, change: dict[str, Any], message: str) -> None:
    write(tmp_path, "learn_x.toml", {**ENTRY, **change})
    assert [f for f in faults(tmp_path) if message in f], faults(tmp_path)


@pytest.mark.parametrize("key", ["path", "needs", "fixed_lines"])
def test_a_missing_key_is_named(tmp_path: pathlib.Path, key: str) -> None:
    write(tmp_path, "learn_x.toml", {k: v for k, v in ENTRY.items() if k != key})
    assert faults(tmp_path) == [f"learn_x.toml: proj-rank-zero-reduce: no {key}"]


def test_ids_are_unique_over_all_files(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "learn_a.toml", ENTRY)
    write(tmp_path, "learn_b.toml", ENTRY)
    assert faults(tmp_path) == ["learn_b.toml: proj-rank-zero-reduce: the id is also in learn_a.toml"]


def finding(code: str, line: int, **more: Any) -> dict[str, Any]:
    return {"code": code, "path": "proj/train.py", "line": line, **more}


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([], [], "miss"),
        ([finding("FER102", 5)], [], "miss"),
        ([finding("FER102", 4)], [], "solved"),
        ([finding("FER106", 3)], [], "loose"),
        ([finding("FER102", 3)], [finding("FER103", 2)], "dirty"),
        ([finding("FER102", 3)], [finding("FER102", 9)], "solved"),
        ([finding("FER102", 9, events=[{"path": "proj/train.py", "line": 3}])], [], "solved"),
        ([finding("FER102", 9, witness=[{"path": "proj/train.py", "line": 3, "role": "source"}])], [], "miss"),
        ([finding("FER102", 9, witness=[{"path": "proj/train.py", "line": 3, "role": "event"}])], [], "solved"),
        ([finding("FER102", 9, events=[{"path": "proj/other.py", "line": 3}])], [], "miss"),
    ],
)
def test_how_a_case_is_counted(before: list[dict[str, Any]], after: list[dict[str, Any]], verdict: str) -> None:
    outcome = cases.judge(cases.Case(**ENTRY), before, after)
    assert outcome.verdict == verdict
    assert outcome.solved == (verdict == "solved")


def test_a_partial_fix_counts_neither_way() -> None:
    case = cases.Case(**ENTRY, neutral_fixed=True)
    assert cases.judge(case, [finding("FER102", 3)], [finding("FER102", 2)]).solved


def commit(repo: pathlib.Path, text: str) -> str:
    (repo / "proj").mkdir(exist_ok=True)
    (repo / "proj/train.py").write_text(text)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["add", "."], [*identity, "commit", "-q", "--no-verify", "-m", "x"]):
        subprocess.run(["git", "-C", str(repo), *arguments], check=True)
    return subprocess.run(
        ["git", "-C", str(repo), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def mirror(tmp_path: pathlib.Path) -> pathlib.Path:
    repo = tmp_path / "mirror/own+proj/repo"
    repo.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    buggy = commit(repo, "import torch\nif rank == 0:\n    reduce()  # FER102\n")
    fixed = commit(repo, "import torch\nreduce()\n\n# nothing\n")
    write(tmp_path / "records", "learn_x.toml", {**ENTRY, "buggy_commit": buggy, "fixed_commit": fixed})
    return tmp_path / "mirror"


def call(tmp_path: pathlib.Path, *arguments: str) -> int:
    code: int = cases.main(["--records", str(tmp_path / "records"), *arguments])
    return code


def test_lines_are_checked_against_a_clone(
    mirror: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, "check", "--mirror", str(mirror), "--show", ENTRY["id"]) == 0
    assert "     3>     reduce()  # FER102" in capsys.readouterr().out
    (record,) = cases.read_records(tmp_path / "records")[0]["learn"]
    wrong = {**ENTRY, "buggy_commit": record.buggy_commit, "fixed_commit": record.fixed_commit}
    write(tmp_path / "records", "learn_x.toml", {**wrong, "buggy_lines": [9], "fixed_lines": [3, 4]})
    assert call(tmp_path, "check", "--mirror", str(mirror)) == 1
    out = capsys.readouterr().out
    assert "buggy_lines: proj/train.py has 3 lines, not 9" in out
    assert "fixed_lines: no code at proj/train.py:3" in out and "fixed_lines: no code at proj/train.py:4" in out


def test_a_run_lints_both_commits_of_the_chosen_half(
    mirror: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    linter = tmp_path / "linter.py"
    linter.write_text(
        "import json, pathlib, sys\n"
        "assert pathlib.Path('.git').is_dir(), 'not a project'\n"
        "lines = enumerate(open(sys.argv[-1]).read().splitlines(), 1)\n"
        "print(json.dumps({'findings': [\n"
        "    {'code': line[-6:], 'path': sys.argv[-1], 'line': n} for n, line in lines if '# FER' in line]}))\n"
    )
    run = ("run", "--mirror", str(mirror), "--tool", f"{sys.executable} {linter}", "--trees", str(tmp_path / "trees"))
    assert call(tmp_path, *run, "--half", "learn", "--out", str(tmp_path / "out.json")) == 0
    assert json.loads((tmp_path / "out.json").read_text())[0]["verdict"] == "solved"
    assert "all" in capsys.readouterr().out
    assert call(tmp_path, *run, "--half", "unseen", "--ids", ENTRY["id"]) == 2
    assert "no such case in unseen" in capsys.readouterr().err


def test_a_finding_below_the_repository_keeps_its_file() -> None:
    assert cases.same_file("pkg/a.py", "pkg/a.py")
    assert cases.same_file("a.py", "pkg/a.py"), "the project is the folder pkg"
    assert cases.same_file("clone/pkg/a.py", "pkg/a.py")
    assert not cases.same_file("data.py", "pkg/a.py") and not cases.same_file("ta.py", "pkg/a.py")


def test_a_missing_clone_is_an_error_not_a_miss(
    mirror: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (mirror / "own+proj").rename(mirror / "away")
    assert call(tmp_path, "run", "--mirror", str(mirror), "--half", "learn") == 2
    out = capsys.readouterr().out
    assert "ERROR" in out and "no clone of own/proj" in out and "errors= 1" in out
