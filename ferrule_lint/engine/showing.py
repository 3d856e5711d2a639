"""Findings get their exact ranges and fixes; what an earlier run made of a file that nothing has changed for stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ferrule_lint.engine.checking import recheck
from ferrule_lint.engine.placing import placed
from ferrule_lint.engine.state import Run
from ferrule_lint.extraction import describe_crash
from ferrule_lint.findings import Finding, LintError
from ferrule_lint.project.config import Settings
from ferrule_lint.project.nearest import Nearest
from ferrule_lint.project.results import Results
from ferrule_lint.project.selection import SYNTAX_ERROR, UNUSED_SUPPRESSION
from ferrule_lint.reporters.source import Sources

if TYPE_CHECKING:
    from ferrule_lint.checks.known import Shown


def show(run: Run, settings: Settings, every_fix: bool = False) -> None:
    """Findings with their exact ranges and fixes; those of an earlier run where nothing has changed. `every_fix`: those
    that do not hold are tried again, to say why."""
    known: list[Shown] = []
    chosen: dict[str, tuple[list[Finding], list[Finding]]] = {}
    nearest = Nearest(settings)
    if run.memory is not None:
        chosen = _by_path(run)
        earlier = {path: run.memory.shown(path, own, nearest.of(path)) for path, own in chosen.items()}
        if every_fix:
            earlier = {path: None if shown is None or shown.dropped else shown for path, shown in earlier.items()}
        anew = run.memory.tried_together({path for path, shown in earlier.items() if shown is None}, earlier)
        for path, shown in earlier.items():
            if shown is not None and path not in anew:
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


def _by_path(run: Run) -> dict[str, tuple[list[Finding], list[Finding]]]:
    """The findings of each file, and the suppressed ones."""
    found: dict[str, tuple[list[Finding], list[Finding]]] = {}
    for place, findings in enumerate((run.findings, run.suppressed)):
        for finding in findings:
            found.setdefault(finding.path, ([], []))[place].append(finding)
    return found


def _flag(run: Run) -> None:
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


def _offer(run: Run, settings: Settings) -> None:
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
            lambda contents: recheck(run, settings, contents),
            settings.fix_preference,
            run.note,
        )
        run.findings = [*offered, *in_notebooks]
    except Exception as error:
        run.errors.append(LintError("", 0, describe_crash(error)))
        return
    run.count("fixes_dropped", len(run.dropped))
    run.progress("fixing", 1, 1)


def results_of(run: Run, settings: Settings, contents: Mapping[str, bytes] | None = None) -> Results:
    """What there is to show; of each fix, how safe the settings say it is. `contents`: what the findings are in, where
    that is not what was read."""
    from ferrule_lint.facts.outline import outline
    from ferrule_lint.project.selection import safety

    nearest = Nearest(settings)
    findings = [
        finding
        if finding.fix is None
        else replace(finding, fix=replace(finding.fix, safety=safety(nearest.of(finding.path), finding)))
        for finding in (*run.findings, *run.elsewhere)
    ]
    reported = set(run.discovery.report)
    sources = Sources(run.discovery.root, {**run.contents, **(contents or {})})
    return Results(
        findings=tuple(sorted(placed(findings, sources), key=lambda finding: finding.sort_key)),
        suppressed=tuple(sorted(placed(run.suppressed, sources), key=lambda finding: finding.sort_key)),
        lines=sum(outline(facts).lines for path, facts in run.facts.items() if path in reported),
        statistics=run.statistics,
    )
