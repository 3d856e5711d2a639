"""Comments that state facts: where they may stand, and what becomes of them. What they say: dataflow/stated.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule_lint.cli.main import run
from ferrule_lint.facts import types as f
from ferrule_lint.facts.stated import stated
from ferrule_lint.frontend.lower import extract

PLACES = "it stands at no assignment, `return`, `if`, `while`, `for`, `def` or parameter"
WITHIN = "it stands within a statement: write it behind its end, or above it"
CALLS = "it stands at no call, `def`, or assignment of a function"


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("import os  # ferrule: uniform\n", PLACES),
        ("x: int  # ferrule: divergent\n", PLACES),
        ("class A:  # ferrule: uniform\n    pass\n", PLACES),
        ("with a:  # ferrule: uniform\n    pass\n", PLACES),
        ("f(x)  # ferrule: uniform\n", PLACES),
        ("return_ = 1\npass  # ferrule: collective\n", CALLS),
        ("x = 1  # ferrule: collective\n", CALLS),
        ("if x:  # ferrule: collective\n    pass\n", CALLS),
        ("x = 1  # ferrule: uniform[FER102]\n", "`uniform` is said of code, not of a rule"),
        ("x = f(\n    a,  # ferrule: uniform\n    b,\n)\n", WITHIN),
        ("def f(\n    a,\n    # ferrule: uniform\n    b,\n):\n    pass\n", WITHIN),
        ("def f(\n    a,  # ferrule: collective\n    b,\n):\n    pass\n", WITHIN),
        ("x = 1\n# ferrule: uniform\n", "there is no code below it"),
    ],
)
def test_misplaced(source: str, problem: str) -> None:
    (comment,) = extract(source.encode()).suppressions
    assert (comment.form, comment.text) == ("misplaced", problem)
    line = source.splitlines()[comment.line - 1]
    assert line[comment.column - 1 : comment.end_column - 1].startswith("# ferrule: ")


def test_text_and_prose_state_nothing() -> None:
    plain = b'x = "# ferrule: uniform"\ny = 1  # the ferrule is uniform\n'
    facts = extract(plain)
    assert facts.suppressions == ()
    assert all(type(s) is f.Assign and type(s.value) is f.Const for s in facts.body)


def test_a_fact_is_part_of_what_is_kept() -> None:
    (said,) = extract(b"x = f()  # ferrule: uniform\n").body
    (bare,) = extract(b"x = f()\n").body
    assert type(said) is f.Assign
    assert type(bare) is f.Assign
    assert said.value is not None
    assert stated(said.value) == ("uniform", bare.value)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_several_files_and_the_cache(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    helper = "import mylib\n\n\ndef ready():{}\n    return mylib.poll()\n"
    step = "import torch.distributed as dist\nfrom helper import ready\n\n\n"
    step += "def step(x):\n    if ready():\n        dist.all_reduce(x)\n"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.py").write_bytes(step.replace("\n", ending).encode())
    for comment, code in (("", 0), ("  # ferrule: divergent", 1), ("  # ferrule: uniform", 0)):
        (tmp_path / "helper.py").write_bytes(helper.format(comment).replace("\n", ending).encode())
        assert run(["--cache-dir", ".cache", "--output-format", "concise", "step.py", "helper.py"]) == code
    assert "`ready()` differs by rank" in capsys.readouterr().out


def test_a_misplaced_one_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("import os  # ferrule: uniform\n")
    assert run(["--no-cache", "--output-format", "concise", "a.py"]) == 1
    assert f"a.py:1:12: FER002 [high] states nothing: {PLACES}" in capsys.readouterr().out
