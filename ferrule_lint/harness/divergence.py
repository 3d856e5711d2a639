"""What a run has found out, ready to be shown: plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ferrule_lint.harness.events import Site
from ferrule_lint.harness.origin import Origin

#: what `Divergence.kind` can be, and what it means
KINDS = {
    "op": "the ranks issue different operations",
    "module": "the ranks gather or reduce the parameters of different modules, which FSDP would mix up",
    "request": "the ranks ask for different groups",
    "shape": "tensors differ in size",
    "dtype": "tensors differ in dtype",
    "reduce-op": "the ranks reduce with different operations",
    "root": "the ranks name different roots",
    "splits": "what one rank sends is not what the other expects",
    "exited": "a rank has ended and left others waiting",
    "raised": "a rank has raised an exception and left others waiting",
    "crashed": "a rank was killed by a signal and left others waiting",
    "deadlock": "all ranks wait for each other",
    "stall": "ranks wait for one that is idle in its own code",
    "timeout": "the run was not done in time",
    "unpaired": "a send or receive without its counterpart",
}


#: kinds in which a value can differ where the lines are the same
VALUES = ("shape", "dtype", "reduce-op", "root", "splits", "request")


@dataclass(frozen=True, slots=True)
class LintNote:
    """What the linter says of a line that matters here."""

    code: str
    name: str
    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.code} {self.name} at {self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Ranks that did the same. `doing` is the operation at the place of the difference, or why there is none."""

    ranks: tuple[int, ...]
    doing: str
    issued: bool
    stack: tuple[Site, ...] = ()
    api: str = ""
    module: str = ""
    #: the last operation before, where this one was never issued
    last: str = ""
    error: str = ""

    @property
    def site(self) -> Site | None:
        return self.stack[0] if self.stack else None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the aligned table: a cell for each behaviour. `agrees`: all members did this alike."""

    label: str
    cells: tuple[str, ...]
    agrees: bool


@dataclass(frozen=True, slots=True)
class Parting:
    """The line after which the ranks went different ways, and where two of them went next."""

    site: Site
    next_lines: tuple[tuple[Site, ...], ...] = ()
    #: the ranks that went these ways, one each
    ranks: tuple[int, ...] = ()

    @property
    def place(self) -> str:
        return self.site.place


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference between the ranks of one group."""

    kind: str
    text: str
    group: str
    members: tuple[int, ...]
    #: collectives that this group had matched before
    matched: int
    behaviours: tuple[Behaviour, ...]
    rows: tuple[Row, ...] = ()
    parting: Parting | None = None
    #: where one of them had skipped a turn before, so that operations of different turns were paired since
    out_of_step: Parting | None = None
    #: the value that differs, where the ranks ran the same lines
    origin: Origin | None = None
    notes: tuple[LintNote, ...] = ()
    #: seconds from the arrival of the last event to the verdict
    latency: float = 0.0

    @property
    def site(self) -> str:
        """`path:line` of the first call that differs; empty if no line of the user's is known."""
        return next((one.site.place for one in self.behaviours if one.site is not None), "")

    @property
    def cause(self) -> str:
        """`path:line` of the branch that parted the ranks, of the value that differs, else of the call."""
        decisive = self.out_of_step or self.parting or self.origin
        return decisive.place if decisive else self.site

    def with_notes(self, notes: tuple[LintNote, ...]) -> Divergence:
        return replace(self, notes=notes)

    def places(self) -> list[Site]:
        """All lines that the linter may have something to say about, the cause first."""
        sites = [one.site for one in (self.out_of_step, self.parting) if one is not None]
        sites += [Site(self.origin.path, self.origin.line, "")] if self.origin else []
        sites += [site for one in self.behaviours for site in one.stack]
        return list(dict.fromkeys(sites))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "kind": self.kind,
            "text": self.text,
            "group": {"name": self.group, "members": list(self.members)},
            "matched": self.matched,
            "site": self.site,
            "cause": self.cause,
            "behaviours": [
                {
                    "ranks": list(one.ranks),
                    "doing": one.doing,
                    "issued": one.issued,
                    "api": one.api,
                    "module": one.module,
                    "stack": [site._asdict() for site in one.stack],
                    "last": one.last,
                    "error": one.error,
                }
                for one in self.behaviours
            ],
            "rows": [{"label": row.label, "cells": list(row.cells), "agrees": row.agrees} for row in self.rows],
            "parting": _parting(self.parting),
            "out_of_step": _parting(self.out_of_step),
            "origin": asdict(self.origin) if self.origin else None,
            "findings": [
                {"code": note.code, "name": note.name, "path": note.path, "line": note.line, "message": note.message}
                for note in self.notes
            ],
            "latency_seconds": self.latency,
        }


def _parting(parting: Parting | None) -> dict[str, Any] | None:
    if parting is None:
        return None
    ways = [[site._asdict() for site in way] for way in parting.next_lines]
    return {**parting.site._asdict(), "next": ways, "ranks": list(parting.ranks)}
