"""`--fix` and its relatives from the command line, and what they do to files."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from pipeline import project

from ferrule_lint.cli import main as cli_main
from ferrule_lint.findings import Edit, Span
from ferrule_lint.fixes.text import SourceText
from ferrule_lint.fixes.write import NotWritten, write

FOLDER = Path(__file__).parent / "fixes"
SAFE = (FOLDER / "lift_guard" / "barrier_at_the_end.py").read_bytes()
SAFE_DIFF = (FOLDER / "lift_guard" / "barrier_at_the_end.diff").read_text().replace("barrier_at_the_end", "safe")
UNSAFE = (FOLDER / "reduce_decision" / "nothing_selected.py").read_bytes()
NEVER = (FOLDER / "reduce_decision" / "no_test_of_the_rank.py").read_bytes()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a safe fix, one with an assumption, and a finding without, as the current folder."""
    project(tmp_path, {"safe.py": SAFE, "unsafe.py": UNSAFE, "never.py": NEVER, "clean.py": "x = 1\n"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return tmp_path


def run(*args: str) -> int:
    return cli_main.run([*args, "--no-cache"])


def test_nothing_is_changed_unless_asked(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 1
    out = capsys.readouterr().out
    assert "[*] 1 fixable with --fix (1 more with --unsafe-fixes)." in out
    assert "= fix (safe): the collective runs on every rank" in out
    assert "   | -        dist.barrier()\n   | +    # the others wait for the folder\n   | +    dist.barrier()\n" in out
    assert "= fix (unsafe): all ranks return only if each of them would; assumes that" in out
    assert (here / "safe.py").read_bytes() == SAFE


def test_where_there_is_no_fix_it_says_where_to_read_on(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("never.py") == 1
    told = "No fix is offered for it; `ferrule-lint explain FER103` says what usually helps.\n"
    assert capsys.readouterr().out.endswith(told)
    run()
    assert capsys.readouterr().out.endswith(told.replace("for it", "for 1 of them"))
    run("--output-format", "concise", "never.py")
    assert "explain" not in capsys.readouterr().out
    run("safe.py")
    assert "explain" not in capsys.readouterr().out
    run("--fix", "never.py")
    assert capsys.readouterr().out.endswith(told)


@pytest.mark.parametrize("option", ["--diff", "--fix-only"])
def test_without_a_report_it_is_said_where_nothing_could_be_fixed(
    here: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    def told(*args: str) -> str:
        run(option, *args)
        return capsys.readouterr().err.removeprefix("Would fix 0 problems, 1 left.\n")

    assert told("never.py") == "No fix is offered for it; `ferrule-lint explain FER103` says what usually helps.\n"
    assert told("unsafe.py") == "No fixes without assumptions; 1 with --fix --unsafe-fixes.\n"
    # not where something was fixed, nothing is left, or less is to be said
    assert "explain" not in told("safe.py", "never.py")
    assert told("clean.py") in ("", "Would fix 0 problems, 0 left.\n")
    assert told("--quiet", "never.py") == ""
    assert "explain" not in told("--output-format", "concise", "never.py")


def test_fix(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--fix") == 1
    out, err = capsys.readouterr()
    assert "Found 2 problems (2 errors) in 4 files, 1 fixed." in out
    assert err == ""
    assert (here / "safe.py").read_bytes() != SAFE
    assert (here / "unsafe.py").read_bytes() == UNSAFE
    assert sorted(path.name for path in here.iterdir()) == [
        "clean.py",
        "never.py",
        "pyproject.toml",
        "safe.py",
        "unsafe.py",
    ]


def test_unsafe_fixes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--fix", "--unsafe-fixes", "safe.py", "unsafe.py") == 0
    assert capsys.readouterr().out == "Fixed 2 problems, none left in 2 files.\n"
    assert b"_every_rank(scores.numel() == 0)" in (here / "unsafe.py").read_bytes()
    assert run("safe.py", "unsafe.py") == 0


def test_fix_only_does_not_report_what_is_left(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--fix-only") == 0
    assert capsys.readouterr().out == "Fixed 1 problem, 2 left in 4 files.\n"
    assert (here / "safe.py").read_bytes() != SAFE
    # also where nothing could be repaired
    assert run("--fix-only", "never.py") == 0
    assert capsys.readouterr().out == "Fixed 0 problems, 1 left in 1 file.\n"


@pytest.mark.parametrize("form", ["full", "concise", "grouped"])
def test_unsafe_fixes_are_marked_and_counted_once_they_are_allowed(
    here: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    def marked(*args: str) -> tuple[int, str]:
        assert run("--output-format", form, *args) == 1
        lines = capsys.readouterr().out.splitlines()
        return sum("[*] `" in line for line in lines), next(line for line in lines if "fixable" in line)

    assert marked() == (1, "[*] 1 fixable with --fix (1 more with --unsafe-fixes).")
    assert marked("--unsafe-fixes") == (2, "[*] 2 fixable with --fix.")


def test_exit_non_zero_on_fix(here: Path) -> None:
    assert run("--fix", "--exit-non-zero-on-fix", "safe.py") == 1
    assert run("--fix", "--exit-non-zero-on-fix", "safe.py") == 0


def test_diff_changes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--diff") == 1
    out, err = capsys.readouterr()
    assert out == SAFE_DIFF
    assert err == "Would fix 1 problem, 2 left.\n"
    assert (here / "safe.py").read_bytes() == SAFE
    assert run("--diff", "clean.py", "never.py") == 0


def test_a_diff_can_be_applied(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for change in (SAFE.replace(b"\n", b"\r\n"), SAFE.rstrip(b"\n"), SAFE):
        (here / "safe.py").write_bytes(change)
        run("--diff", "safe.py")
        diff = capsys.readouterr().out
        done = subprocess.run(
            ["git", "apply", "--unsafe-paths", "-"], input=diff.encode(), cwd=here, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        applied = (here / "safe.py").read_bytes()
        (here / "safe.py").write_bytes(change)
        run("--fix", "safe.py")
        capsys.readouterr()
        assert (here / "safe.py").read_bytes() == applied


def test_settings_can_ask_for_fixes(here: Path) -> None:
    (here / "pyproject.toml").write_text("[tool.ferrule-lint]\nfix = true\n")
    assert run("--no-fix", "safe.py") == 1
    assert (here / "safe.py").read_bytes() == SAFE
    assert run("safe.py") == 0


def test_a_misspelled_code_in_the_settings(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "pyproject.toml").write_text('[tool.ferrule-lint]\nextend-safe-fixes = ["FER999"]\n')
    assert run() == 2
    assert 'unknown rule code "FER999" in extend-safe-fixes' in capsys.readouterr().err


def test_json_has_the_edits(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--output-format", "json")
    document = json.loads(capsys.readouterr().out)
    schema = json.loads(resources.files("ferrule_lint.reporters").joinpath("schema.json").read_text("utf-8"))
    jsonschema.validate(document, schema)
    fixes = {finding["path"]: finding["fix"] for finding in document["findings"]}
    assert fixes["never.py"] is None
    assert (fixes["safe.py"]["form"], fixes["safe.py"]["safety"]) == ("lift-guard", "safe")
    edits = [
        Edit(Span(edit["line"], edit["column"], edit["end_line"], edit["end_column"]), edit["text"])
        for edit in fixes["safe.py"]["edits"]
    ]
    run("--fix", "safe.py")
    assert SourceText(SAFE).edited(edits) == (here / "safe.py").read_bytes()


def test_a_clean_run_with_fix_loads_no_libcst(here: Path) -> None:
    code = (
        "import sys\nfrom ferrule_lint.cli.main import run\nstatus = run(['clean.py', '--fix', '--no-cache'])\n"
        "print(status, [name for name in ('rich', 'libcst', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=here, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


# ---------------------------------------------------------------------- with what an earlier run has found out


@pytest.mark.parametrize("edited", [False, True])
def test_a_warm_run_fixes_what_a_cold_one_does(here: Path, capsys: pytest.CaptureFixture[str], edited: bool) -> None:
    cli_main.run([])
    if edited:
        (here / "clean.py").write_text("x = 2\n")
    capsys.readouterr()
    run("--diff", "--unsafe-fixes")
    cold = capsys.readouterr()
    assert "unsafe.py" in cold.out
    for _ in range(2):
        cli_main.run(["--diff", "--unsafe-fixes"])
        assert capsys.readouterr() == cold
    assert cli_main.run(["--fix", "--unsafe-fixes"]) == 1
    assert "Found 1 problem (1 error) in 4 files, 2 fixed." in capsys.readouterr().out
    assert b"_every_rank(scores.numel() == 0)" in (here / "unsafe.py").read_bytes()


def test_where_nothing_is_to_be_fixed_nothing_is_analysed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ferrule_lint.engine import run as whole_run

    assert cli_main.run(["clean.py", "unsafe.py"]) == 1

    def fail(*args: object) -> object:
        raise AssertionError("analysed")

    monkeypatch.setattr(whole_run, "_analyse", fail)
    assert cli_main.run(["clean.py", "unsafe.py", "--fix"]) == 1


def test_why_a_fix_does_not_hold_is_said_each_time(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ferrule_lint.findings import Fix, Safety
    from ferrule_lint.fixes import propose

    def useless(site):  # type: ignore[no-untyped-def]
        return Fix("useless", "adds a comment", Safety.SAFE, (Edit(Span(1, 1, 1, 1), "# hello\n"),))

    monkeypatch.setitem(propose.FORMS, "FER102", (useless,))
    cli_main.run(["safe.py"])
    for _ in range(2):
        capsys.readouterr()
        assert cli_main.run(["--fix", "safe.py"]) == 1
        assert "FER102 not fixed (useless): the finding would still be there" in capsys.readouterr().err


# ---------------------------------------------------------------------- files


def test_mode_and_links_are_kept(here: Path) -> None:
    real = here / "sub" / "real.py"
    real.parent.mkdir()
    (here / "safe.py").rename(real)
    real.chmod(0o754)
    (here / "safe.py").symlink_to(Path("sub") / "real.py")
    assert run("--fix", "safe.py") == 0
    assert (here / "safe.py").is_symlink()
    assert os.readlink(here / "safe.py") == os.path.join("sub", "real.py")
    assert stat.S_IMODE(real.stat().st_mode) == 0o754
    assert real.read_bytes() != SAFE


def test_a_file_that_was_changed_meanwhile_is_left(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ferrule_lint.cli import fixing

    original = fixing.write

    def change_first(fixed, settings):  # type: ignore[no-untyped-def]
        (here / "safe.py").write_bytes(SAFE + b"y = 2\n")
        return original(fixed, settings)

    monkeypatch.setattr(fixing, "write", change_first)
    assert run("--fix", "safe.py") == 2
    assert "error: safe.py: not fixed: was changed since it was read" in capsys.readouterr().out
    assert (here / "safe.py").read_bytes() == SAFE + b"y = 2\n"


def test_write_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(NotWritten, match="No space left on device"):
            write(path, b"old", b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.py"]
    write(path, b"old", b"new")
    assert path.read_bytes() == b"new"
    with pytest.raises(NotWritten, match="changed since"):
        write(path, b"old", b"newer")
    assert [one.name for one in tmp_path.iterdir()] == ["a.py"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anything")
def test_a_write_protected_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(NotWritten, match="write-protected"):
        write(path, b"old", b"new")
    assert path.read_bytes() == b"old"


# ---------------------------------------------------------------------- verification


def test_a_fix_that_does_not_hold_is_dropped_and_said_so(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ferrule_lint.findings import Fix, Safety
    from ferrule_lint.fixes import propose

    def useless(site):  # type: ignore[no-untyped-def]
        return Fix("useless", "adds a comment", Safety.SAFE, (Edit(Span(1, 1, 1, 1), "# hello\n"),))

    def broken(site):  # type: ignore[no-untyped-def]
        return Fix("broken", "adds a bracket", Safety.SAFE, (Edit(Span(1, 1, 1, 1), "(\n"),))

    monkeypatch.setitem(propose.FORMS, "FER102", (useless,))
    monkeypatch.setitem(propose.FORMS, "FER103", (broken,))
    assert run("--fix", "safe.py", "unsafe.py") == 1
    err = capsys.readouterr().err
    assert "FER102 not fixed (useless): the finding would still be there" in err
    assert "FER103 not fixed (broken): its result is not a Python file" in err
    assert (here / "safe.py").read_bytes() == SAFE
    assert (here / "unsafe.py").read_bytes() == UNSAFE


def test_a_fix_that_brings_up_another_finding_is_dropped(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ferrule_lint.findings import Fix, Safety
    from ferrule_lint.fixes import propose

    def worse(site):  # type: ignore[no-untyped-def]
        inner = site.tree.span(site.call)
        return Fix("worse", "another one", Safety.SAFE, (Edit(inner, "dist.all_reduce(path)"),))

    monkeypatch.setitem(propose.FORMS, "FER102", (worse,))
    assert run("--fix", "safe.py") == 1
    assert "not fixed (worse): it would lead to another finding (FER102 at " in capsys.readouterr().err
    assert (here / "safe.py").read_bytes() == SAFE
