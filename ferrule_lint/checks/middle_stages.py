"""Whether the pipeline stages between the first and the last ever come to a function.

What a function hands back matters on the stages that call it. Most callers leave before that on the stages between,
which need no batch, or throw it away; and a function that nobody calls is somebody else's to call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ferrule_lint.checks.thrown_away import thrown_away
from ferrule_lint.facts import types as f
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.divergence.reach import way_to
from ferrule_lint.semantics.divergence.ruled_out import as_set
from ferrule_lint.semantics.domain.conditions import Formula, atoms, evaluate
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.domain.trace import CallTerm, Event, Term, Trace, every_term
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.project.programs import is_test


def come_to(analysis: Analysis, function: FunctionInfo, settings: Mapping[str, bool]) -> bool:
    """Whether some call of the function, but for those in tests, is made on a stage between under some settings."""
    return any(_is_on_the_way(trace, term, settings) for trace, term in calls_of(analysis, function))


def calls_of(analysis: Analysis, function: FunctionInfo, without_use: bool = False) -> Iterator[tuple[Trace, Term]]:
    """The calls of a function, with the traces they stand in; those whose result nobody wants `without_use` only. What
    a model says of one is an event of its caller."""
    for module in analysis.names.mentioning(function.name):
        if is_test(module.path):
            continue
        for caller, every_call in module.calls():
            calls = [call for call in every_call if last_name(call.func) == function.name]
            unused: set[f.Pos] = set()
            if caller is not None and not without_use:
                unused = {call.pos for call in calls if thrown_away(caller.body, call)}
            used = [call for call in calls if call.pos not in unused]
            if not used:
                continue
            known = analysis.frame_of(caller) if caller is not None else None
            trace = known[0].trace if known is not None else ()
            if caller is None:
                trace = analysis.module_frame(module).trace()
            modelled = {call.pos for call in used if analysis.names.resolve(call.func, module) is function}
            for term in every_term(trace):
                known_call = (
                    type(term) is CallTerm and term.summary.origin is function.origin and term.pos not in unused
                )
                if known_call or (type(term) is Event and term.path == module.path and term.pos in modelled):
                    yield trace, term


def _is_on_the_way(trace: Trace, call: Term, settings: Mapping[str, bool]) -> bool:
    """Whether no test that leads to a call, nor one that leaves before it, sends the stages between elsewhere."""
    asked = way_to(trace, call) or ()
    return not any(evaluate(formula, _answers(formula) | as_set(formula, settings)) is False for formula in asked)


def _answers(formula: Formula) -> dict[str, bool]:
    """How a stage between answers tests of the stage: first it is not, nor last, nor any that is written out."""
    return {
        atom.key: False
        for atom in atoms(formula)
        if atom.divergence is not None and atom.divergence.kind == "rank" and "pp" in atom.divergence.axes
    }
