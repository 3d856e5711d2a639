"""Groups of the first and the last pipeline stage, in which the stages between are no members.

`if last: broadcast(x, group=ends)`, `elif first: broadcast(x, group=ends)`: no stage between misses anything. So ranks
are compared twice: as any stages, without what is issued in such a group, and as one of the two ends each, with it.
Which stages are the ends was said where the group was made, and a function that asks for them (`if
is_rank_in_embedding_group():`) knows it better than a test of the stage that it is handed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ferrule_lint.semantics.divergence.compare import Occurrence
from ferrule_lint.semantics.divergence.reach import way_to
from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.conditions import Atom, Formula, atoms, evaluate
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


#: how many calls below a test the members are asked for
_DEEPEST = 3
_IS_MEMBER = re.compile(r"in_(\w+_)?(?<!position_)(?<!pos_)embedding_group\(")


def asks_who_is_one(trace: Trace, occurrence: Occurrence) -> bool:
    """Whether what is issued in such a group is issued under the question whether the rank is in it."""
    if occurrence.event.channel != ENDS:
        return False
    return _is_asked(trace if occurrence.call is None else occurrence.call.summary.trace, occurrence.event, _DEEPEST)


def _is_asked(trace: Trace, event: Event, deepest: int) -> bool:
    for term in every_term(trace):
        if type(term) is CallTerm and deepest:
            here = any(_same(e, event) for e in term.summary.events)
            below = here and _is_asked(term.summary.trace, event, deepest - 1)
        else:
            here, below = type(term) is Event and _same(term, event), False
        if here and (below or any(map(_asks, way_to(trace, term) or ()))):
            return True
    return False


def _same(one: Event, other: Event) -> bool:
    return one.pos == other.pos and one.path == other.path


def _asks(formula: Formula) -> bool:
    """Whether a test fails for who is not in such a group."""
    return any(_IS_MEMBER.search(atom.key) and evaluate(formula, {atom.key: False}) is False for atom in atoms(formula))
