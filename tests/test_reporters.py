"""What the reports look like, and that they keep their contract."""

from __future__ import annotations

import io
import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pipeline import at_text, project

from ferrule_lint.findings import Confidence, LintError, Report, Span, Step
from ferrule_lint.reporters import concise, full, text
from ferrule_lint.reporters import json as json_reporter

SOURCE = """\
def step(rank, x):
    loss = x
    if rank == 0:
        dist.all_reduce(loss)
"""


def shown(root: Path, report: Report) -> str:
    return text.plain([*full.lines(report, root, root), *concise.summary(report)])


def body(root: Path, report: Report) -> str:
    return text.plain(full.lines(report, root, root))


def test_full(tmp_path: Path) -> None:
    project(tmp_path, {"train.py": SOURCE})
    finding = at_text("train.py", SOURCE, "dist.all_reduce(loss)", "rank == 0")
    assert (
        shown(tmp_path, Report((finding,), files=1))
        == """\
train.py:4:9: FER102 [high] `all_reduce` is reached by some ranks only
  |
4 | dist.all_reduce(loss)
  | ^^^^^^^^^^^^^^^^^^^^^
  |
  = 1. source: `rank` is this rank's number  (train.py:3:8)
3 |    if rank == 0:
  = 2. condition: `rank == 0` differs along dp  (train.py:3:8)
3 |    if rank == 0:
  = 3. event: all_reduce over dp  (train.py:4:9)
4 |    dist.all_reduce(loss)

Found 1 problem (1 error) in 1 file."""
    )


def test_concise(tmp_path: Path) -> None:
    finding = at_text("a/train.py", SOURCE, "dist.all_reduce(loss)")
    report = Report(
        (finding,), (LintError("b.py", 3, "odd"), LintError("", 0, "worse")), files=2, suppressed=(finding,)
    )
    assert (
        text.plain([*concise.lines(report, tmp_path, tmp_path / "a"), *concise.summary(report)])
        == """\
train.py:4:9: FER102 [high] `all_reduce` is reached by some ranks only
error: ../b.py:3: odd
error: worse
Found 1 problem (1 error) in 2 files, 1 suppressed."""
    )


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (Report(files=3), "No problems found in 3 files."),
        (Report(), "No Python files found."),
        (Report(errors=(LintError("a", 0, "b"),)), "No problems found in 0 files, but not all of it could be checked."),
    ],
)
def test_summary(report: Report, expected: str) -> None:
    assert text.plain(concise.summary(report)) == expected


def test_missing_source_is_tolerated(tmp_path: Path) -> None:
    finding = at_text("gone.py", SOURCE, "dist.all_reduce(loss)", "rank == 0")
    assert body(tmp_path, Report((finding,))).splitlines()[:2] == [
        "gone.py:4:9: FER102 [high] `all_reduce` is reached by some ranks only",
        "  = 1. source: `rank` is this rank's number  (gone.py:3:8)",
    ]


def test_source_that_has_become_shorter(tmp_path: Path) -> None:
    project(tmp_path, {"train.py": "x\n"})
    body(tmp_path, Report((at_text("train.py", SOURCE, "dist.all_reduce(loss)", "rank == 0"),)))


def test_underline_fits_tabs_and_wide_characters(tmp_path: Path) -> None:
    source = 'if r:\n\tx = "日本"; f(\t"é")\n'
    project(tmp_path, {"a.py": source})
    lines = body(tmp_path, Report((at_text("a.py", source, 'f(\t"é")'),))).splitlines()
    assert lines[2] == '2 | x = "日本"; f(    "é")'
    # "日本" takes four cells
    assert lines[3] == "  | " + " " * len('x = "...."; ') + "^" * len('f(    "é")')


def test_call_over_several_lines(tmp_path: Path) -> None:
    call = "dist.all_reduce(\n        x,\n        group=g,\n        async_op=True,\n        op=MAX,\n    )"
    source = f"if r:\n    {call}\n"
    project(tmp_path, {"a.py": source})
    lines = body(tmp_path, Report((at_text("a.py", source, call),))).splitlines()
    assert lines[2:9] == [
        "2 | dist.all_reduce(",
        "  | ^^^^^^^^^^^^^^^^",
        "3 |     x,",
        "4 |     group=g,",
        "5 |     async_op=True,",
        "  | ...",
        "  |",
    ]


def test_long_lines_are_cut(tmp_path: Path) -> None:
    source = f"all_reduce(x)  # {'y' * 100_000}\nz = {'[' * 5_000}; all_gather(x)\n"
    project(tmp_path, {"a.py": source})
    report = Report((at_text("a.py", source, "all_reduce(x)"), at_text("a.py", source, "all_gather(x)")))
    lines = body(tmp_path, report).splitlines()
    assert max(map(len, lines)) < 140
    # a place behind the cut is not marked at a wrong one
    assert sum("^" in line for line in lines) == 1


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    source = "f(x)  # \x1b[31mred\x1b]0;title\x07 \x9b2J \u202eevil \u2028 \x7f \r\n"
    project(tmp_path, {"a\x1b[2J.py": source, "b.py": source})
    finding = at_text("a\x1b[2J.py", source, "f(x)", message="in \x1b[31m\nnext \u202e", witness=())
    steps = at_text("b.py", source, "f(x)", witness=(Step("source", "b.py", 1, 1, "\x1b[0m"),))
    report = Report((finding, steps), (LintError("b.py", 1, "\x1b[0m"),))
    for colour in (False, True):
        out = text.render([*full.lines(report, tmp_path, tmp_path)], colour=colour)
        if colour:
            assert "\x1b[31mred" not in out
            out = out.replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[1;31m", "").replace("\x1b[2m", "")
            out = out.replace("\x1b[1;34m", "").replace("\x1b[36m", "")
        assert not [c for c in out if c != "\n" and (ord(c) < 32 or c in "\x7f\x9b\u202e\u2028")]
    assert "␛[31mred" in out


def test_form_feeds_and_unicode_line_separators_end_no_line(tmp_path: Path) -> None:
    source = "a = '\u2028'\n\x0c\nb = 1 \x0b \x1c\nf(x)\n"
    project(tmp_path, {"a.py": source})
    assert "4 | f(x)" in body(tmp_path, Report((at_text("a.py", source, "f(x)"),)))


@pytest.mark.parametrize("coding", ["# coding: latin-1\n", ""])
def test_source_in_another_encoding(tmp_path: Path, coding: str) -> None:
    source = f"{coding}f('é')\n"
    project(tmp_path, {"a.py": source.encode("latin-1")})
    out = body(tmp_path, Report((at_text("a.py", source, "f('é')"),)))
    assert ("f('é')" if coding else "f('\ufffd')") in out


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "expected"),
    [
        (_Terminal(), {}, True),
        (io.StringIO(), {}, False),
        (_Terminal(), {"NO_COLOR": "1"}, False),
        (_Terminal(), {"NO_COLOR": ""}, True),
        (_Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "0"}, False),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour(stream: io.StringIO, environment: dict[str, str], expected: bool) -> None:
    assert text.wants_colour(stream, environment) is expected


def test_coloured_text_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    project(tmp_path, {"train.py": SOURCE})
    report = Report((at_text("train.py", SOURCE, "dist.all_reduce(loss)", message="[red]not markup[/red]"),))
    import re

    out = text.coloured(full.lines(report, tmp_path, tmp_path))
    assert "\x1b[" in out
    stripped = "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", out).split("\n"))
    assert stripped == text.plain(full.lines(report, tmp_path, tmp_path))


def schema() -> Any:
    return json.loads(resources.files("ferrule_lint.reporters").joinpath("schema.json").read_text("utf-8"))


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


def test_json_keeps_its_contract() -> None:
    report = Report(
        findings=(
            at_text("train.py", SOURCE, "dist.all_reduce(loss)", "rank == 0"),
            at_text("é.py", SOURCE, "loss", code="FER001", confidence=Confidence.LOW, kind="", axes=(), events=()),
        ),
        errors=(LintError("", 0, "odd \ud800"),),
        files=2,
        lines=8,
        suppressed=(at_text("train.py", SOURCE, "loss"),),
        seconds=0.12345,
    )
    rendered = json_reporter.render(report)
    assert rendered.isascii()
    document = json.loads(rendered)
    jsonschema.validate(document, schema())
    first = document["findings"][0]
    assert {key: first[key] for key in ("line", "column", "end_line", "end_column")} == {
        "line": 4,
        "column": 9,
        "end_line": 4,
        "end_column": 30,
    }
    assert [step["role"] for step in first["witness"]] == ["source", "condition", "event"]
    assert first["events"] == [{"op": "all_reduce", "path": "train.py", "line": 4, "column": 9}]
    assert document["summary"] == {"files": 2, "lines": 8, "findings": 2, "suppressed": 1, "seconds": 0.123}
    assert list(document) == ["version", "tool_version", "findings", "errors", "summary"]


def test_schema_refuses_what_breaks_the_contract() -> None:
    document = json_reporter.document(Report((at_text("train.py", SOURCE, "loss"),)))
    document["findings"][0]["confidence"] = "certain"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema())


def test_fingerprint_survives_moved_lines() -> None:
    here = at_text("train.py", SOURCE, "dist.all_reduce(loss)", anchor_text="dist.all_reduce(loss)")
    moved = at_text("train.py", "\n\n" + SOURCE, "dist.all_reduce(loss)", anchor_text="dist.all_reduce(loss)")
    assert here.span == Span(4, 9, 4, 30)
    assert moved.span.line == 6
    assert here.fingerprint == moved.fingerprint
