"""Blocks in which DDP keeps gradients to the rank: `with model.no_sync():`, and under which condition they do.

The context is chosen by a conditional expression, in the arms of a test before the block, by a function of the project,
or entered under a test at the beginning of the block (`stack.enter_context(model.no_sync())`).
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.data import iteration
from ferrule_lint.semantics.domain.conditions import TRUE, Atom, Formula, negate
from ferrule_lint.semantics.domain.dependences import NO_DEPS
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import last_name, position, shown
from ferrule_lint.semantics.domain.trace import Choice, Trace, without
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.predicates import condition


def by_block(frame: Frame, s: f.With) -> tuple[Formula, f.Expr] | None:
    """Under which condition gradients are kept to the rank in a block, and what says so; None if they never are."""
    for expr, target in s.items:
        made = iteration.definition(frame, expr)
        chosen = iteration.definition(frame, made.func) if type(made) is f.Call and not made.args else made
        if _keeps(made):
            return TRUE, made
        if type(chosen) is f.IfExp and _keeps(chosen.body) is not _keeps(chosen.orelse):
            formula, _ = condition(frame, chosen.test)
            return (formula if _keeps(chosen.body) else negate(formula)), chosen.test
        decided = _entered_first(s, target) or _chosen_in_arms(frame, made)
        if decided is not None:
            formula, _ = condition(frame, decided[0])
            return (formula if decided[1] else negate(formula)), decided[0]
        if type(made) is f.Call and _may_keep(frame, made):
            return Atom(frame.key(made), None, NO_DEPS), made
    return None


def emit(frame: Frame, decided: tuple[Formula, f.Expr], trace: Trace) -> None:
    """A block whose backward reduces no gradients where `decided` holds."""
    formula, test = decided
    quiet = without(trace, "backward")
    if formula == TRUE or quiet == trace:
        frame.terms.extend(quiet)
        return
    pos = position(test) or (frame.line, 1, frame.line, 1)
    frame.emit(Choice(formula, quiet, trace, frame.module.path, pos, shown(test), "conditional expression"))


def _entered_first(s: f.With, stack: f.Expr | None) -> tuple[f.Expr, bool] | None:
    """The test at the beginning of a block under which a stack of contexts is given one that keeps gradients."""
    first = s.body[0] if s.body else None
    if type(stack) is not f.Name or type(first) is not f.If or first.orelse:
        return None
    entered = [c for c in nodes(first.body, f.Call) if last_name(c.func) == "enter_context" and c.args]
    own = any(type(c.func) is f.Attr and last_name(c.func.base) == stack.id for c in entered)
    return (first.test, True) if own and any(_keeps(c.args[0]) for c in entered) else None


def _chosen_in_arms(frame: Frame, made: f.Expr) -> tuple[f.Expr, bool] | None:
    """The test in whose arms the context was chosen, and whether it is the one that keeps gradients where it holds:

    if last:
        flag = True
        context = nullcontext
    else:
        context = model.no_sync
    with context():
    """
    name = made.func if type(made) is f.Call and not made.args and not made.keywords else made
    if type(name) is not f.Name or frame.function is None:
        return None
    for s in statements(frame.function.body):
        if type(s) is not f.If:
            continue
        arms = [_set_in(arm) for arm in (s.body, s.orelse)]
        given = [arm.get(name.id) for arm in arms]
        if None in given or _keeps(given[0]) is _keeps(given[1]):
            continue
        flags = [key for key, value in arms[_keeps(given[0])].items() if value == f.Const("True")]
        return (f.Name(flags[0], name.pos), False) if len(flags) == 1 else (s.test, _keeps(given[0]))
    return None


def _set_in(arm: f.Body) -> dict[str, f.Expr]:
    """What an arm sets its names to."""
    return {
        target.id: s.value
        for s in arm
        if type(s) is f.Assign and s.value is not None
        for target in s.targets
        if type(target) is f.Name
    }


def _may_keep(frame: Frame, call: f.Call) -> bool:
    """Whether a function of the project chooses: `return model.no_sync() if more else nullcontext()`."""
    target = frame.eval(call.func).target
    if type(target) is not FunctionTarget:
        return False
    return any(
        _keeps(made)
        for s in statements(target.function.body)
        if type(s) is f.Return and s.value is not None
        for made in ((s.value.body, s.value.orelse) if type(s.value) is f.IfExp else (s.value,))
    )


def _keeps(expr: f.Expr | None) -> bool:
    """Whether something is the context that keeps gradients, or is called for it."""
    return last_name(expr.func if type(expr) is f.Call else expr) == "no_sync" if expr is not None else False
