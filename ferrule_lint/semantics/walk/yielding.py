"""Generators that yield in rounds which a test ends: `while len(parts) >= n: yield parts[:n]`, as often as the test
holds, and `yield item` with `if time.time() > end: return` behind it; `while batch := list(islice(rows, n)): yield
batch`, as often as there are rows.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements, walk
from ferrule_lint.semantics.data import iteration
from ferrule_lint.semantics.data.ordering import length_deps
from ferrule_lint.semantics.domain.conditions import Formula, deps_of, divergence_of
from ferrule_lint.semantics.domain.dependences import Deps
from ferrule_lint.semantics.domain.lattice import Divergence, rounds_of, worse
from ferrule_lint.semantics.domain.text import last_name, position
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
    _note(frame, why, deps, position(s.test), "yields as often as this holds for what this rank has")


def in_slices(frame: Frame, s: f.While) -> None:
    """What decides how often a loop of a generator yields that takes several items at once, while there are any."""
    if frame.function is None or not frame.function.is_generator or not nodes(s.body, f.Yield):
        return
    for call in nodes((s.test, s.body), f.Call):
        if last_name(call.func) == "islice" and len(call.args) == 2 and type(call.args[0]) is f.Name:
            rows = frame.ask(call.args[0])
            _note(frame, rounds_of(rows), length_deps(rows), call.pos, "yields as long as this rank has items")
            return


def at_exit(frame: Frame, s: f.Break | f.Return) -> None:
    """What decides that a generator leaves its rounds, after some of what it yields there."""
    if frame.function is None or not frame.function.is_generator or frame.function.is_context_manager:
        return
    why, deps = frame.path_divergence(), frame.path_deps()
    if (why is None and not deps) or s.line not in frame.analysis.bodies.once(_last_rounds, frame.function.body):
        return
    _note(frame, why, deps, (s.line, 1, s.line, 1), "ends what this rank yields")


def _note(frame: Frame, why: Divergence | None, deps: Deps, pos: f.Pos | None, note: str) -> None:
    """A test decides how much is yielded."""
    if iteration.re_yields(frame):
        return
    frame.yielded_deps |= deps
    if why is not None:
        frame.yielded_length = worse(frame.yielded_length, why.then(frame.step("condition", pos, note)))


def _last_rounds(body: f.Body) -> frozenset[int]:
    """The lines of what leaves a loop that yields."""
    found: set[int] = set()
    for loop in statements(body):
        if (type(loop) is f.For or type(loop) is f.While) and nodes(loop.body, f.Yield):
            inner = {one.line for s in statements(loop.body) if type(s) in _LOOPS for one in nodes(s, f.Break)}
            found |= {one.line for one in nodes(loop.body, f.Return)}
            found |= {one.line for one in nodes(loop.body, f.Break) if one.line not in inner}
    return frozenset(found)


_LOOPS = (f.For, f.While)
