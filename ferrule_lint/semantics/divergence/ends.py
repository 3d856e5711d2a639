"""Groups of the first and the last pipeline stage, in which the stages between are no members.

`if last: broadcast(x, group=ends)`, `elif first: broadcast(x, group=ends)`: no stage between misses anything. So ranks
are compared twice: as any stages, without what is issued in such a group, and as one of the two ends each, with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.conditions import Atom, atoms
from ferrule_lint.semantics.domain.trace import ENDS, CallTerm, Choice, Event, Trace, every_term

_FIRST = re.compile(r"(?<![a-z])first(?![a-z])")
_LAST = re.compile(r"(?<![a-z])last(?![a-z])")
_NOT = re.compile(r"(?<![a-z])(not|non|no)(?![a-z])")
_STAGES: Axes = frozenset({"pp"})


def meet(root: Trace) -> bool:
    """Whether something is issued in such a group."""
    for term in every_term(root):
        if type(term) is Event and term.channel == ENDS:
            return True
        if type(term) is CallTerm and any(e.channel == ENDS for e in term.summary.events):
            return True
    return False


def as_one_of_them(root: Trace, assignment: Mapping[str, bool]) -> dict[str, bool] | None:
    """The answers of a rank that is one of the two: who is not the last is the first. None: it is neither."""
    first, last = _tests(root, _FIRST), _tests(root, _LAST)
    is_first, is_last = _answer(first, assignment), _answer(last, assignment)
    if is_first is False and is_last is False:
        return None
    known = dict(assignment)
    for keys, other in ((first, is_last), (last, is_first)):
        if other is False:
            known.update(dict.fromkeys(keys, True))
    return known


def _tests(root: Trace, name: re.Pattern[str]) -> list[str]:
    found = (atom for term in every_term(root) if type(term) is Choice for atom in atoms(term.formula))
    return [atom.key for atom in found if _of_stages(atom) and name.search(atom.key) and not _NOT.search(atom.key)]


def _of_stages(atom: Atom) -> bool:
    divergence = atom.divergence
    return divergence is not None and divergence.kind == "rank" and divergence.axes == _STAGES


def _answer(keys: list[str], assignment: Mapping[str, bool]) -> bool | None:
    known = [assignment[key] for key in keys if key in assignment]
    return known[0] if known else None
