"""Findings are anchored to the nodes of the concrete syntax tree."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from pipeline import at_text

from ferrule_lint.findings import Finding, Span
from ferrule_lint.flagger import anchor
from ferrule_lint.flagger.anchor import flag
from ferrule_lint.flagger.segments import segments
from ferrule_lint.flagger.thinning import thin


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
        ("match q:\n    case 0:\n        f(x)\n", "f(x)", "q", "f(x)"),
        ("try:\n    g()\nexcept OSError:\n    f(x)\n", "f(x)", "OSError", "f(x)"),
        ("def s():\n    if bad:\n        return\n    f(x)\n", "f(x)", "bad", "f(x)"),
        ("if f(x):\n    pass\n", "f(x)", "", "if f(x):\n    pass"),
    ],
)
def test_ranges(source: str, call: str, condition: str, statement: str) -> None:
    finding = flagged(source, call, condition)
    assert text_of(source, finding.span) == call
    assert text_of(source, finding.condition_span) == (condition or None)
    assert text_of(source, finding.statement_span) == statement
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
    for text in ("mesh.rank", "group", "with group:\n        pass"):
        (finding,) = flag(source.encode(), [at_text("a.py", source, text)])
        assert (text_of(source, finding.span), finding.anchor_text) == (text, " ".join(text.split()))


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


@pytest.mark.parametrize("source", [b"f(x)\ndef (:\n", b"# coding: nonsense\nf(x)\n", b"\xfff(x)\n", b"f(x)\x00\n"])
def test_a_file_that_libcst_cannot_parse_keeps_its_ranges(source: bytes) -> None:
    finding = at_text("a.py", "f(x)\n", "f(x)")
    assert flag(source, [finding]) == [finding]


def test_a_place_that_is_not_there_keeps_its_range() -> None:
    finding = at_text("a.py", "\n\n\nf(x)\n", "f(x)")
    assert flag(b"f(x)\n", [finding]) == [finding]


DEEP = {
    "sum": "x = " + "+".join(["a"] * 20_000),
    "attributes": "x = a" + ".b" * 20_000,
    "calls": "x = " + "f(" * 5_000 + ")" * 5_000,
    "brackets": "x = " + "[" * 20_000 + "]" * 20_000,
    "elif": "if a:\n    pass\n" + "elif b:\n    pass\n" * 20_000,
    "strings": "x = " + "'a' " * 20_000,
    "not": "x = " + "not " * 20_000 + "a",
    "minus": "x = " + "-" * 20_000 + "a",
    "ternaries": "x = " + "a if b else " * 20_000 + "c",
    "lambdas": "x = " + "lambda a, b: " * 20_000 + "c",
    "walrus": "x = " + "(a := " * 20_000 + "1" + ")" * 20_000,
    "f-string": "x = f'{" + "(" * 20_000 + "1" + ")" * 20_000 + "}'",
    "and": "x = " + "a and " * 20_000 + "b",
}


BRACKETS = ("calls", "brackets", "walrus", "f-string")


@pytest.mark.parametrize("kind", DEEP)
def test_depth_that_would_end_the_process(kind: str) -> None:
    deep = DEEP[kind].replace("\n", "\n    ")
    source = f"if rank:\n    f(x)\n    {deep}\n"
    finding = at_text("a.py", source, "f(x)")
    assert flag(source.encode(), [finding]) == [finding]
    # other statements are not in the way
    source = f"f(x)\n{DEEP[kind]}\n"
    finding = at_text("a.py", source, "f(x)")
    (result,) = flag(source.encode(), [finding])
    # from Python 3.12 on, tokens end where the parser would refuse the brackets
    assert result.anchor_text == "f(x)" or (kind in BRACKETS and result == finding)


@pytest.mark.parametrize(
    "line",
    [
        "x = [" + "-1, " * 2_000 + "]",
        "x = {" + "'a': b.c + 1, " * 2_000 + "}",
        "x = 1\n" * 2_000,
        "if a:\n    pass\nelif b:\n    pass\n" * 500,
        "a; " * 5_000,
    ],
)
def test_what_is_only_long_is_flagged(line: str) -> None:
    source = f"if rank == 0:\n    f(x)\n{line}\n"
    assert text_of(source, flagged(source, "f(x)", "rank == 0").condition_span) == "rank == 0"


def test_reasonable_depth_is_flagged() -> None:
    source = f"x = {'g(' * 60}f(x){')' * 60}\n"
    assert flagged(source, "f(x)").anchor_text == "f(x)"


def test_decorators_and_defaults_are_statements_headers() -> None:
    source = "class A:\n    @wrap(f(x))\n    def g(self, y=h(1)):\n        pass\n"
    assert flagged(source, "f(x)").anchor_text == "f(x)"
    assert flagged(source, "h(1)").anchor_text == "h(1)"


def test_conditions_and_calls_in_several_statements() -> None:
    source = (
        "@d\n@e(\n  1)\nclass A:\n  pass\n# note\nif rank:\n  f(x)\n\nelse:\n  g(y)\n"
        "async def h():\n  '''\nif no:\n  '''\n  return k(z)\ntry: pass\nfinally: m(w)\n"
    )
    for call, statement in (("f(x)", "f(x)"), ("g(y)", "g(y)"), ("k(z)", "return k(z)"), ("m(w)", "m(w)")):
        finding = flagged(source, call, "rank")
        assert (text_of(source, finding.span), finding.anchor_text) == (call, call)
        assert text_of(source, finding.statement_span) == statement
        assert text_of(source, finding.condition_span) == "rank"
    assert flagged(source, "e(\n  1)").anchor_text == "e( 1)"


def test_segments_cover_the_file_in_order() -> None:
    path = segments.__wrapped__.__globals__["__file__"]
    with open(path, "rb") as file:
        source = file.read()
    parts = segments(source)
    assert [part.first for part in parts[1:]] == [part.last + 1 for part in parts[:-1]]
    assert "".join(part.text for part in parts).rstrip() == source.decode().rstrip()
    for part in parts:
        compile(part.text, "segment", "exec")


@pytest.mark.parametrize("name", ["engine/run.py", "semantics/divergence/compare.py"])
def test_what_is_left_out_before_parsing_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (Path(anchor.__file__).parents[1] / name).read_text("utf-8")
    any_finding = at_text("a.py", "f(x)", "f(x)")
    places = [
        (number, match.start(1) + 1)
        for number, line in enumerate(source.splitlines(), start=1)
        if number % 7 == 0 and (match := re.search(r"\b((?:\w+\.)*\w+\()", line)) is not None
    ]
    findings = [replace(any_finding, span=Span(*place, *place)) for place in places]
    with_less = [flag(source.encode(), [finding]) for finding in findings]
    monkeypatch.setattr(anchor, "thin", lambda text, matters, whole: text)
    together = flag(source.encode(), findings)
    assert [one for found in with_less for one in found] == together
    assert sum(finding.statement_span is not None for finding in together) > 5


def test_what_is_left_out_keeps_its_place() -> None:
    text = "@d\ndef f(\n    a,\n):\n    x\n    g(\n  1)  # c\n    if y:\n        z = 1;\n    return  0\n\nh()\n"
    kept = {6}
    thinned = thin(text, lambda first, last: any(first <= line <= last for line in kept), lambda line: False)
    assert thinned == "@d\ndef f(\n    a,\n):\n    x\n    g(\n  1)  # c\n    _(\n\n            )\n\n_()\n"
