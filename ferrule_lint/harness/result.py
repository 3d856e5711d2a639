"""What a run has left: events, endings, what was returned and printed, and the divergence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ferrule_lint.harness.divergence import Divergence, LintNote
from ferrule_lint.harness.errors import DivergenceError
from ferrule_lint.harness.events import Event, as_dict
from ferrule_lint.harness.supervisor import Ending


@dataclass(frozen=True, slots=True)
class Result:
    """By rank throughout. `values` are what the function returned, where it could be sent back."""

    world: int
    mode: str
    backend: str
    events: tuple[tuple[Event, ...], ...]
    endings: Mapping[int, Ending]
    divergence: Divergence | None = None
    values: Mapping[int, Any] = field(default_factory=dict)
    outputs: Mapping[int, str] = field(default_factory=dict)
    seconds: float = 0.0
    #: what else matters: settings that get in the way, a backend that could not be had
    remarks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """No divergence, and every rank has ended well."""
        return self.divergence is None and not self.failed

    @property
    def failed(self) -> tuple[Ending, ...]:
        """The ranks that raised, were killed, or ended with an exit code."""
        return tuple(self.endings[rank] for rank in sorted(self.endings) if self.endings[rank].failed)

    @property
    def exit_code(self) -> int:
        """86 for a divergence, 124 for one that is only a time limit, else the first failed rank's.

        A rank that was killed never counts as 0.
        """
        if self.divergence is not None:
            return 124 if self.divergence.kind == "timeout" else 86
        codes = [one.code if 0 < one.code < 256 else 1 for one in self.failed]
        return codes[0] if codes else 0

    def report(self) -> str:
        """The divergence or the failures as plain text; empty if all is well."""
        from ferrule_lint.harness.render import as_text

        return as_text(self)

    def raise_for_divergence(self) -> None:
        """DivergenceError with the report unless every rank has done its work alike."""
        if not self.ok:
            raise DivergenceError(self.report())

    def with_notes(self, notes: tuple[LintNote, ...]) -> Result:
        return self if self.divergence is None else replace(self, divergence=self.divergence.with_notes(notes))

    def as_dict(self, *, events: bool = False) -> dict[str, Any]:
        """For JSON: `version` 1; fields may be added."""
        shown: dict[str, Any] = {
            "version": "1",
            "world": self.world,
            "mode": self.mode,
            "backend": self.backend,
            "seconds": round(self.seconds, 3),
            "exit_code": self.exit_code,
            "remarks": list(self.remarks),
            "divergence": self.divergence.as_dict() if self.divergence else None,
            "ranks": [self._rank(rank) for rank in range(self.world)],
        }
        if events:
            shown["events"] = [[as_dict(event) for event in log] for log in self.events]
        return shown

    def _rank(self, rank: int) -> dict[str, Any]:
        ending = self.endings.get(rank)
        status: dict[str, Any] = {"status": "stopped", "code": None, "error": ""}
        if ending is not None:
            status = {"status": ending.status, "code": ending.code, "error": ending.error}
        return {"rank": rank, "events": len(self.events[rank]), **status}
