"""What the checks find, and what of it is shown: of a whole project, or of files as a fix would leave them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ferrule_lint.engine.state import Run
from ferrule_lint.extraction import describe_crash
from ferrule_lint.findings import Finding, LintError
from ferrule_lint.project.config import Settings
from ferrule_lint.project.nearest import Nearest
from ferrule_lint.project.selection import UNUSED_SUPPRESSION, Selection

if TYPE_CHECKING:
    from ferrule_lint.checks.result import CheckResult
    from ferrule_lint.facts.outline import Facts


def check(run: Run, settings: Settings, jobs: int = 1) -> None:
    """The findings of all rules, by up to `jobs` processes."""
    from ferrule_lint.models.loader import ModelError

    run.progress("analysing", 0, 1)
    try:
        asked = frozenset(run.discovery.report)
        for result in _checked(run, run.facts, run.discovery.report, settings, jobs=jobs):
            run.findings.extend(one for one in result.findings if one.path in asked)
            run.elsewhere.extend(one for one in result.findings if one.path not in asked)
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
    run: Run,
    facts: Mapping[str, Facts],
    paths: Iterable[str],
    settings: Settings,
    again: bool = False,
    jobs: int = 1,
) -> Iterator[CheckResult]:
    """What the checks say of `paths`: one analysis for all files whose settings want the same of it. `again`: of other
    contents of these files than those that were checked before."""
    from ferrule_lint.checks.elsewhere import MOST_ASKED, comes_from
    from ferrule_lint.checks.result import CheckOptions
    from ferrule_lint.checks.run import check
    from ferrule_lint.models.loader import load_models

    nearest, memory = Nearest(settings), run.memory
    beyond = run.looks_elsewhere and not again and len(run.discovery.report) <= MOST_ASKED
    alike: dict[tuple[object, object], tuple[Settings, set[str]]] = {}
    for path in paths:
        own = nearest.of(path)
        alike.setdefault((own.models, own.sharded), (own, set()))[1].add(path)
    for way, (own, reported) in alike.items():
        options = CheckOptions(sharded=own.sharded, elsewhere=beyond)
        if again:
            like = run.checked.get(way)
            result = check(facts, frozenset(reported), load_models(own.models), options, like=like)
        else:
            before = memory.before(own) if memory is not None else None
            result = check(facts, frozenset(reported), load_models(own.models), options, before, jobs=jobs)
            run.checked[way] = result
            if memory is not None:
                memory.keep(own, before, result)
        told = [one for one in result.findings if one.path in reported]
        for one in result.findings if beyond else ():
            other = nearest.of(one.path)
            if (other.models, other.sharded) == way and comes_from(one, reported):
                told.append(one)
        yield replace(result, findings=tuple(told))


def selected(
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
            names=NAMES,
            looked_for=selection.looks_for,
            requires_reason=selection.requires_reason,
        )
        kept, suppressed = matched.kept, matched.suppressed
    return (
        [selection.graded(finding) for finding in kept if selection.asks_for(finding)],
        [selection.graded(finding) for finding in suppressed if selection.asks_for(finding)],
    )


def from_elsewhere(run: Run, settings: Settings) -> list[Finding]:
    """What is shown of the findings in other files, with exact ranges; without fixes, which nobody has asked for."""
    if not run.elsewhere:
        return []
    from ferrule_lint.flagger.anchor import flag

    by_path: dict[str, list[Finding]] = {}
    for finding in run.elsewhere:
        by_path.setdefault(finding.path, []).append(finding)
    found: list[Finding] = []
    for path, findings in sorted(by_path.items()):
        kept, _ = selected(findings, run.facts, [path], settings)
        with suppress(OSError):  # gone since it was read
            found += flag(run.read(path), [finding for finding in kept if finding.code != UNUSED_SUPPRESSION])
    return found


def recheck(run: Run, settings: Settings, contents: Mapping[str, bytes]) -> list[Finding]:
    """The findings that the files in `contents` would have with these contents, the rest of the project as it is."""
    from ferrule_lint.flagger.anchor import flag
    from ferrule_lint.frontend.lower import extract

    facts = {**run.facts, **{path: extract(data) for path, data in contents.items()}}
    found_now: list[Finding] = []
    for result in _checked(run, facts, contents, settings, again=True):
        found_now += result.findings
        if run.memory is not None:
            run.memory.also_read(result.files)
    kept, _ = selected(found_now, facts, contents, settings)
    found: list[Finding] = []
    for path in contents:
        here = [finding for finding in kept if finding.path == path]
        # comments have no call to be anchored at
        found += [finding for finding in here if finding.code == UNUSED_SUPPRESSION]
        found += flag(contents[path], [finding for finding in here if finding.code != UNUSED_SUPPRESSION])
    return found
