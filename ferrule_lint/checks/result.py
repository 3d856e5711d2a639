"""What the checks take and give."""

from __future__ import annotations

from dataclasses import dataclass, field

from ferrule_lint.checks.edits import Digests, Earlier
from ferrule_lint.checks.known import FileResult, Remembered
from ferrule_lint.checks.remembered import Answers
from ferrule_lint.findings import Finding, LintError
from ferrule_lint.semantics.project.evidence import Evidence


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Settings of the analysis. `sharded`: "auto" (look for evidence), True, False, or class-name patterns."""

    sharded: bool | str | tuple[str, ...] = "auto"
    #: whether to look at the files that call what stands in those which are asked for, too: see `elsewhere`
    elsewhere: bool = False


def _nothing(digest: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Before:
    """An earlier run, nothing if there was none, the digests of the files as they are now, and facts as they were."""

    known: Remembered
    digests: Digests
    earlier: Earlier = _nothing


@dataclass(frozen=True, slots=True)
class CheckResult:
    findings: tuple[Finding, ...] = ()
    statistics: dict[str, int] = field(default_factory=dict)
    errors: tuple[LintError, ...] = ()
    #: what was found file by file
    files: tuple[FileResult, ...] = ()
    #: what its inputs say; None if nobody asked for what is kept
    answers: Answers | None = None
    #: what the project shards, if that was asked
    evidence: Evidence | None = field(default=None, compare=False, repr=False)
