"""`ferrule-lint why PATH:LINE`: why something is reported there, or is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ferrule_lint.cli.baseline import NOTHING_SAID, with_baseline
from ferrule_lint.cli.failure import Failure

if TYPE_CHECKING:
    from ferrule_lint.findings import Finding, Report
    from ferrule_lint.inquiry import Answer
    from ferrule_lint.project.config import Settings
    from ferrule_lint.reporters.text import Line


#: how a file ends -> the module that writes it
_PICTURES = {".svg": "svg", ".dot": "dot", ".mmd": "mermaid"}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("place", metavar="PATH:LINE")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="Use the settings in this TOML file.")
@click.option("--isolated", is_flag=True, help="Read no settings file.")
@click.option("--no-cache", is_flag=True, help="Neither use nor write the cache.")
@click.option(
    "--graph",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw it as well: FILE ends in .svg, .dot (Graphviz) or .mmd (Mermaid).",
)
def why(place: str, config: Path | None, isolated: bool, no_cache: bool, graph: Path | None) -> None:
    """Say what is known of the values on a line, and which collectives the function around it issues.

    Then comes what is found there, and whether it is reported. Of a notebook, PATH has the cell in it, as reports do:
    'a.ipynb:cell 2:4'.
    """
    from ferrule_lint.reporters.cells import explained, split, texts_of

    path, line = _parse(place)
    path, cell = split(path)
    if graph is not None and graph.suffix not in _PICTURES:
        raise click.UsageError(f"--graph: expected a name that ends in {', '.join(_PICTURES)}, not {str(graph)!r}")
    from ferrule_lint.inquiry import CannotAnswer
    from ferrule_lint.inquiry import why as ask
    from ferrule_lint.models.loader import ModelError
    from ferrule_lint.project.config import ConfigError, load_settings
    from ferrule_lint.project.discovery import find_root
    from ferrule_lint.reporters import text
    from ferrule_lint.reporters import why as reporter
    from ferrule_lint.reporters.source import Sources

    if config is not None and isolated:
        raise click.UsageError("--config and --isolated contradict each other")
    try:
        settings = replace(load_settings(Path(path), config=config, isolated=isolated), root=find_root([path]))
        answer = ask(path, line, settings, cell=cell, onward=True, use_cache=not no_cache)
        findings = list(_findings(path, answer.line, settings, use_cache=not no_cache))
    except (ConfigError, ModelError) as error:
        raise Failure(error.message, error.path, error.line) from None
    except CannotAnswer as error:
        raise Failure(error.message, path, error.line) from None
    explanation, contents = answer.explanation, {}
    if explanation is None:
        place = path if cell is None else f"{path}:cell {cell}"
        raise Failure("there is nothing to say of this line: no value and no collective stands here", place, line)
    if answer.cells is not None:
        contents = texts_of(explanation.path, answer.cells)
        explanation = explained(explanation, answer.cells)
        answer = replace(answer, explanation=explanation)
    shown = list(reporter.lines(explanation, Sources(answer.root, contents), answer.root, Path.cwd()))
    if explanation.line != line:
        note = f"no value and no collective stands in line {line}; the next statement is in line {explanation.line}"
        shown.insert(0, [(note, "yellow")])
    shown += [[], [("findings", "bold")], *findings]
    click.echo(text.render(shown, colour=text.wants_colour(sys.stdout)), color=True)
    if graph is not None:
        _draw(answer, graph)


def _draw(answer: Answer, file: Path) -> None:
    """Write the picture."""
    from importlib import import_module

    from ferrule_lint.project.files import replace_file

    assert answer.explanation is not None
    drawn = answer.explanation.graph
    render = import_module(f"ferrule_lint.reporters.graph.{_PICTURES[file.suffix]}").render
    try:
        replace_file(file, (render(drawn, answer.root, Path.cwd()) + "\n").encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise Failure(f"cannot be written: {error.strerror or error}", str(file)) from None
    click.echo(f"Wrote {file}.", err=True)


def _parse(place: str) -> tuple[str, int]:
    """`PATH:LINE`, also `PATH:LINE:COLUMN` as reports write it."""
    words = place.split(":")
    numbers = 0
    while len(words) - numbers > 1 and numbers < 2 and words[-1 - numbers].isdigit():
        numbers += 1
    if not numbers or not int(words[-numbers]):
        raise click.UsageError(f"expected PATH:LINE, not {place!r}")
    return ":".join(words[:-numbers]), int(words[-numbers])


def _findings(path: str, line: int, settings: Settings, *, use_cache: bool) -> Iterator[Line]:
    """What is found in this line or by way of it, with what becomes of it."""
    from ferrule_lint import engine
    from ferrule_lint.findings import Confidence
    from ferrule_lint.project.selection import Selection
    from ferrule_lint.reporters.cells import by_cell
    from ferrule_lint.reporters.text import visible

    everything = replace(settings, min_confidence=Confidence.LOW, select=("ALL",), ignore=(), per_file_ignores=())
    everything = replace(everything, rules=())
    report = engine.lint([settings.root or path], everything, use_cache=use_cache)
    # as a run would: its default baseline counts, or the one that the settings name
    report = with_baseline(report, settings, NOTHING_SAID, quiet=True)
    selection = Selection(settings)
    near = tuple(_near(report, path, line, settings))
    for finding, shown in zip(near, by_cell(replace(report, findings=near, suppressed=())).findings, strict=True):
        fate = "reported"
        if finding.suppression is not None and finding.suppression.form == "baseline":
            fate = "not reported: it is in the baseline"
        elif shown.suppression is not None:
            fate = f"suppressed by the comment in line {shown.suppression.line}"
        elif not selection.looks_for(finding.code, finding.path):
            fate = "not reported: the rule is not selected here"
        elif not selection.asks_for(finding):
            fate = f"not reported: its confidence is {finding.confidence.label}"
        yield [
            (f"  {visible(shown.path)}:{shown.span.line} {shown.code} ", "bold"),
            (f"{visible(shown.message)} ", ""),
            (f"({fate})", "red" if fate == "reported" else "yellow"),
        ]
    if not near:
        yield [("  none in this line, and none by way of it", "dim")]


def _near(report: Report, path: str, line: int, settings: Settings) -> Iterator[Finding]:
    import os

    root = settings.root or Path.cwd()
    name = Path(os.path.relpath(Path(path).absolute(), root)).as_posix()
    for finding in sorted((*report.findings, *report.suppressed), key=lambda one: one.sort_key):
        places = {(step.path, step.line) for step in finding.witness}
        places |= {(event.path, event.line) for event in finding.events}
        inside = finding.path == name and finding.span.line <= line <= finding.span.end_line
        if inside or (name, line) in places:
            yield finding
