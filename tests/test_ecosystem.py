"""benchmarks/ecosystem.py on small invented projects, with a stand-in for the linter."""

from __future__ import annotations

import json
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from support import benchmark

SCRIPT = pathlib.Path(__file__).parents[1] / "benchmarks" / "ecosystem.py"
eco = benchmark("ecosystem")

#: Reports a finding for every line `call(...)  # FERnnn`, with a fingerprint of code, path and call.
LINTER = r"""
import json, pathlib, re, sys
assert sys.argv[1:] == ["--output-format", "json", "--exit-zero", "."], sys.argv
findings, lines, files = [], 0, 0
for file in sorted(pathlib.Path(".").rglob("*.py")):
    text = file.read_text()
    if "CRASH" in text:
        sys.exit("internal error")
    files += 1
    lines += len(text.splitlines())
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"\s*(.*)  # (FER\d+)", line):
            findings.append({"code": match[2], "path": file.as_posix(), "line": number, "message": match[1],
                             "fingerprint": f"{match[2]}|{file.as_posix()}|{match[1]}"})
summary = {"files": files, "lines": lines, "findings": len(findings), "suppressed": 0, "seconds": 0.5}
print(json.dumps({"version": "1", "tool_version": "0", "findings": findings, "errors": [], "summary": summary}))
"""
COMMIT = "0123456789abcdef0123456789abcdef01234567"
RECORD = f'[[repository]]\nname = "own/proj"\ncommit = "{COMMIT}"\n'

Run = Callable[..., int]


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    root = tmp_path / "proj"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "a.py").write_text("x = 1\nbarrier()  # FER102\ngather()  # FER201\n")
    (root / "notes.txt").write_text("barrier()  # FER102\n")
    return root


@pytest.fixture
def record(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "record.toml"
    path.write_text(RECORD)
    return path


@pytest.fixture
def run(tmp_path: pathlib.Path, tree: pathlib.Path, record: pathlib.Path) -> Run:
    linter = tmp_path / "linter.py"
    linter.write_text(LINTER)

    def call(*args: str, tree: pathlib.Path | None = tree) -> int:
        where = [] if tree is None else ["--tree", f"proj={tree}"]
        tool = shlex.join([sys.executable, str(linter)])
        return int(eco.main([*where, "--tool", tool, "--record", str(record), *args]))

    return call


def findings_of(record: pathlib.Path) -> list[dict[str, Any]]:
    return list(tomllib.loads(record.read_text()).get("finding", []))


def judge(record: pathlib.Path, code: str, judgement: str, why: str) -> None:
    """What a person does with an editor."""
    pattern = rf'(code = "{code}"\n(?:.+\n)*?)judgement = ""\nwhy = ""'
    text, count = re.subn(pattern, rf'\1judgement = "{judgement}"\nwhy = "{why}"', record.read_text())
    assert count == 1
    record.write_text(text)


def test_new_findings_are_listed_and_fail(run: Run, record: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = record.read_text()
    assert run() == 1
    out = capsys.readouterr().out
    assert "new (2):" in out
    assert "own/proj pkg/a.py:2 FER102 FER102|pkg/a.py|barrier(): barrier()" in out
    assert "2 findings in 1 files, 3 lines" in out
    assert record.read_text() == before


def test_the_table_gives_findings_per_10000_lines(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["FER102", "1", "3333.33", "0", "0", "0", "1"] in rows
    assert ["all", "2", "6666.67", "0", "0", "0", "2"] in rows
    assert eco.rate(3, 0) == "-"


def test_update_writes_what_was_found(run: Run, record: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--update") == 0
    assert findings_of(record) == [
        {"repo": "own/proj", "code": "FER102", "path": "pkg/a.py", "line": 2,
         "fingerprint": "FER102|pkg/a.py|barrier()", "judgement": "", "why": ""},
        {"repo": "own/proj", "code": "FER201", "path": "pkg/a.py", "line": 3,
         "fingerprint": "FER201|pkg/a.py|gather()", "judgement": "", "why": ""},
    ]  # fmt: skip
    text = record.read_text()
    capsys.readouterr()
    assert run() == 0
    assert "unjudged before (2):" in capsys.readouterr().out
    assert run("--update") == 0
    assert record.read_text() == text


def test_judgements_survive_moved_lines(
    run: Run, record: pathlib.Path, tree: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("--update")
    judge(record, "FER102", "true", "rank 0 only")
    source = tree / "pkg" / "a.py"
    source.write_text("\n\n" + source.read_text())
    capsys.readouterr()
    assert run() == 0
    out = capsys.readouterr().out
    assert "0 new, 0 gone, 2 moved, 1 unjudged of 2" in out
    assert ["FER102", "1", "2000.00", "1", "0", "0", "0"] in [line.split() for line in out.splitlines()]
    run("--update")
    first = findings_of(record)[0]
    assert (first["line"], first["judgement"], first["why"]) == (4, "true", "rank 0 only")


def test_a_gone_finding_is_listed_with_its_judgement_and_fails(
    run: Run, record: pathlib.Path, tree: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("--update")
    judge(record, "FER201", "false", "padded by the caller")
    (tree / "pkg" / "a.py").write_text("barrier()  # FER102\n")
    capsys.readouterr()
    assert run() == 1
    out = capsys.readouterr().out
    assert "gone (1):" in out and "false: padded by the caller" in out
    assert run("--update") == 0
    assert [f["code"] for f in findings_of(record)] == ["FER102"]


def test_by_place_keeps_a_judgement_under_a_new_fingerprint(run: Run, record: pathlib.Path, tree: pathlib.Path) -> None:
    run("--update")
    judge(record, "FER102", "arguable", "debug path")
    record.write_text(record.read_text().replace("FER102|", "old|"))
    text = record.read_text()
    assert run() == 1
    assert run("--update") == 0
    assert findings_of(record)[0]["judgement"] == ""
    record.write_text(text)
    assert run("--update", "--by-place") == 0
    assert findings_of(record)[0] == {
        "repo": "own/proj", "code": "FER102", "path": "pkg/a.py", "line": 2,
        "fingerprint": "FER102|pkg/a.py|barrier()", "judgement": "arguable", "why": "debug path",
    }  # fmt: skip


def entry(line: int, judgement: str = "true") -> Any:
    return eco.Entry("own/proj", "FER102", "a.py", line, "same", judgement, "why")


def found(line: int) -> Any:
    return eco.Found("FER102", "a.py", line, "same", "message")


def test_findings_that_share_a_fingerprint_are_paired_by_line_first() -> None:
    comparison = eco.compare("own/proj", [entry(5, "true"), entry(9, "false")], [found(9)])
    assert [(e.judgement, f.line) for e, f in comparison.kept] == [("false", 9)]
    assert [e.line for e in comparison.gone] == [5]
    comparison = eco.compare("own/proj", [entry(5)], [found(7), found(8)])
    assert [(e.line, f.line) for e, f in comparison.kept] == [(5, 7)]
    assert [f.line for _, f in comparison.new] == [8]


def test_equal_lines_and_fingerprints_are_counted() -> None:
    comparison = eco.compare("own/proj", [entry(5), entry(5)], [found(5)])
    assert (len(comparison.kept), len(comparison.gone), len(comparison.new)) == (1, 1, 0)


def git(repo: pathlib.Path, *args: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *identity, "-C", str(repo), *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def mirror(tmp_path: pathlib.Path, tree: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # set when the tests run in a git hook
        monkeypatch.delenv(name, raising=False)
    try:
        git(tree, "init", "--quiet")
    except FileNotFoundError:
        pytest.skip("no git")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "--no-verify", "-m", "first")
    (tree / "pkg" / "a.py").write_text("later\n")
    git(tree, "commit", "--quiet", "--no-verify", "-am", "second")
    place = tmp_path / "mirror" / "own+proj"
    place.mkdir(parents=True)
    subprocess.run(["git", "clone", "--quiet", "--bare", str(tree), str(place / "repo")], check=True)
    return place.parent


def test_a_clone_is_read_at_the_commit_of_the_record(
    run: Run, record: pathlib.Path, tree: pathlib.Path, mirror: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record.write_text(RECORD.replace(COMMIT, git(tree, "rev-parse", "HEAD~1")))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    assert run("--mirror", str(mirror), "--update", tree=None) == 0
    assert [f["code"] for f in findings_of(record)] == ["FER102", "FER201"]


def test_a_missing_commit_or_clone_cannot_be_run_and_keeps_its_record(
    run: Run, record: pathlib.Path, mirror: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("--update")
    kept = findings_of(record)
    assert run("--mirror", str(mirror), "--update", tree=None) == 2
    assert "could not run: own/proj" in capsys.readouterr().err
    assert findings_of(record) == kept
    assert run("--mirror", str(mirror / "none"), tree=None) == 2
    assert "no clone at" in capsys.readouterr().err


def test_a_wheel_is_read_at_the_version_of_the_record(
    run: Run, record: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mirror" / "own+proj"
    folder.mkdir(parents=True)
    for version in ("1.2.0", "1.3.0"):
        with zipfile.ZipFile(folder / f"proj-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("proj/a.py", f"barrier()  # FER102\nx = '{version}'\n")
            wheel.writestr("proj/notes.txt", "gather()  # FER201\n")
    record.write_text(RECORD.replace(f'commit = "{COMMIT}"', 'wheel = "1.2.0"'))
    assert run("--mirror", str(folder.parent), "--update", tree=None) == 0
    assert [f["path"] for f in findings_of(record)] == ["proj/a.py"]
    assert 'wheel = "1.2.0"' in record.read_text()
    assert "own/proj @ 1.2.0" in capsys.readouterr().out
    (folder / "proj-1.2.0-py3-none-any.whl").unlink()
    assert run("--mirror", str(folder.parent), tree=None) == 2
    assert "no wheels of version 1.2.0" in capsys.readouterr().err


def test_repositories_that_were_not_run_keep_their_findings(run: Run, record: pathlib.Path) -> None:
    other = (
        f'[[repository]]\nname = "own/other"\ncommit = "{COMMIT}"\n[[finding]]\nrepo = "own/other"\ncode = "FER101"\n'
        'path = "o.py"\nline = 3\nfingerprint = "f"\njudgement = "true"\nwhy = "so"\n'
    )
    record.write_text(RECORD + other)
    assert run("--update") == 0
    assert [(f["repo"], f["code"], f["why"]) for f in findings_of(record)] == [
        ("own/proj", "FER102", ""), ("own/proj", "FER201", ""), ("own/other", "FER101", "so"),
    ]  # fmt: skip


def test_a_crash_of_the_linter_is_reported(run: Run, tree: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "b.py").write_text("CRASH\n")
    assert run() == 2
    assert "exit code 1: internal error" in capsys.readouterr().err


def test_save_keeps_the_reports_and_the_tree_is_left_alone(
    run: Run, tree: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    before = sorted(tree.rglob("*"))
    run("--save", str(tmp_path / "reports"))
    assert len(json.loads((tmp_path / "reports" / "own+proj.json").read_text())["findings"]) == 2
    assert sorted(tree.rglob("*")) == before


def test_kept_reports_are_compared_without_linting(
    run: Run, tree: pathlib.Path, record: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = tmp_path / "reports"
    run("--save", str(reports))
    (tmp_path / "linter.py").unlink()
    assert run("--reports", str(reports), "--update", tree=None) == 0
    assert len(findings_of(record)) == 2
    assert run("--reports", str(tmp_path / "none"), tree=None) == 2
    assert "own+proj.json" in capsys.readouterr().err


NASTY = "a\"b\\c\n\t\r\x00\x1b\x7f\u2028é\U0001f600 # [x] = '''"


def test_what_is_written_is_read_back() -> None:
    repositories = [eco.Repository("own/proj", COMMIT)]
    entries = [eco.Entry("own/proj", "FER101", NASTY, 3, NASTY, "false", 'say "no" \\ \u00e9')]
    assert eco.load(eco.dump(repositories, entries)) == (repositories, entries)
    assert tomllib.loads(f"x = {eco.quote('a' + chr(0xD800))}") == {"x": "a\ufffd"}


def finding(**changes: object) -> str:
    fields: dict[str, object] = {
        "repo": "own/proj", "code": "FER101", "path": "a.py", "line": 3, "fingerprint": "f", "judgement": "", "why": "",
    }  # fmt: skip
    # a string or an integer reads the same in JSON and in TOML
    return RECORD + "[[finding]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in (fields | changes).items())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[", "record: "),
        ("repository = 1", "`repository` must be of type list"),
        (RECORD.replace(COMMIT, "main"), "not 40 hex digits"),
        (RECORD.replace("own/", ""), "is not owner/name"),
        (RECORD.replace(f'commit = "{COMMIT}"', 'wheel = "*"'), "is no version"),
        (RECORD * 2, "twice"),
        (finding(line="3"), "`line` must be of type int"),
        (finding(repo="a/b"), "no [[repository]] is called 'a/b'"),
        (finding(judgement="maybe", why="x"), "judgement 'maybe' is none of"),
        (finding(judgement="true"), "without saying why"),
        (finding(judgement="true", why="a\nb"), "`why` is one line"),
    ],
)
def test_a_wrong_record_is_refused(
    run: Run, record: pathlib.Path, capsys: pytest.CaptureFixture[str], text: str, complaint: str
) -> None:
    record.write_text(text)
    assert run() == 2
    assert complaint in capsys.readouterr().err
    assert record.read_text() == text


def report(**changes: object) -> str:
    item = {"code": "FER101", "path": "a.py", "line": 1, "fingerprint": "f", "message": "m"}
    data = {
        "version": "1", "tool_version": "0", "findings": [item | changes], "errors": [],
        "summary": {"files": 1, "lines": 1, "seconds": 0},
    }  # fmt: skip
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Traceback", "no JSON"),
        (report().replace('"version": "1"', '"version": "2"', 1), "version '2' is not known"),
        (report(line=True), "`line` must be of type int"),
        (report(path="/tmp/a.py"), "no relative posix path"),
        (report(fingerprint=""), "no fingerprint"),
    ],
)
def test_a_report_that_breaks_the_contract_is_refused(text: str, complaint: str) -> None:
    assert len(eco.parse(report()).findings) == 1
    with pytest.raises(eco.CannotRun, match=re.escape(complaint)):
        eco.parse(text)


def test_the_names_of_repositories() -> None:
    repositories = [eco.Repository("a/x", COMMIT), eco.Repository("b/x", COMMIT), eco.Repository("b/y", COMMIT)]
    assert [eco.pick(repositories, n).name for n in ("a/x", "b+x", "y")] == ["a/x", "b/x", "b/y"]
    with pytest.raises(eco.CannotRun, match="more than one"):
        eco.pick(repositories, "x")


def test_options_that_make_no_sense() -> None:
    for argv in ([], ["--tree", "x=y", "--by-place"]):
        with pytest.raises(SystemExit) as caught:
            eco.main(argv)
        assert caught.value.code == 2


@pytest.mark.parametrize("name", ["ecosystem.toml", "drawn.toml"])
def test_the_committed_records_are_in_the_form_that_update_writes(name: str) -> None:
    text = eco.RECORD.with_name(name).read_text(encoding="utf-8")
    assert eco.dump(*eco.load(text)) == text
