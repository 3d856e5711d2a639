"""The whole of a run, in its order, or what an earlier one over the same files came to."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ferrule_lint.engine.checking import check, from_elsewhere, recheck, selected
from ferrule_lint.engine.reading import read_all, started
from ferrule_lint.engine.showing import results_of, show
from ferrule_lint.engine.state import Progress, Run
from ferrule_lint.findings import Finding, Report
from ferrule_lint.memory import MANY, Memory
from ferrule_lint.project.config import Settings
from ferrule_lint.project.nearest import Nearest
from ferrule_lint.project.results import Results, ResultsCache, digests
from ferrule_lint.project.results import key as results_key

if TYPE_CHECKING:
    from ferrule_lint.fixes.rounds import Repair


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
    elsewhere: bool = False,
) -> Report:
    """Lint `paths` and report what the settings ask for; raises `ModelError` for a broken model file.

    Where `settings` were read from a file, nearer settings files count for the files that they are nearer to.
    `contents` stand in for files that are among `paths`, or read around them (absolute paths).
    Up to `jobs` processes read new files, and check. Those that read import the main module, as `multiprocessing` does:
    leave it at 1 if that has no `if __name__ == "__main__"`. Those that check are forks (on Linux alone).
    `elsewhere`: of few files, also report what a test in them makes go wrong in files that call what they define.
    """
    start = time.perf_counter()
    run = started(paths, settings, use_cache, progress, contents)
    run.looks_elsewhere = elsewhere
    settings = replace(settings, root=run.discovery.root)
    results = _known_or_analyse(run, settings, jobs)
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
    elsewhere: bool = False,
) -> Fixed:
    """Lint `paths`, and apply in memory the fixes that the settings allow. Nothing is written: see `fixes.write`.

    `accepted` says which findings of the first report are left as they are (a baseline has them).
    """
    from ferrule_lint.fixes.rounds import Repair, repair
    from ferrule_lint.project.selection import may_apply

    start = time.perf_counter()
    run = started(paths, settings, use_cache, progress, contents)
    run.looks_elsewhere = elsewhere
    settings = replace(settings, root=run.discovery.root)
    nearest = Nearest(settings)

    def have_fixes(known: Results) -> bool:
        tried = known.statistics.get("fixes_dropped", 0) > 0
        return tried or any(may_apply(nearest.of(finding.path), finding) for finding in known.findings)

    results = _known_or_analyse(run, settings, jobs, have_fixes)
    report = _report(run, results, start)
    if not run.facts:
        return Fixed(report, Repair(findings=list(results.findings)), {})
    left = {(finding.path, finding.fingerprint) for finding in (accepted(report) if accepted is not None else ())}
    with _uncollected():
        result = repair(
            run.findings,
            run.read,
            lambda contents: recheck(run, settings, contents),
            lambda finding: (
                may_apply(nearest.of(finding.path), finding) and (finding.path, finding.fingerprint) not in left
            ),
            settings.fix_preference,
        )
    run.findings = result.findings
    if result.contents:
        run.elsewhere = []  # of the files as they were
    result.dropped[:0] = run.dropped
    before = {path: run.read(path) for path in result.contents}
    return Fixed(_report(run, results_of(run, settings, result.contents), start), result, before)


def _known_or_analyse(
    run: Run, settings: Settings, jobs: int, to_fix: Callable[[Results], bool] | None = None
) -> Results:
    """The results of an earlier run over the same project, else of an analysis now. `to_fix` says of known results
    whether they are to be fixed: then the facts are needed, too, and why a fix does not hold."""
    # a notebook that is broken is in no cache
    if run.cache is None or run.findings or run.errors:
        return _analyse(run, settings, jobs)
    cache = ResultsCache(run.cache.folder)
    files = digests(run.discovery, run.contents)
    key = results_key(run.discovery, settings, files, run.looks_elsewhere) if files is not None else None
    known = cache.load(key, Results) if key is not None else None
    if known is not None and not (to_fix is not None and to_fix(known)):
        return replace(known, statistics={**known.statistics, "results_cached": 1})
    if files is not None:
        run.memory = Memory(cache, files, run.cache, of_many=len(run.discovery.report) >= MANY)
    results = _analyse(run, settings, jobs, to_fix is not None)
    # what failed may not fail again; and what was read has to be what the key was made of
    if key is not None and not run.errors and digests(run.discovery, run.contents) == files:
        cache.store(key, results)
        if run.memory is not None:
            run.memory.store()
    if run.cache.hits:
        return replace(results, statistics={**results.statistics, "cache_hits": run.cache.hits})
    return results


def _analyse(run: Run, settings: Settings, jobs: int, every_fix: bool = False) -> Results:
    with _uncollected():
        read_all(run, jobs)
        check(run, settings, jobs)
        run.findings, run.suppressed = selected(run.findings, run.facts, run.discovery.report, settings)
        show(run, settings, every_fix)
        run.elsewhere = from_elsewhere(run, settings)
    return results_of(run, settings)


def _report(run: Run, results: Results, start: float) -> Report:
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
