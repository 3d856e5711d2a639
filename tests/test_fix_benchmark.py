"""`benchmarks/fixes.py`: what it holds of a repair, on a project of two files."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pipeline import project
from support import benchmark

TWINS = Path(__file__).parent / "fixes"
fixes = benchmark("fixes", "benchmark_of_fixes")  # another module of the tests has that name

UNSAFE = (TWINS / "reduce_decision" / "nothing_selected.py").read_bytes()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    files = {"a.py": UNSAFE, "b.py": (TWINS / "reduce_decision" / "no_exit_on_a_good_value.py").read_bytes()}
    return project(tmp_path / "clone", files)


def test_a_project(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fixes.main([str(clone), "--save", str(clone / "out")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("clone: 2 findings, 1 fixed, 0 fixes dropped, 1 left, 1 files changed\n")
    assert "    reduce-decision: 1\n" in out
    assert "WRONG" not in out
    assert (clone / "a.py").read_bytes() == UNSAFE
    assert "+++ b/a.py" in (clone / "out" / "clone.diff").read_text()


def test_changes_elsewhere_are_seen(clone: Path) -> None:
    fixed, _ = fixes.repair(clone)
    (path,) = fixed.repair.contents
    here = fixed.repair.applied
    before, after = fixed.before[path], fixed.repair.contents[path]
    assert not fixes.changed_outside(before, after, here)
    assert fixes.changed_outside(before, after + b"\nx = 1\n", here)
    assert fixes.changed_outside(before, after, ())
    functions = [node.name for node in ast.parse(before).body if isinstance(node, ast.FunctionDef)]
    other = next(name for name in functions if not here[0].function.endswith(name)).encode()
    assert fixes.changed_outside(before, after.replace(b"def " + other + b"(", b"def _" + other + b"("), here)
