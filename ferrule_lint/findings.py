"""What the tool says: findings, their witnesses, errors and the report of one run.

These types are the contract between the analysis and everything that shows or repairs its results
(reporters, flagger, fixes, harness). They hold plain values only, so that they can be sent between
processes and written as JSON. Lines and columns count from 1; `end_column` is exclusive.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

#: what formatters change: white space, and commas before a closing bracket
_LAYOUT = re.compile(r"\s+|,(?=\s*[)\]}])")


class Confidence(enum.IntEnum):
    """How sure a finding is: both ends certain, one link a convention, or a guess."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3

    @property
    def label(self) -> str:
        return self.name.lower()

    @classmethod
    def parse(cls, text: str) -> Confidence:
        """The confidence called `text` ("low", "medium", "high"); ValueError for any other word."""
        try:
            return cls[text.upper()]
        except KeyError:
            raise ValueError(f"unknown confidence {text!r}: expected low, medium or high") from None


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source text; lines and columns from 1, end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Step:
    """One place of a witness: why a value differs, where it is tested, or which event it decides.

    `role` is one of "source", "flow", "condition", "call", "wrap", "event".
    """

    role: str
    path: str
    line: int
    column: int
    note: str


@dataclass(frozen=True, slots=True)
class EventSite:
    """A collective that some ranks issue and others do not (or issue differently).

    `axes`: of its group. `hidden`: issued without saying so, by a forward, say. `through`: the project function that is
    called here and issues it, or "" if the call here is the collective. `module`: the id of the class of the module
    whose forward it is, "" where that cannot be told.
    """

    op: str
    path: str
    line: int
    column: int
    axes: tuple[str, ...] = ()
    hidden: bool = False
    through: str = ""
    module: str = ""


class Safety(enum.IntEnum):
    """What applies a fix: nothing (it is only shown), `--unsafe-fixes`, or `--fix`."""

    SHOWN = 1
    UNSAFE = 2
    SAFE = 3

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of a range of the file as it was read; an empty range is an insertion. Lines end in `\\n`."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A rewrite that makes a finding go away: edits of the finding's file, sorted, none over another.

    `form` is the name of the rewrite, `message` says what it does and what it assumes.
    """

    form: str
    message: str
    safety: Safety
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Suppression:
    """Why a finding is not reported: a comment, or an entry of the baseline.

    `form` is one of "ignore", "noqa", "block", "file", "baseline"; `line` and `reason` are those of the comment.
    """

    form: str
    path: str
    line: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One divergence, anchored at the call that issues the event."""

    code: str
    name: str
    severity: str
    confidence: Confidence
    message: str
    path: str
    span: Span
    axes: tuple[str, ...] = ()
    kind: str = ""
    function: str = ""
    witness: tuple[Step, ...] = ()
    events: tuple[EventSite, ...] = ()
    fix: Fix | None = None
    #: ranges the flagger has read from the concrete syntax tree, where it has
    condition_span: Span | None = None
    statement_span: Span | None = None
    #: the source text of the anchored call, white space folded
    anchor_text: str = ""
    #: None unless it is suppressed
    suppression: Suppression | None = None
    #: the fingerprint, for a finding whose path was rewritten for a report
    known_fingerprint: str = ""

    @property
    def fingerprint(self) -> str:
        """Stable under moved lines and reformatting: code, file, function and the text of the call."""
        if self.known_fingerprint:
            return self.known_fingerprint
        text = _LAYOUT.sub("", self.anchor_text or self.message)
        parts = "\0".join((self.code, self.path, self.function, text))
        return hashlib.sha256(parts.encode()).hexdigest()[:16]

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        return (self.path, self.span.line, self.span.column, self.code, self.message)


@dataclass(frozen=True, slots=True)
class LintError:
    """Something that could not be read or analysed; the rest of the run went on. `line` 0: the whole file."""

    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class NotebookCells:
    """Where the lines of a notebook's code stand: (first line, number of the cell, its number of lines), from 1."""

    cells: tuple[tuple[int, int, int], ...]
    #: the code of each cell by its number
    texts: Mapping[int, str] = field(default_factory=dict)

    def place(self, line: int) -> tuple[int, int]:
        """(number of the cell, line in it) of a line of the code."""
        if not self.cells:
            return 1, line
        first, number, lines = max((cell for cell in self.cells if cell[0] <= line), default=self.cells[0])
        return number, min(line - first + 1, max(lines, 1))


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one run. `seconds` is wall time; `statistics` counts budgets that ended in silence and the like."""

    #: what is to be reported and, where it can be, repaired
    findings: tuple[Finding, ...] = ()
    errors: tuple[LintError, ...] = ()
    files: int = 0
    lines: int = 0
    fixed: int = 0
    #: what would be reported but for a comment or the baseline; each says which
    suppressed: tuple[Finding, ...] = ()
    seconds: float = 0.0
    statistics: dict[str, int] = field(default_factory=dict)
    #: the files that were reported on, as far as they could be read
    paths: tuple[str, ...] = ()
    #: what stood in for files (the standard input, an editor's buffer), by path
    contents: Mapping[str, bytes] = field(default_factory=dict)
    #: the notebooks among `paths`
    notebooks: Mapping[str, NotebookCells] = field(default_factory=dict)
