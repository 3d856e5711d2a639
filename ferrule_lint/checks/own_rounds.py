"""Loops over all ranks in which each has a round of its own, and meets the others once more there.

    for i in range(world_size):
        if rank == i:
            load(path)  # with a barrier in it
        dist.barrier()

One rank is at the barrier of its loading when the others are at that of the loop. That is nothing that the barriers
could tell: behind the loop all have been at as many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ferrule_lint.checks.places import trace_of
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import last_name, position
from ferrule_lint.semantics.domain.trace import CallTerm, Event, Loop, every_term

_CODES = frozenset({"FER101", "FER102"})
_SIZE = re.compile(r"(^|_)(world|my|comm|group|mpi)?_?size$|^(num|n)_?(ranks|procs|processes|gpus)$|^nprocs$")
_MEETS = frozenset({"barrier"})


def without_those_in_own_rounds(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings but those about a round that each rank has once, in a loop that issues nothing but barriers."""
    return [finding for finding in findings if not _is_in_own_round(analysis, finding)]


def _is_in_own_round(analysis: Analysis, finding: Finding) -> bool:
    if finding.code not in _CODES or finding.kind != "rank" or {e.op for e in finding.events} != _MEETS:
        return False
    tests = {(s.path, s.line, s.column) for s in finding.witness if s.role == "condition"}
    return len(tests) == 1 and any(_meets_alike(analysis, *test) for test in tests)


def _meets_alike(analysis: Analysis, path: str, line: int, column: int) -> bool:
    module = analysis.names.modules.get(path)
    for function in module.functions.values() if module is not None else ():
        lines = {loop.line for loop in _over_all(function.body) if _asks_for_round(loop, (line, column))}
        for term in every_term(trace_of(analysis, function)) if lines else ():
            if type(term) is Loop and term.pos[0] in lines:
                return len(met := set(_issued(term))) == 1 and next(iter(met))[0] in _MEETS
    return False


def _over_all(body: f.Body) -> Iterator[f.For]:
    """`for i in range(world_size)`"""
    for node in walk(body):
        if type(node) is f.For and type(node.target) is f.Name and type(node.iterable) is f.Call:
            args = node.iterable.args
            if last_name(node.iterable.func) == "range" and len(args) == 1 and _SIZE.search(last_name(args[0])):
                yield node


def _asks_for_round(loop: f.For, place: tuple[int, int]) -> bool:
    """Whether the test at a place is `rank == i`, of an `if` in the loop without an `else`."""
    own = last_name(loop.target)
    for s in loop.body:
        if type(s) is f.If and not s.orelse and type(s.test) is f.Compare and s.test.ops == ("==",):
            here = position(s.test)
            if here is not None and here[:2] == place and own in (last_name(s.test.left), last_name(s.test.rights[0])):
                return True
    return False


def _issued(loop: Loop) -> Iterator[tuple[str, frozenset[str]]]:
    """What a loop issues; whether what a module keeps is in parts is a guess here."""
    for term in every_term(loop.body):
        events = (term,) if type(term) is Event else term.summary.events if type(term) is CallTerm else ()
        yield from ((e.op, e.axes) for e in events if not e.hidden)
