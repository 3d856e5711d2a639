"""`ferrule-lint why PATH:LINE`: values, collectives and findings of a line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pipeline import project

from ferrule_lint.cli import main as cli_main

SOURCE = """\
import torch
import torch.distributed as dist

LIMIT = 3


def step(x, limit, loader):
    rank = dist.get_rank()
    if x is None:
        return
    elif rank == 0 and limit > LIMIT:
        dist.all_reduce(
            x,
            group=None,
        )
    with torch.no_grad() as guard:
        for batch in loader:
            sizes = [len(row) for row in batch["rows"]]
            dist.barrier()
    world = dist.get_world_size()
    unknown = limit.thing

    while unknown:
        unknown = unknown - world


print(LIMIT, dist.get_rank())
"""


def line_of(text: str) -> int:
    return SOURCE[: SOURCE.index(text)].count("\n") + 1


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project(tmp_path, {"a.py": SOURCE})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def why(capsys: pytest.CaptureFixture[str], place: str, *args: str, status: int = 0) -> str:
    capsys.readouterr()
    assert cli_main.run(["why", "--no-cache", place, *args]) == status
    out, err = capsys.readouterr()
    return out if status == 0 else err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rank = dist", ["rank: divergent", "dist.get_rank(): divergent"]),
        (
            "elif rank",
            ["rank: divergent", "rank == 0: divergent", "limit: unknown: it rests on what callers pass as `limit`"],
        ),
        ("elif rank", ["LIMIT: uniform, the same on every rank"]),
        ("if x is None", ["x is None: unknown: it rests on what callers pass as `x`"]),
        ("def step", ["x: divergent", "limit: unknown: it rests on what callers pass as `limit`"]),
        ("dist.all_reduce", ["x: divergent"]),
        ("            group=None", ["x: divergent"]),
        ("for batch", ["batch: divergent"]),
        ("sizes =", ["sizes: divergent", "batch['rows']: divergent"]),
        ("world =", ["world: uniform", "dist.get_world_size(): uniform"]),
        ("unknown = limit.thing", ["unknown: unknown: it rests on what callers pass as `limit`"]),
        ("while unknown", ["unknown: unknown"]),
        ("print(LIMIT", ["dist.get_rank(): divergent", "LIMIT: uniform"]),
    ],
)
def test_values(root: Path, capsys: pytest.CaptureFixture[str], text: str, expected: list[str]) -> None:
    out = why(capsys, f"a.py:{line_of(text)}")
    values = out.partition("values\n")[2].partition("\n\n")[0]
    for one in expected:
        assert f"  {one}" in values, out


def test_a_difference_has_its_way(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = why(capsys, f"a.py:{line_of('elif rank')}:5")
    assert out.startswith("a.py:11 in `step`\n  elif rank == 0 and limit > LIMIT:\n")
    assert "    the value differs along world (rank, confidence high)\n      1. source: `dist.get_rank()`" in out


def test_collectives(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = why(capsys, f"a.py:{line_of('dist.all_reduce')}")
    trace = out.partition("collectives of step\n")[2].partition("\n\n")[0]
    assert ">    12  " in trace
    assert "all_reduce over world" in trace
    assert "which differs along world (rank)" in trace
    # asking changes nothing: each collective is there once
    assert trace.count("all_reduce over") == 1
    assert trace.count("barrier over") == 1


@pytest.mark.parametrize(
    ("settings", "suffix", "fate"),
    [
        ("", "", "(reported)"),
        ('ignore = ["FER102"]', "", "(not reported: the rule is not selected here)"),
        ('per-file-ignores = { "a.py" = ["FER1"] }', "", "(not reported: the rule is not selected here)"),
        ("", "  # ferrule: ignore[FER102]", "(suppressed by the comment in line 11)"),
    ],
)
def test_findings_and_what_becomes_of_them(
    root: Path, capsys: pytest.CaptureFixture[str], settings: str, suffix: str, fate: str
) -> None:
    (root / "ferrule.toml").write_text(settings)
    (root / "a.py").write_text(SOURCE.replace("> LIMIT:", f"> LIMIT:{suffix}"))
    for text in ("elif rank", "dist.all_reduce"):
        out = why(capsys, f"a.py:{line_of(text)}")
        findings = out.partition("findings\n")[2]
        assert "a.py:12 FER102" in findings
        assert findings.rstrip().endswith(fate)
    assert "none in this line" in why(capsys, f"a.py:{line_of('world =')}")


def test_what_the_baseline_has_is_not_reported(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--write-baseline", "--no-cache", "--quiet"]) == 0
    fate = why(capsys, f"a.py:{line_of('elif rank')}").rstrip()
    assert fate.endswith("(not reported: it is in the baseline)")


def test_a_guess_is_explained(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (
        "import os\nimport torch.distributed as dist\n\n\ndef load(path, x):\n"
        "    if os.path.exists(path):\n        dist.all_reduce(x)\n"
    )
    (root / "b.py").write_text(source)
    out = why(capsys, "b.py:6")
    assert "not reported: its confidence is low" in out
    assert "os.path.exists(path): divergent" in out


def test_findings_elsewhere_that_come_by_here(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(
        root,
        {
            "flags.py": "import torch.distributed as dist\n\n\ndef first():\n    return dist.get_rank() == 0\n",
            "use.py": "import torch.distributed as dist\nfrom flags import first\n\n\n"
            "def f(x):\n    if first():\n        dist.all_reduce(x)\n",
        },
    )
    assert "use.py:7 FER102" in why(capsys, "flags.py:5").partition("findings\n")[2]


def test_lines_without_a_statement_lead_to_the_next_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = """\
import torch.distributed as dist


def outer(x):
    \"\"\"Of all.\"\"\"

    # the first rank alone
    if dist.get_rank() == 0:
        dist.all_reduce(x)

    def inner(y):
        # nothing

        return dist.get_rank() == y
        # the end of it

    return inner(x)
    # the end


# no function
"""
    (root / "b.py").write_text(source)
    told = "no value and no collective stands in line {}; the next statement is in line {}\nb.py:{} in `{}`\n"
    for line, below, function in ((6, 8, "outer"), (7, 8, "outer"), (12, 14, "outer.inner"), (15, 17, "outer")):
        out = why(capsys, f"b.py:{line}")
        assert out.startswith(told.format(line, below, below, function)), (line, out)
        # the rest is what is said of that line
        assert out.partition("\n")[2] == why(capsys, f"b.py:{below}")
    for line in (3, 18, 19, 21):
        assert "there is nothing to say of this line" in why(capsys, f"b.py:{line}", status=2)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("a.py", "expected PATH:LINE"),
        ("a.py:0", "expected PATH:LINE"),
        ("a.py:2", "a.py:2: error: there is nothing to say of this line"),
        ("a.py:5", "a.py:5: error: there is nothing to say of this line"),
        ("a.py:999", "there is nothing to say of this line"),
        ("gone.py:3", "gone.py: error: no such file or folder"),
        (".:3", "is not a Python file"),
        ("broken.py:1", "broken.py:1: error: cannot be parsed"),
    ],
)
def test_mistakes(root: Path, capsys: pytest.CaptureFixture[str], place: str, message: str) -> None:
    (root / "broken.py").write_text("def f(:\n")
    (root / "clean.py").write_text("")
    assert message in why(capsys, place, status=2)
