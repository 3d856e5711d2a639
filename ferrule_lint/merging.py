"""The reports of several projects as one, with paths relative to the folder that holds them all."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ferrule_lint.findings import EventSite, Finding, LintError, Report, Step, Suppression

_Placed = TypeVar("_Placed", Step, EventSite, LintError)


def merged(reports: Sequence[tuple[Report, Path]], root: Path) -> Report:
    """One report of those in `reports`, each with the root of its paths; `root` is that of the result."""
    moved = [_moved(report, Path(os.path.relpath(own, root)).as_posix()) for report, own in reports]
    statistics: Counter[str] = Counter()
    for report in moved:
        statistics.update(report.statistics)
    return Report(
        findings=tuple(sorted((one for report in moved for one in report.findings), key=lambda one: one.sort_key)),
        suppressed=tuple(sorted((one for report in moved for one in report.suppressed), key=lambda one: one.sort_key)),
        errors=tuple(error for report in moved for error in report.errors),
        files=sum(report.files for report in moved),
        lines=sum(report.lines for report in moved),
        fixed=sum(report.fixed for report in moved),
        seconds=sum(report.seconds for report in moved),
        statistics=dict(statistics),
        paths=tuple(path for report in moved for path in report.paths),
        contents={path: content for report in moved for path, content in report.contents.items()},
        notebooks={path: cells for report in moved for path, cells in report.notebooks.items()},
    )


def _moved(report: Report, prefix: str) -> Report:
    """The report with `prefix` before its paths. Findings keep their fingerprints: a project's are the same alone."""
    if prefix == ".":
        return report

    def path(own: str) -> str:
        return f"{prefix}/{own}" if own else own

    def placed(one: _Placed) -> _Placed:
        return replace(one, path=path(one.path))

    def suppression(one: Suppression | None) -> Suppression | None:
        # a baseline's path is as it was given
        return one if one is None or one.form == "baseline" else replace(one, path=path(one.path))

    def finding(one: Finding) -> Finding:
        return replace(
            one,
            path=path(one.path),
            witness=tuple(map(placed, one.witness)),
            events=tuple(map(placed, one.events)),
            suppression=suppression(one.suppression),
            known_fingerprint=one.fingerprint,
        )

    return replace(
        report,
        findings=tuple(map(finding, report.findings)),
        suppressed=tuple(map(finding, report.suppressed)),
        errors=tuple(map(placed, report.errors)),
        paths=tuple(map(path, report.paths)),
        contents={path(own): content for own, content in report.contents.items()},
        notebooks={path(own): cells for own, cells in report.notebooks.items()},
    )
