"""Calls that communicate in one mode of a library and not in another, where a `with` around them says which.

The mode is set for all that runs in the block, functions that are called in it included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ferrule_lint.checks.places import body_at
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk, way_to
from ferrule_lint.findings import Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import words


def but_in_local_modes(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings without those of calls that communicate with nobody in the mode that they are made in."""
    return [finding for finding in findings if not _is_local(analysis, finding)]


def _is_local(analysis: Analysis, finding: Finding) -> bool:
    within = analysis.models.local_within
    modes = [within.get(event.op, ()) for event in finding.events]
    if not modes or not all(modes):
        return False
    places = [(s.path, s.line, s.column) for s in finding.witness if s.role in ("call", "event")]
    return any(
        _says(context, modes[0]) for path, line, column in places for context in _around(analysis, path, line, column)
    )


def _around(analysis: Analysis, path: str, line: int, column: int) -> Iterator[f.Expr]:
    """The contexts that a call at some place is made in, as far as its own function tells."""
    for block, i in way_to(body_at(analysis, path, line, column), (line, column))[:-1]:
        statement = block[i]
        if type(statement) is f.With:
            yield from (context for context, _ in statement.items)


def _says(context: f.Expr, mode: Iterable[str]) -> bool:
    """Whether a context names all of a mode; what begins with `!` is an argument that must not be true."""
    named = set(words(context))
    true = {k for n in walk((context,)) if type(n) is f.Call for k, v in n.keywords if v != f.Const("False")}
    return all(part[1:] not in true if part.startswith("!") else part in named for part in mode)
