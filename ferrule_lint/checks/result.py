"""What the checks take and give."""

from __future__ import annotations

from dataclasses import dataclass, field

from ferrule_lint.findings import Finding, LintError


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Settings of the analysis. `sharded`: "auto" (look for evidence), True, False, or class-name patterns."""

    sharded: bool | str | tuple[str, ...] = "auto"


@dataclass(frozen=True, slots=True)
class CheckResult:
    findings: tuple[Finding, ...] = ()
    statistics: dict[str, int] = field(default_factory=dict)
    errors: tuple[LintError, ...] = ()
