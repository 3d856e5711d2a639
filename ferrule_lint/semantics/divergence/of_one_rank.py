"""Functions that one rank alone is called into: `if rank == 0 and args.find_lr: losses = find(model, loader)`.

What its own data decides in there tells it apart from nobody. That it is there at all, and communicates, is told of the
test that lets it in; where the others do something of their own meanwhile, they may be waiting for what it leaves out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.semantics.divergence.reach import by_one
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Trace, every_event, every_term
from ferrule_lint.semantics.project import options
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo


#: functions that call each other, up to the one that asks for the rank
_DEEPEST = 2


def is_for_one(analysis: Analysis, function: FunctionInfo, depth: int = _DEEPEST) -> bool:
    """Whether every call of a function is one rank's alone, with nothing that the others do instead."""
    sites: dict[str, tuple[FunctionInfo, int]] = {}
    for module, owner, _ in options.calls_of(analysis, function):
        if owner is None:
            return False
        if not is_test(module.path):
            sites[owner.id] = owner, sites.get(owner.id, (owner, 0))[1] + 1
    return bool(sites) and all(
        (depth > 1 and is_for_one(analysis, caller, depth - 1)) or _calls_by_one(analysis, caller, function) == number
        for caller, number in sites.values()
    )


def _calls_by_one(analysis: Analysis, caller: FunctionInfo, function: FunctionInfo) -> int:
    """How many calls of a function, as they are seen to be made, only one rank comes to."""
    known = analysis.frame_of(caller)
    trace = known[0].trace if known is not None else ()
    calls = (term for term in by_one(trace) if type(term) is CallTerm and term.summary.origin is function.origin)
    return sum(not _others_do_something(trace, call) for call in calls)


def _others_do_something(trace: Trace, call: CallTerm) -> bool:
    """Whether the other arm of a choice around a call communicates."""
    for choice in every_term(trace):
        if type(choice) is Choice:
            here = [any(term is call for term in every_term(arm)) for arm in (choice.body, choice.orelse)]
            if any(here) and any(every_event(choice.orelse if here[0] else choice.body)):
                return True
    return False
