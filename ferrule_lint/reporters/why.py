"""The answer to `ferrule-lint why`, as lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ferrule_lint.reporters.paths import shown_path
from ferrule_lint.reporters.source import Sources
from ferrule_lint.reporters.text import Line, expand, visible

if TYPE_CHECKING:
    from ferrule_lint.checks.why import Difference, Explanation, KnownValue

_STYLE = {"uniform": "green", "unknown": "yellow", "divergent": "bold red"}


def lines(explanation: Explanation, sources: Sources, root: Path, cwd: Path) -> Iterator[Line]:
    """The line itself, its values, and the trace of the function around it."""
    place = f"{shown_path(explanation.path, root, cwd)}:{explanation.line}"
    where = f" in `{explanation.function}`" if explanation.function else ""
    yield [(visible(place), "bold"), (where, "")]
    source = sources.line(explanation.path, explanation.line)
    if source is not None:
        yield [(f"  {expand(source.strip())}", "dim")]
    yield []
    yield [("values", "bold")]
    for value in explanation.values:
        yield from _value(value, sources, root, cwd)
    if not explanation.values:
        yield [("  nothing on this line has a value", "dim")]
    yield []
    yield [(f"collectives of {explanation.function or 'this file'}", "bold")]
    for term in explanation.trace:
        mark = ">" if term.line == explanation.line and not term.cell else " "
        text = "  " * term.depth + term.text
        number = f"cell {term.cell}:{term.line}" if term.cell else str(term.line)
        yield [(f"{mark} {number:>5}  ", "bold"), (visible(text), "red" if term.differs else "")]
    if not explanation.trace:
        yield [("  none: nothing here issues a collective that the analysis can see", "dim")]


def _value(value: KnownValue, sources: Sources, root: Path, cwd: Path) -> Iterator[Line]:
    yield [("  ", ""), (f"{visible(value.text)}: ", "bold"), (value.level, _STYLE[value.level]), (_because(value), "")]
    for difference in value.differences:
        yield from _difference(difference, sources, root, cwd)


def _because(value: KnownValue) -> str:
    if value.level == "uniform":
        return ", the same on every rank"
    if value.level == "divergent":
        return ""
    if value.parameters:
        names = ", ".join(f"`{name}`" for name in value.parameters)
        return f": it rests on what callers pass as {names}"
    return ": nothing says whether ranks agree, so nothing is reported for it"


def _difference(difference: Difference, sources: Sources, root: Path, cwd: Path) -> Iterator[Line]:
    axes = ", ".join(difference.axes)
    text = f"{difference.facet} differs along {axes} ({difference.kind}, confidence {difference.confidence.label})"
    yield [(f"    {text}", "")]
    for number, step in enumerate(difference.why, 1):
        place = f"{shown_path(step.path, root, cwd)}:{step.line}:{sources.column(step)}"
        yield [(f"      {number}. {step.role}: {visible(step.note)}", ""), (f"  ({visible(place)})", "dim")]
