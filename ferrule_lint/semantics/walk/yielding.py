"""Generators that yield in a `while` loop: `while len(parts) >= n: yield parts[:n]`, as often as the test holds."""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.data import iteration
from ferrule_lint.semantics.domain.conditions import Formula, deps_of, divergence_of
from ferrule_lint.semantics.domain.lattice import worse
from ferrule_lint.semantics.domain.text import position
from ferrule_lint.semantics.walk.frame import Frame


def in_rounds(frame: Frame, s: f.While, test: Formula) -> None:
    """What decides how often a loop of a generator yields. What the host tells, and the number of rounds of a `for`
    around it, is told where it yields."""
    if frame.function is None or not frame.function.is_generator:
        return
    why, deps = divergence_of(test), deps_of(test)
    if why is not None and why.kind != "data":
        why = None
    if (why is None and not deps) or not any(type(node) is f.Yield for node in walk(s.body)):
        return
    if iteration.re_yields(frame):
        return
    frame.yielded_deps |= deps
    if why is not None:
        step = frame.step("condition", position(s.test), "yields as often as this holds for what this rank has")
        frame.yielded_length = worse(frame.yielded_length, why.then(step))
