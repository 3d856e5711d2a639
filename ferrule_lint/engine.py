"""One run: from paths and settings to a report.

Discovery, reading, facts (from the cache where the file was seen before), the checks over the whole project,
selection, and the flagger for the files that have findings. Nothing here prints or exits: whatever goes wrong with
one file becomes an error in the report, and the run goes on.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ferrule_lint.extraction import Crashed, Unparsable, Unreadable, describe_crash, read_facts
from ferrule_lint.findings import Confidence, Finding, LintError, NotebookCells, Report, Span
from ferrule_lint.memory import WORTHWHILE, Memory
from ferrule_lint.project.cache import FOLDER, FactsCache
from ferrule_lint.project.config import ConfigError, Settings
from ferrule_lint.project.discovery import NOTEBOOK, Discovery, discover
from ferrule_lint.project.nearest import Nearest, as_error
from ferrule_lint.project.results import Results, ResultsCache, digests
from ferrule_lint.project.results import key as results_key
from ferrule_lint.project.selection import SYNTAX_ERROR, UNUSED_SUPPRESSION, Selection, check_codes

if TYPE_CHECKING:
    from ferrule_lint.checks.remembered import Shown
    from ferrule_lint.checks.result import CheckResult
    from ferrule_lint.facts.outline import Facts
    from ferrule_lint.fixes.rounds import Repair
    from ferrule_lint.fixes.verify import Dropped

#: called with what is being done, how much of it is done, and how much there is
Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class _Run:
    """What a run has gathered so far."""

    discovery: Discovery
    cache: FactsCache | None
    progress: Progress
    #: what stands in for files, by path relative to the root
    contents: dict[str, bytes]
    notebooks: dict[str, NotebookCells] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    suppressed: list[Finding] = field(default_factory=list)
    errors: list[LintError] = field(default_factory=list)
    statistics: dict[str, int] = field(default_factory=dict)
    #: files with findings as they were when their findings were anchored
    sources: dict[str, bytes] = field(default_factory=dict)
    #: fixes that did not hold
    dropped: list[Dropped] = field(default_factory=list)
    #: what earlier runs have found
    memory: Memory | None = None

    def read(self, path: str) -> bytes:
        """The content of a file, always the same in one run; raises OSError."""
        if path not in self.sources:
            given = self.contents.get(path)
            self.sources[path] = (self.discovery.root / path).read_bytes() if given is None else given
        return self.sources[path]

    def note(self, path: str, other: str) -> None:
        """The fixes of a file depend on another one."""
        if self.memory is not None:
            self.memory.looked_at(path, other)

    def count(self, what: str, number: int = 1) -> None:
        if number:
            self.statistics[what] = self.statistics.get(what, 0) + number


@dataclass(frozen=True, slots=True)
class Fixed:
    """What `fix` came to: the report of what is left, and the repair with old and new contents by path."""

    report: Report
    repair: Repair
    before: dict[str, bytes]


def lint(
    paths: Sequence[Path | str],
    settings: Settings,
    *,
    use_cache: bool = True,
    jobs: int = 1,
    progress: Progress | None = None,
    contents: Mapping[Path, bytes] | None = None,
) -> Report:
    """Lint `paths` and report what the settings ask for; raises `ModelError` for a broken model file.

    Where `settings` were read from a file, nearer settings files count for the files that they are nearer to.
    `contents` stand in for files that are among `paths`, or read around them (absolute paths).
    Up to `jobs` processes read new files. They import the main module, as `multiprocessing` does: leave it at 1 if
    that has no `if __name__ == "__main__"`.
    """
    start = time.perf_counter()
    run = _start(paths, settings, use_cache, progress, contents)
    settings = replace(settings, root=run.discovery.root)
    # a notebook that is broken is in no cache
    if run.cache is None or run.findings or run.errors:
        results = _analyse(run, settings, jobs)
    else:
        results = _known_or_analyse(run, settings, jobs, ResultsCache(run.cache.folder))
    return _report(run, results, start)


def fix(
    paths: Sequence[Path | str],
    settings: Settings,
    *,
    use_cache: bool = True,
    jobs: int = 1,
    progress: Progress | None = None,
    contents: Mapping[Path, bytes] | None = None,
    accepted: Callable[[Report], Iterable[Finding]] | None = None,
) -> Fixed:
    """Lint `paths`, and apply in memory the fixes that the settings allow. Nothing is written: see `fixes.write`.

    `accepted` says which findings of the first report are left as they are (a baseline has them).
    """
    from ferrule_lint.fixes.rounds import repair
    from ferrule_lint.project.selection import may_apply

    start = time.perf_counter()
    run = _start(paths, settings, use_cache, progress, contents)
    settings = replace(settings, root=run.discovery.root)
    nearest = Nearest(settings)
    report = _report(run, _analyse(run, settings, jobs), start)
    left = {(finding.path, finding.fingerprint) for finding in (accepted(report) if accepted is not None else ())}
    with _uncollected():
        result = repair(
            run.findings,
            run.read,
            lambda contents: _recheck(run, settings, contents),
            lambda finding: (
                may_apply(nearest.of(finding.path), finding) and (finding.path, finding.fingerprint) not in left
            ),
            settings.fix_preference,
        )
    run.findings = result.findings
    result.dropped[:0] = run.dropped
    before = {path: run.read(path) for path in result.contents}
    return Fixed(_report(run, _results(run, settings), start), result, before)


def _start(
    paths: Sequence[Path | str],
    settings: Settings,
    use_cache: bool,
    progress: Progress | None,
    contents: Mapping[Path, bytes] | None,
) -> _Run:
    contents = contents or {}
    discovery = discover(paths, settings, contents)
    folder = settings.cache_dir or discovery.root / FOLDER if use_cache else None
    given = {Path(os.path.relpath(path, discovery.root)).as_posix(): content for path, content in contents.items()}
    run = _Run(discovery, FactsCache(folder) if folder is not None else None, progress or _silent, given)
    _convert_notebooks(run)
    _check_nearest(run, replace(settings, root=discovery.root))
    return run


def _check_nearest(run: _Run, settings: Settings) -> None:
    """Unknown codes in the settings files of parts of the project; who has read the run's own has checked them."""
    for own in Nearest(settings).among(run.discovery.report):
        from ferrule_lint.checks.build import NAMES

        try:
            check_codes(own, NAMES)
        except ConfigError as problem:
            run.errors.append(as_error(problem, run.discovery.root))


def _report(run: _Run, results: Results, start: float) -> Report:
    discovery, statistics = run.discovery, dict(results.statistics)
    if discovery.unreadable:
        statistics["unreadable_elsewhere"] = statistics.get("unreadable_elsewhere", 0) + discovery.unreadable
    return Report(
        findings=results.findings,
        suppressed=results.suppressed,
        errors=tuple(
            sorted({*discovery.errors, *run.errors}, key=lambda error: (error.path, error.line, error.message))
        ),
        files=len(discovery.report),
        lines=results.lines,
        seconds=time.perf_counter() - start,
        statistics=statistics,
        paths=discovery.report,
        contents=run.contents,
        notebooks=run.notebooks,
    )


def _known_or_analyse(run: _Run, settings: Settings, jobs: int, cache: ResultsCache) -> Results:
    """The results of an earlier run over the same project, else of an analysis now."""
    files = digests(run.discovery, run.contents)
    key = results_key(run.discovery, settings, files) if files is not None else None
    known = cache.load(key, Results) if key is not None else None
    if known is not None:
        return replace(known, statistics={**known.statistics, "results_cached": 1})
    if files is not None and len(run.discovery.report) >= WORTHWHILE:
        run.memory = Memory(cache, files)
    results = _analyse(run, settings, jobs)
    # what failed may not fail again; and what was read has to be what the key was made of
    if key is not None and not run.errors and digests(run.discovery, run.contents) == files:
        cache.store(key, results)
        if run.memory is not None:
            run.memory.store()
    if run.cache is not None and run.cache.hits:
        return replace(results, statistics={**results.statistics, "cache_hits": run.cache.hits})
    return results


def _analyse(run: _Run, settings: Settings, jobs: int) -> Results:
    with _uncollected():
        _read(run, jobs)
        _check(run, settings)
        run.findings, run.suppressed = _selected(run.findings, run.facts, run.discovery.report, settings)
        _show(run, settings)
    return _results(run, settings)


def _show(run: _Run, settings: Settings) -> None:
    """Findings with their exact ranges and fixes; those of an earlier run where nothing has changed."""
    known: list[Shown] = []
    chosen: dict[str, tuple[list[Finding], list[Finding]]] = {}
    nearest = Nearest(settings)
    if run.memory is not None:
        chosen = _by_path(run)
        for path, own in list(chosen.items()):
            shown = run.memory.shown(path, own, nearest.of(path))
            if shown is not None:
                known.append(shown)
                del chosen[path]
        run.findings = [finding for findings, _ in chosen.values() for finding in findings]
        run.suppressed = [finding for _, suppressed in chosen.values() for finding in suppressed]
    _flag(run)
    _offer(run, settings)
    if run.memory is not None and not run.errors:
        now = _by_path(run)
        for path, before in chosen.items():
            dropped = sum(one.finding.path == path for one in run.dropped)
            run.memory.show(path, before, now.get(path, ([], [])), dropped, nearest.of(path))
    run.findings += [finding for shown in known for finding in shown.findings]
    run.suppressed += [finding for shown in known for finding in shown.suppressed]
    run.count("fixes_dropped", sum(shown.dropped for shown in known))


def _by_path(run: _Run) -> dict[str, tuple[list[Finding], list[Finding]]]:
    """The findings of each file, and the suppressed ones."""
    found: dict[str, tuple[list[Finding], list[Finding]]] = {}
    for place, findings in enumerate((run.findings, run.suppressed)):
        for finding in findings:
            found.setdefault(finding.path, ([], []))[place].append(finding)
    return found


def _results(run: _Run, settings: Settings) -> Results:
    """What there is to show; of each fix, how safe the settings say it is."""
    from ferrule_lint.facts.outline import outline
    from ferrule_lint.project.selection import safety

    nearest = Nearest(settings)
    findings = [
        finding
        if finding.fix is None
        else replace(finding, fix=replace(finding.fix, safety=safety(nearest.of(finding.path), finding)))
        for finding in run.findings
    ]
    reported = set(run.discovery.report)
    return Results(
        findings=tuple(sorted(findings, key=lambda finding: finding.sort_key)),
        suppressed=tuple(sorted(run.suppressed, key=lambda finding: finding.sort_key)),
        lines=sum(outline(facts).lines for path, facts in run.facts.items() if path in reported),
        statistics=run.statistics,
    )


def _silent(stage: str, done: int, total: int) -> None:
    pass


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the cyclic garbage collector: facts and values are many and make next to no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _convert_notebooks(run: _Run) -> None:
    """Their code stands in for the notebooks; those that are not in Python, or cannot be read, are set aside."""
    from ferrule_lint.frontend.errors import SourceError
    from ferrule_lint.frontend.notebook import read_notebook

    for path in [path for path in run.discovery.read if path.endswith(NOTEBOOK)]:
        try:
            given = run.contents.get(path)
            notebook = read_notebook((run.discovery.root / path).read_bytes() if given is None else given)
        except OSError as error:
            run.errors.append(LintError(path, 0, f"cannot be read: {error.strerror or error}"))
        except SourceError as error:
            run.findings.append(_syntax_error(path, error.line, error.message))
        else:
            if notebook is not None:
                run.contents[path] = notebook.source
                run.notebooks[path] = NotebookCells(notebook.cells, notebook.texts)


def _read(run: _Run, jobs: int) -> None:
    """Facts of all files of the project."""
    reported = set(run.discovery.report)
    paths = [path for path in run.discovery.read if not path.endswith(NOTEBOOK) or path in run.notebooks]
    run.count("files_read", len(paths))
    outcomes: dict[str, Facts] = {}
    for done, (path, outcome) in enumerate(read_facts(run.discovery.root, paths, run.cache, jobs, run.contents)):
        run.progress("reading", done, len(paths))
        match outcome:
            case Crashed():
                run.errors.append(LintError(path, 0, outcome.message))
            case Unreadable() if path in reported:
                run.errors.append(LintError(path, 0, f"cannot be read: {outcome.reason}"))
            case Unreadable():
                run.count("unreadable_elsewhere")
            case Unparsable() if path in reported:
                run.findings.append(_syntax_error(path, outcome.line, outcome.message))
            case Unparsable():
                run.count("unparsable_elsewhere")
            case _:
                outcomes[path] = outcome
    if run.cache is not None and run.cache.hits < len(paths):
        run.cache.forget()
    # in one order, whatever the order they came in
    run.facts = {path: outcomes[path] for path in paths if path in outcomes}
    run.progress("reading", len(paths), len(paths))


def _syntax_error(path: str, line: int, message: str) -> Finding:
    line = max(line, 1)
    return Finding(
        code=SYNTAX_ERROR,
        name="syntax-error",
        severity="error",
        confidence=Confidence.HIGH,
        message=message,
        path=path,
        span=Span(line, 1, line, 1),
        anchor_text=message,
    )


def _check(run: _Run, settings: Settings) -> None:
    """The findings of all rules."""
    from ferrule_lint.models.loader import ModelError

    run.progress("analysing", 0, 1)
    try:
        for result in _checked(run.facts, run.discovery.report, settings, run.memory):
            run.findings.extend(result.findings)
            run.errors.extend(result.errors)
            for name, number in result.statistics.items():
                run.count(name, number)
    except ModelError:
        raise
    except Exception as error:
        run.errors.append(LintError("", 0, describe_crash(error)))
        return
    run.progress("analysing", 1, 1)


def _checked(
    facts: Mapping[str, Facts], paths: Iterable[str], settings: Settings, memory: Memory | None = None
) -> Iterator[CheckResult]:
    """What the checks say of `paths`: one analysis for all files whose settings want the same of it."""
    from ferrule_lint.checks.result import CheckOptions
    from ferrule_lint.checks.run import check
    from ferrule_lint.models.loader import load_models

    nearest = Nearest(settings)
    alike: dict[tuple[object, object], tuple[Settings, set[str]]] = {}
    for path in paths:
        own = nearest.of(path)
        alike.setdefault((own.models, own.sharded), (own, set()))[1].add(path)
    for own, reported in alike.values():
        options = CheckOptions(sharded=own.sharded)
        before = memory.before(own) if memory is not None else None
        result = check(facts, frozenset(reported), load_models(own.models), options, before)
        if memory is not None:
            memory.keep(own, before, result)
        yield replace(result, findings=tuple(one for one in result.findings if one.path in reported))


def _selected(
    findings: Sequence[Finding], facts: Mapping[str, Facts], reported: Iterable[str], settings: Settings
) -> tuple[list[Finding], list[Finding]]:
    """What is shown of `findings`, and what would be but for a comment. What is not shown is never fixed."""
    from ferrule_lint.facts.outline import outline

    selection = Selection(settings)
    kept, suppressed = list(findings), list[Finding]()
    comments = {path: said for path in reported if path in facts and (said := outline(facts[path]).suppressions)}
    if comments and not settings.ignore_suppressions:
        from ferrule_lint.checks.build import NAMES
        from ferrule_lint.suppressions.match import match

        matched = match(
            findings,
            comments,
            known=NAMES,
            looked_for=selection.looks_for,
            requires_reason=selection.requires_reason,
        )
        kept, suppressed = matched.kept, matched.suppressed
    return (
        [selection.graded(finding) for finding in kept if selection.asks_for(finding)],
        [selection.graded(finding) for finding in suppressed if selection.asks_for(finding)],
    )


def _flag(run: _Run) -> None:
    """Exact ranges for the findings, from the concrete syntax trees of their files."""
    by_path: dict[str, list[Finding]] = {}
    flagged: list[Finding] = []
    for finding in (*run.findings, *run.suppressed):
        if finding.code in (SYNTAX_ERROR, UNUSED_SUPPRESSION):
            flagged.append(finding)
        else:
            by_path.setdefault(finding.path, []).append(finding)
    if not by_path:
        return
    from ferrule_lint.flagger.anchor import flag

    for done, (path, findings) in enumerate(sorted(by_path.items())):
        run.progress("flagging", done, len(by_path))
        try:
            flagged.extend(flag(run.read(path), findings))
        except OSError:
            # gone since it was read: the analysis' own ranges stand
            flagged.extend(findings)
        except Exception as error:
            flagged.extend(findings)
            run.errors.append(LintError(path, 0, describe_crash(error)))
    run.progress("flagging", len(by_path), len(by_path))
    run.findings = [finding for finding in flagged if finding.suppression is None]
    run.suppressed = [finding for finding in flagged if finding.suppression is not None]


def _offer(run: _Run, settings: Settings) -> None:
    """A fix for each finding that has one which holds."""
    if all(finding.code == SYNTAX_ERROR for finding in run.findings):
        return
    from ferrule_lint.fixes.rounds import offer

    run.progress("fixing", 0, 1)
    # edits are of a file's text; a notebook's is JSON
    in_files = [finding for finding in run.findings if finding.path not in run.notebooks]
    in_notebooks = [finding for finding in run.findings if finding.path in run.notebooks]
    try:
        offered, run.dropped = offer(
            in_files,
            run.read,
            lambda contents: _recheck(run, settings, contents),
            settings.fix_preference,
            run.note,
        )
        run.findings = [*offered, *in_notebooks]
    except Exception as error:
        run.errors.append(LintError("", 0, describe_crash(error)))
        return
    run.count("fixes_dropped", len(run.dropped))
    run.progress("fixing", 1, 1)


def _recheck(run: _Run, settings: Settings, contents: Mapping[str, bytes]) -> list[Finding]:
    """The findings that the files in `contents` would have with these contents, the rest of the project as it is."""
    from ferrule_lint.flagger.anchor import flag
    from ferrule_lint.frontend.lower import extract

    facts = {**run.facts, **{path: extract(data) for path, data in contents.items()}}
    found_now: list[Finding] = []
    for result in _checked(facts, contents, settings):
        found_now += result.findings
        if run.memory is not None:
            run.memory.also_read(result.files)
    kept, _ = _selected(found_now, facts, contents, settings)
    found: list[Finding] = []
    for path in contents:
        here = [finding for finding in kept if finding.path == path]
        # comments have no call to be anchored at
        found += [finding for finding in here if finding.code == UNUSED_SUPPRESSION]
        found += flag(contents[path], [finding for finding in here if finding.code != UNUSED_SUPPRESSION])
    return found
