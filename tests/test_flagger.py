"""Findings are anchored to the nodes of the concrete syntax tree."""

from __future__ import annotations

import pytest
from pipeline import at_text

from ferrule_lint.findings import Finding, Span
from ferrule_lint.flagger.anchor import flag


def text_of(source: str, span: Span | None) -> str | None:
    """What a span covers; characters, lines end in LF."""
    if span is None:
        return None
    lines = source.replace("\r\n", "\n").split("\n")[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return "\n".join(lines)


def without_end(finding: Finding) -> Finding:
    """As an analysis reports it that knows only where a call begins."""
    span = finding.span
    changed = Span(span.line, span.column, span.line, span.column)
    return Finding(**{name: getattr(finding, name) for name in Finding.__slots__} | {"span": changed})


def flagged(source: str, call: str, condition: str = "", *, encoding: str = "utf-8") -> Finding:
    (result,) = flag(source.encode(encoding), [without_end(at_text("a.py", source, call, condition))])
    return result


@pytest.mark.parametrize(
    ("source", "call", "condition", "statement"),
    [
        ("if rank == 0:\n    x = dist.all_reduce(y)\n", "dist.all_reduce(y)", "rank == 0", "x = dist.all_reduce(y)"),
        ("while err > 0:\n    f(x); g(y)\n", "g(y)", "err > 0", "g(y)"),
        ("for b in loader:\n    f(b)\n", "f(b)", "loader", "f(b)"),
        ("y = f(x) if rank else z\n", "f(x)", "rank", "y = f(x) if rank else z"),
        ("y = [f(x) for x in xs if x.ok]\n", "f(x)", "x.ok", "y = [f(x) for x in xs if x.ok]"),
        ("rank and f(x)\n", "f(x)", "rank", "rank and f(x)"),
        ("match r:\n    case 0:\n        f(x)\n", "f(x)", "r", "f(x)"),
        ("try:\n    g()\nexcept OSError:\n    f(x)\n", "f(x)", "OSError", "f(x)"),
        ("def s():\n    if bad:\n        return\n    f(x)\n", "f(x)", "bad", "f(x)"),
        ("if f(x):\n    pass\n", "f(x)", "", "if f(x):\n    pass"),
    ],
)
def test_ranges(source: str, call: str, condition: str, statement: str) -> None:
    # the first place of "r" in "match r" is not the subject
    finding = flagged(source.replace("match r", "match q"), call, condition.replace("r", "q") if condition == "r" else condition)
    shown = source.replace("match r", "match q")
    assert text_of(shown, finding.span) == call
    expected = ("q" if condition == "r" else condition) or None
    assert text_of(shown, finding.condition_span) == expected
    assert text_of(shown, finding.statement_span) == statement
    assert finding.anchor_text == call


def test_the_step_may_stand_at_the_statement() -> None:
    source = "if rank == 0:\n    f(x)\n"
    finding = flagged(source, "f(x)", "if rank == 0:")
    assert text_of(source, finding.condition_span) == "rank == 0"


def test_elif() -> None:
    source = "if a:\n    pass\nelif rank == 0:\n    f(x)\n"
    assert text_of(source, flagged(source, "f(x)", "rank == 0").condition_span) == "rank == 0"


def test_innermost_named_condition() -> None:
    source = "if outer:\n    if inner:\n        f(x)\nif later:\n    pass\n"
    steps = [at_text("a.py", source, "f(x)", name).witness[1] for name in ("outer", "inner", "later")]
    for order in (steps, steps[::-1]):
        (finding,) = flag(source.encode(), [at_text("a.py", source, "f(x)", witness=tuple(order))])
        assert text_of(source, finding.condition_span) == "inner"


def test_conditions_of_other_files_are_not_looked_up_here() -> None:
    source = "if outer:\n    f(x)\n"
    other = at_text("b.py", source, "f(x)", "outer").witness
    (finding,) = flag(source.encode(), [at_text("a.py", source, "f(x)", witness=other)])
    assert finding.condition_span is None


def test_the_end_tells_calls_apart_that_begin_together() -> None:
    source = "a.b(1).c(2)\n"
    for call in ("a.b(1)", "a.b(1).c(2)"):
        (finding,) = flag(source.encode(), [at_text("a.py", source, call)])
        assert finding.anchor_text == call
    assert flagged(source, "a.b(1)").anchor_text == "a.b(1)"


def test_white_space_is_folded_in_the_anchor() -> None:
    source = "if r:\n    f(\n        x,\n        y,\n    )\n"
    finding = flagged(source, "f(\n        x,\n        y,\n    )")
    assert finding.anchor_text == "f( x, y, )"
    assert finding.span == Span(2, 5, 5, 6)


def test_what_is_no_call() -> None:
    source = "if r:\n    with group:\n        pass\n    x = mesh.rank\n"
    assert flagged(source, "mesh.rank").anchor_text == "mesh.rank"
    assert flagged(source, "with group").span == Span(2, 5, 3, 13)


@pytest.mark.parametrize(
    ("source", "encoding"),
    [
        ("s = 'é日本🎉'; f('ü', x)\n", "utf-8"),
        ("# coding: latin-1\ns = 'é'; f('ü', x)\n", "latin-1"),
        ("s = 'é'; f('ü', x)\n", "utf-8-sig"),
        ("s = 'é'\r\n\x0c\r\nif s:\r\n    f('ü', x)\r\n", "utf-8"),
        ("s = '''\n\u2028\x0c\x0b\n'''\n\tif_ = f('ü', x)\n".replace("\t", ""), "utf-8"),
    ],
)
def test_columns_are_characters(source: str, encoding: str) -> None:
    finding = flagged(source, "f('ü', x)", encoding=encoding)
    assert text_of(source, finding.span) == "f('ü', x)"
    assert finding.anchor_text == "f('ü', x)"


@pytest.mark.parametrize("source", [b"f(x)\ndef (:\n", b"# coding: nonsense\nf(x)\n", b"\xfff(x)\n", b"f(x)\n\x00"])
def test_a_file_that_libcst_cannot_parse_keeps_its_ranges(source: bytes) -> None:
    finding = at_text("a.py", "f(x)\n", "f(x)")
    assert flag(source, [finding]) == [finding]


def test_a_place_that_is_not_there_keeps_its_range() -> None:
    finding = at_text("a.py", "\n\n\nf(x)\n", "f(x)")
    assert flag(b"f(x)\n", [finding]) == [finding]


def test_deep_nesting() -> None:
    source = f"x = {'(' * 150}f(x){')' * 150}\n"
    assert flagged(source, "f(x)").anchor_text.strip("()").startswith("f(x")
    source = "f(x)\ny = " + "+".join(["a"] * 20_000) + "\n"
    finding = at_text("a.py", source, "f(x)")
    assert flag(source.encode(), [finding])[0].span == finding.span
