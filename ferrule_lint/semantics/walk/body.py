"""A body, statement by statement."""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of, negate
from ferrule_lint.semantics.domain.trace import Choice, Exit, Term, ends, has_exit, weakened
from ferrule_lint.semantics.walk import behind_exits, first_use, left_early, peers, unreachable
from ferrule_lint.semantics.walk.frame import Frame


def execute(frame: Frame, body: f.Body) -> None:
    """Run a body: an early exit under a condition makes what follows conditional, which the trace's exits express."""
    guards: list[tuple[Formula, int]] = []
    breaks = 0
    made = None
    for place, statement in enumerate(body):
        frame.line = statement.line
        before = len(frame.terms)
        frame.executors[type(statement)](frame, statement)
        if unreachable.rest_of_block(frame, statement, before):
            break
        if type(statement) is f.While and len(frame.terms) > before:
            guard = _exit_guard(frame.terms[-1], "loop else")
            if guard is not None:
                frame.conditions.append(guard)
                guards.append((guard, frame.clock))
        if type(statement) is f.If and len(frame.terms) > before:
            if made is None and first_use.is_made_after(frame, statement, body[place + 1 :]):
                made = len(frame.terms)
            guard = _exit_guard(frame.terms[-1])
            if guard is not None and peers.leaves_out(frame, statement, guard) is None:
                if behind_exits.leaves_function(frame, frame.terms[-1]):
                    frame.gone.add(len(frame.conditions))
                frame.conditions.append(guard)
                guards.append((guard, frame.clock))
                if frame.loops and _breaks(frame.terms[-1]):
                    frame.loops[-1].left.append(guard)
                    breaks += 1
    if made is not None:
        frame.terms[made:] = weakened(tuple(frame.terms[made:]))
    if guards:
        _leaves_behind(frame, guards)
        del frame.conditions[-len(guards) :]
        frame.gone.difference_update(range(len(frame.conditions), len(frame.conditions) + len(guards)))
    if breaks:
        del frame.loops[-1].left[-breaks:]


def _leaves_behind(frame: Frame, guards: list[tuple[Formula, int]]) -> None:
    """A block that leaves the round at its end, where a test before has let it: `if not found: continue`, `break`."""
    last = frame.terms[-1:]
    if not frame.loops or not last or type(last[0]) is not Exit or last[0].kind not in ("break", "continue"):
        return
    guard, begun = next((known for known in reversed(guards) if divergence_of(known[0]) is not None), guards[-1])
    left_early.by_arm(frame, guard, tuple(last), frame.env, begun)


def _breaks(last: Term) -> bool:
    """Whether who is not there any more behind an `if` has left the loop."""
    return type(last) is Choice and "break" in (has_exit(last.body), has_exit(last.orelse))


def _exit_guard(last: Term, form: str = "if") -> Formula | None:
    """The condition under which the rest of the block runs, when the `if` that this term is of may have left it; or the
    `while` loop."""
    if type(last) is not Choice or last.form != form:
        return None
    # an exception ends the job: who is still there is everybody
    if ends(last.body) and has_exit(last.body):
        return negate(last.formula)
    if ends(last.orelse) and has_exit(last.orelse):
        return last.formula
    return None
