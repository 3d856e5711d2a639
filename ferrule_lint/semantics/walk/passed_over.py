"""Rounds over a data loader that are passed over by what a function says of them: `if already_done(batch): continue`.

Of an unknown function's result nobody knows whether it reads the batch or asks of its form, so that testing it tells
nothing. But who passes over rounds by it expects others where it says otherwise: the same answer for every batch would
leave nothing to do, or nothing to ask. So it is an answer about the batch, and each rank has batches of its own.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import loaders
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.targets import ClassTarget, FunctionTarget
from ferrule_lint.semantics.domain.text import position, shown, variables
from ferrule_lint.semantics.walk.frame import Frame


def asked(frame: Frame, expr: f.Expr, value: Value) -> Divergence | None:
    """Why the truth of what is made of a round's batch, by which the round may be passed over, is the rank's own."""
    if value.data is None or not frame.rounds:
        return None
    loop, walked, _ = frame.rounds[-1]
    made = definition(frame, expr) if type(expr) is f.Name else expr
    of_round = variables(loop.target)
    arguments = (*made.args, *(a for _, a in made.keywords)) if type(made) is f.Call else ()
    given = {name for a in arguments for name in variables(a) & of_round}
    is_loader = walked.loader or loaders.is_loader(frame, loop.iterable)
    if not given or not (is_loader or any(frame.models.convention("batch", name) is not None for name in given)):
        return None
    if value.container or loaders.holds_several(frame, loop.iterable):
        return None
    if type(made) is not f.Call or type(frame.ask(made.func).target) in (FunctionTarget, ClassTarget):
        return None  # of what the project defines it is known what it hands back
    if not any(type(s) is f.If and _passes_over(frame, s, expr) for s in statements(loop.body)):
        return None
    note = f"rounds for which `{shown(expr)}` holds, or does not, are passed over"
    return value.data.then(frame.step("flow", position(expr), note)).at_most(Confidence.MEDIUM)


def _passes_over(frame: Frame, s: f.If, expr: f.Expr) -> bool:
    test = s.test.operand if type(s.test) is f.Not else s.test
    is_it = test is expr or (type(test) is f.Name and definition(frame, test) is expr)
    return is_it and bool(s.body) and type(s.body[-1]) is f.Continue
