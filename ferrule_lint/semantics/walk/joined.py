"""Blocks in which ranks that are done answer the others: `with model.join():`, `with Join([model]):`.

They answer what the joined modules issue, a forward and a backward, and nothing else: not the `barrier` or `all_reduce`
that stands beside them. And whoever joins has another number of batches on each rank, or there would be no need to.

Source: <https://docs.pytorch.org/docs/stable/distributed.algorithms.join.html>.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.targets import MethodTarget
from ferrule_lint.semantics.domain.text import last_name, place_name, variables
from ferrule_lint.semantics.domain.trace import Trace, weakened
from ferrule_lint.semantics.walk.body import execute
from ferrule_lint.semantics.walk.frame import Frame

_TRUE, _FALSE = f.Const("True"), f.Const("False")


def call_of(frame: Frame, s: f.With) -> f.Call | None:
    """The call by which a block joins; also one that an `ExitStack` is given in it."""
    for expr, target in s.items:
        if type(expr) is not f.Call:
            continue
        if _joins(frame, expr):
            return expr
        if last_name(expr.func) == "ExitStack" and target is not None:
            enters = f"{place_name(target)}.enter_context"
            given = [c.args[0] for c in walk(s.body) if type(c) is f.Call and c.args and place_name(c.func) == enters]
            found = next((c for c in given if type(c) is f.Call and last_name(c.func) == "Join"), None)
            if found is not None:
                return found
    return None


def block(frame: Frame, s: f.With, call: f.Call) -> None:
    """Walks the body of such a block."""
    before = frame.joined
    alone = _answers_nothing_else(frame, call)
    frame.joined = None
    if alone:
        note = f"`{last_name(call.func)}` is there for ranks that run out of batches before the others"
        frame.joined = frame.source(DP, "data", call.pos, note, Confidence.MEDIUM)
    with frame.recording() as terms:
        execute(frame, s.body)
    trace: Trace = tuple(terms)
    frame.terms.extend(weakened(trace, lambda event: event.hidden) if alone else weakened(trace))
    frame.joined = before


def rounds(frame: Frame, loop: f.For, walked: Value) -> Divergence | None:
    """Why a loop over batches in such a block takes another number of rounds on each rank."""
    if frame.joined is None or any(_takes_batches(frame, r.statement, r.walked) for r in frame.rounds):
        return None
    return frame.joined if _takes_batches(frame, loop, walked) else None


def _takes_batches(frame: Frame, loop: f.For, walked: Value) -> bool:
    if walked.loader or walked.data is not None:
        return True
    taken = (frame.read(name) for name in variables(loop.target))
    return any(value is not None and value.data is not None for value in taken)


def _joins(frame: Frame, call: f.Call) -> bool:
    target = frame.eval(call.func).target
    if type(target) is MethodTarget:
        return target.name == "join" and all(type(a) is f.Const for a in call.args)
    return last_name(call.func) == "Join"


def _answers_nothing_else(frame: Frame, call: f.Call) -> bool:
    """Whether only modules of a library are joined, whose hooks are known, and who is done does not end the others."""
    keywords = dict(call.keywords)
    if None in keywords or keywords.get("throw_on_early_termination", _FALSE) != _FALSE:
        return False
    if keywords.get("enable", _TRUE) != _TRUE:
        return False
    joined = call.args[0] if call.args else keywords.get("joinables")
    if last_name(call.func) != "Join":
        return not call.args
    if type(joined) is not f.Sequence or f.Starred in map(type, joined.elements) or len(call.args) > 1:
        return False
    names = frame.analysis.names
    types = [info for expr in joined.elements for info in frame.eval(expr).types]
    return not any(names.method(info, "join_hook") for info in types)
