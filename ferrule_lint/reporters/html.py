"""One self-contained page: findings, their source, and the way from the cause to the collective as a diagram.

The page loads nothing and runs one small script, which filters. All text from the linted project is escaped.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from importlib import resources
from pathlib import Path

import ferrule_lint
from ferrule_lint.findings import Finding, Report, Step
from ferrule_lint.reporters.paths import shown_path
from ferrule_lint.reporters.source import Sources
from ferrule_lint.reporters.text import expand, visible
from ferrule_lint.rulebook import Rule, load_rules

#: lines shown before and after a finding
_AROUND = 3
#: lines of a call that are shown
_MOST_LINES = 12
_LONGEST = 160


def render(report: Report, root: Path, cwd: Path) -> str:
    """The page."""
    page = _Page(report, root, cwd)
    style = resources.files(__package__).joinpath("page.css").read_text("utf-8")
    script = resources.files(__package__).joinpath("page.js").read_text("utf-8")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">",
            f"<title>ferrule-lint: {len(report.findings)} findings</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            *page.head(),
            "<main>",
            *page.findings(),
            "</main>",
            *page.errors(),
            *page.suppressed(),
            *page.rules(),
            f"<footer>ferrule-lint {_text(ferrule_lint.__version__)}</footer>",
            f"<script>\n{script}</script>",
            "</body>",
            "</html>",
        ]
    )


class _Page:
    def __init__(self, report: Report, root: Path, cwd: Path) -> None:
        self._report = report
        self._root = root
        self._cwd = cwd
        self._sources = Sources(root, report.contents)

    def head(self) -> list[str]:
        report = self._report
        codes = Counter(finding.code for finding in report.findings)
        levels = Counter(finding.confidence.label for finding in report.findings)
        numbers = [
            (len(report.findings), "findings"),
            (report.files, "files"),
            (report.lines, "lines"),
            (len(report.suppressed), "suppressed"),
            (len(report.errors), "errors"),
        ]
        cells = "".join(f"<div><b>{number:,}</b> {what}</div>" for number, what in numbers)
        chips = "".join(_chip("code", code, number) for code, number in sorted(codes.items()))
        chips += "".join(
            _chip("confidence", level, levels[level]) for level in ("high", "medium", "low") if levels[level]
        )
        search = '<input type="search" id="search" placeholder="path, function or message" aria-label="Search">'
        return [
            "<header>",
            "<h1>ferrule-lint</h1>",
            f'<div class="numbers">{cells}</div>',
            f'<nav aria-label="Filter">{chips}{search}<span id="shown" role="status"></span></nav>',
            "</header>",
        ]

    def findings(self) -> list[str]:
        if not self._report.findings:
            return ['<p class="none">No problems found.</p>']
        return [line for finding in self._report.findings for line in self._finding(finding)]

    def _finding(self, finding: Finding) -> list[str]:
        place = f"{self._path(finding.path)}:{finding.span.line}:{finding.span.column}"
        facts = [("function", finding.function), ("axes", ", ".join(finding.axes)), ("kind", finding.kind)]
        words = " ".join((place, finding.function, finding.message)).lower()
        data = (
            f'data-code="{_text(finding.code)}" data-confidence="{finding.confidence.label}" data-text="{_text(words)}"'
        )
        return [
            f'<details class="finding" id="{_text(finding.fingerprint)}" {data} open>',
            f'<summary><a class="code {finding.severity}" href="#rule-{finding.code}">{finding.code}</a> '
            f'<span class="place">{_text(place)}</span> '
            f'<span class="level {finding.confidence.label}">{finding.confidence.label}</span>'
            f'<p class="message">{_prose(finding.message)}</p></summary>',
            '<p class="facts">'
            + "".join(f"<span>{name} <b>{_text(word)}</b></span>" for name, word in facts if word)
            + "</p>",
            *self._frame(finding),
            *self._witness(finding),
            "</details>",
        ]

    def _frame(self, finding: Finding) -> list[str]:
        span = finding.span
        last = min(max(span.end_line, span.line), span.line + _MOST_LINES)
        rows: list[str] = []
        for number in range(max(1, span.line - _AROUND), last + _AROUND + 1):
            text = self._sources.line(finding.path, number)
            if text is None:
                continue
            start = span.column - 1 if number == span.line else 0
            stop = span.end_column - 1 if number == span.end_line else len(text.rstrip())
            inside = span.line <= number <= span.end_line
            rows.append(_row(number, _marked(text, start, stop) if inside else _text(_cut(expand(text))), inside))
        return ['<pre class="frame">' + "\n".join(rows) + "</pre>"] if rows else []

    def _witness(self, finding: Finding) -> list[str]:
        if not finding.witness:
            return []
        return ['<ol class="witness">', *(self._step(step) for step in finding.witness), "</ol>"]

    def _step(self, step: Step) -> str:
        source = self._sources.line(step.path, step.line)
        code = f"<code>{_text(_cut(expand(source.strip())))}</code>" if source and source.strip() else ""
        place = f"{self._path(step.path)}:{step.line}:{step.column}"
        return (
            f'<li class="{_text(step.role)}"><span class="role">{_text(step.role)}</span>'
            f'<span class="note">{_prose(step.note)}</span>{code}<span class="place">{_text(place)}</span></li>'
        )

    def errors(self) -> list[str]:
        if not self._report.errors:
            return []
        items = [
            f'<li><span class="place">{_text(self._path(error.path))}{f":{error.line}" if error.line else ""}</span> '
            f"{_text(visible(error.message))}</li>"
            for error in self._report.errors
        ]
        return ['<section class="errors"><h2>Could not be checked</h2><ul>', *items, "</ul></section>"]

    def suppressed(self) -> list[str]:
        if not self._report.suppressed:
            return []
        items = []
        for finding in self._report.suppressed:
            why = finding.suppression
            reason = "in the baseline" if why is None or why.form == "baseline" else why.reason or "no reason given"
            place = f"{self._path(finding.path)}:{finding.span.line}"
            items.append(
                f'<li><b>{_text(finding.code)}</b> <span class="place">{_text(place)}</span> {_prose(finding.message)} '
                f"<i>({_text(visible(reason))})</i></li>"
            )
        head = f'<details class="suppressed"><summary>Suppressed ({len(items)})</summary><ul>'
        return [head, *items, "</ul></details>"]

    def rules(self) -> list[str]:
        codes = {finding.code for finding in self._report.findings}
        shown = [rule for code, rule in load_rules().items() if code in codes]
        return ["<section><h2>Rules</h2>", *map(_rule, shown), "</section>"] if shown else []

    def _path(self, path: str) -> str:
        return visible(shown_path(path, self._root, self._cwd))


def _rule(rule: Rule) -> str:
    sections = []
    for heading in ("What it does", "Why is this bad?", "Fix"):
        body = rule.text.partition(f"## {heading}\n")[2].partition("\n## ")[0].strip()
        sections.append(f'<h4>{_text(heading)}</h4><div class="prose">{_prose(body)}</div>')
    head = f"<summary>{_text(f'{rule.code} {rule.name}: {rule.title}')}</summary>"
    return f'<details class="rule" id="rule-{rule.code}">{head}{"".join(sections)}</details>'


def _chip(kind: str, word: str, number: int) -> str:
    return (
        f'<button type="button" class="chip" data-kind="{kind}" data-value="{_text(word)}" aria-pressed="true">'
        f"{_text(word)} <b>{number}</b></button>"
    )


def _row(number: int, html: str, inside: bool) -> str:
    mark = ' class="here"' if inside else ""
    return f"<span{mark}><i>{number:>5}</i> {html}</span>"


def _marked(text: str, start: int, stop: int) -> str:
    """A line of a finding, with its range marked."""
    start = min(max(start, len(text) - len(text.lstrip())), len(text))
    stop = max(start, min(stop, len(text)))
    if len(text) > _LONGEST:
        return _text(_cut(expand(text)))
    before, middle, after = (_text(expand(part)) for part in (text[:start], text[start:stop], text[stop:]))
    return f"{before}<mark>{middle}</mark>{after}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _text(text: str) -> str:
    return escape(text, quote=True)


def _prose(text: str) -> str:
    """Text with `code` in it; nothing else of Markdown is followed."""
    parts = _text("\n".join(visible(line) for line in text.split("\n"))).split("`")
    if len(parts) % 2 == 0:
        return "`".join(parts)
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
