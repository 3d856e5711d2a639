"""What follows a `while` loop that ends by the clock of a process and is left from inside where something is ready.

`while time.monotonic() < deadline: if job.ready(): return True` and `return False` behind it: who comes there are the
ranks whose time was over before the job was ready, and the others may have found it ready in the last round of theirs.
"""

from __future__ import annotations

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.conditions import Atom, Formula, divergence_of
from ferrule_lint.semantics.domain.dependences import NO_DEPS
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.trace import Attempt, Choice, Exit, Loop, Trace, every_event, parts
from ferrule_lint.semantics.walk.arms import is_uniform
from ferrule_lint.semantics.walk.frame import Frame


def why(body: Trace, test: Formula) -> Divergence | None:
    """Why the time of some ranks is over earlier, by the test of a loop. What a file system says is no clock, and where
    the rounds have collectives, their number tells as much."""
    found = divergence_of(test)
    if found is None or found.kind != "host" or found.confidence == Confidence.LOW:
        return None
    return None if any(True for _ in every_event(body)) else found


def behind(frame: Frame, loop: Loop, late: Divergence) -> None:
    """Those that have returned from inside a loop are not there behind it."""
    if leaves(loop.body, "return"):
        atom = Atom(f"returned from the loop at {loop.path}:{loop.pos[0]}", late, NO_DEPS)
        frame.emit(Choice(atom, (Exit("return", loop.pos[0]),), (), loop.path, loop.pos, loop.text, "loop else"))


def leaves(trace: Trace, kind: str) -> bool:
    """Whether a round may be left under tests of which nothing is known, and not where all ranks have one answer. What
    is known to differ tells for itself."""
    for term in trace:
        if type(term) is Exit and term.kind == kind:
            return True
        if type(term) is Choice and (is_uniform(term.formula) or divergence_of(term.formula) is not None):
            continue
        if type(term) is Loop and kind != "return":
            continue
        if type(term) in (Choice, Loop, Attempt) and leaves(parts(term), kind):
            return True
    return False
