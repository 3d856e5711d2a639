"""What grows in the rounds of a loop of which each rank has its own number: a list that gets an item in each, a count.

    while not done:
        observation, reward, done, _ = env.step(policy(observation))
        rewards.append(reward)

How many rounds there are is told by the test of a `while`, or by what leaves the loop by `break` or `return`; a `for`
over what ranks have another number of is told where the item is added (`Frame.round_divergence`). What it counts of the
items of a share, by a test of them, is another number on each rank as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.assigned import targets
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence, worse
from ferrule_lint.semantics.domain.text import place_name, position, variables
from ferrule_lint.semantics.domain.trace import Choice, Loop, Trace, has_exit, parts
from ferrule_lint.semantics.walk.binding import is_numbered
from ferrule_lint.semantics.walk.frame import Frame

_FILLS = frozenset({"append", "appendleft"})
#: a rank that goes by its number, or waits for others, does as much as is asked of it
_KINDS = frozenset({"data", "host"})


class _Grown(NamedTuple):
    """A place that grows in a loop, where that is said, and whether it is a number."""

    place: str
    pos: f.Pos
    counts: bool


def after_loop(frame: Frame, s: f.For | f.While, body: Trace, tested: Divergence | None) -> None:
    """Behind a loop, with the trace of a round; `tested`: why the test of a `while` differs."""
    left = [divergence_of(c.formula) for c in _choices(body) if "break" in (has_exit(c.body), has_exit(c.orelse))]
    why = next((d for d in (tested, *left) if d is not None and _is_own(d)), None)
    if why is None:
        return
    _grow(frame, s, why)


def after_share(frame: Frame, s: f.For, rounds: Divergence | None) -> None:
    """Behind a loop over a share of this rank (`rounds`: why there are as many): what it has counted of the items that
    a test of them has let through. Without a test the counts of two ranks are one apart at most, and none is zero."""
    if rounds is None or rounds.kind != "rank" or rounds.confidence is Confidence.LOW:
        return
    if any(grown.counts for grown in frame.analysis.bodies.once(_grown, s.body)):
        _grow(frame, s, rounds, _counted_by_test(frame, s))


def _counted_by_test(frame: Frame, loop: f.For) -> frozenset[str]:
    """What a loop steps under a test of its items, or behind one that goes on with the next. How often a test of the
    number of the round holds is as good as alike."""
    target: f.Expr | tuple[f.Expr, ...] = loop.target
    if type(target) is f.Sequence and is_numbered(frame, loop.iterable):
        target = target.elements[1:]
    own = variables(target)
    for s in statements(loop.body):
        if type(s) is f.Assign and s.value is not None and not own.isdisjoint(variables(s.value)):
            own |= {v for t in s.targets for v in variables(t)}
    tests = [s for s in statements(loop.body) if type(s) is f.If and not own.isdisjoint(variables(s.test))]
    under = {t for test in tests for s in statements((*test.body, *test.orelse)) for t in map(place_name, targets(s))}
    for i, s in enumerate(loop.body):
        if type(s) is f.If and s in tests and any(type(x) is f.Continue for x in statements(s.body)):
            under |= {t for behind in statements(loop.body[i + 1 :]) for t in map(place_name, targets(behind))}
    return frozenset(under - {""})


def at_return(frame: Frame, s: f.Return) -> None:
    """Before what leaves a function in the middle of a loop is handed back: what has grown in its rounds so far."""
    if not frame.loop_depth or frame.function is None or type(s.value) not in (f.Name, f.Sequence):
        return
    why = next((d for c in reversed(frame.conditions) if (d := divergence_of(c)) is not None and _is_own(d)), None)
    if why is not None:
        for loop in frame.analysis.bodies.once(_left_by_return, frame.function.body).get(s.line, ()):
            _grow(frame, loop, why)


def _left_by_return(body: f.Body) -> dict[int, list[f.For | f.While]]:
    """The loops around each `return`, by its line."""
    found: dict[int, list[f.For | f.While]] = {}
    for loop in statements(body):
        if type(loop) is f.For or type(loop) is f.While:
            for s in statements(loop.body):
                if type(s) is f.Return:
                    found.setdefault(s.line, []).append(loop)
    return found


def _grow(frame: Frame, s: f.For | f.While, why: Divergence, counted: frozenset[str] | None = None) -> None:
    """`counted`: these numbers alone."""
    asked = variables(s.test) if type(s) is f.While else frozenset()
    for grown in frame.analysis.bodies.once(_grown, s.body):
        if counted is not None and not (grown.counts and grown.place in counted):
            continue
        known = frame.read(grown.place)
        if known is None or grown.place.partition(".")[0] in asked or known.agreed:
            continue
        note = f"`{grown.place}` grows in each round, of which the rank has a number of its own"
        more = why.then(frame.step("flow", grown.pos, note)).at_most(Confidence.MEDIUM)
        own = frame.own_attribute(grown.place)
        if grown.counts and known.divergence is None and known.data is None:
            now = known._replace(divergence=more, const=None, uniform=False)
        elif not grown.counts and (known.container or (own and not known.types)):
            length = worse(known.length, more)
            now = known._replace(length=length, slots=None, items=None, uniform=False)
        else:
            continue
        frame.env[grown.place] = now
        if own:
            frame.also_left(own, now)


def _choices(body: Trace) -> Iterator[Choice]:
    """The choices of a round, but for those of loops in it: what leaves these goes on with the round."""
    for term in body:
        if type(term) is Choice:
            yield term
        if type(term) is not Loop:
            yield from _choices(parts(term))


def counted_up(frame: Frame, s: f.While) -> None:
    """`while found < 8:` with steps of one: as many as the test asks for, from here on."""
    test = s.test
    if type(test) is not f.Compare or test.ops not in (("<",), ("!=",)) or type(test.left) is not f.Name:
        return
    name, known = test.left.id, frame.env.get(test.left.id)
    if known is None or known.divergence is None or any(type(t) is f.Break for t in statements(s.body)):
        return
    steps = [t for t in statements(s.body) if name in map(place_name, targets(t))]
    if all(type(t) is f.AugAssign and t.op == "Add" and t.value == _ONE for t in steps):
        most = frame.ask(test.rights[0])
        if most.divergence is None and most.data is None:
            frame.env[name] = known._replace(divergence=None)


_ONE = f.Const("1")


def _is_own(why: Divergence) -> bool:
    return why.kind in _KINDS and not why.assumed and why.confidence > Confidence.LOW


def _grown(body: f.Body) -> list[_Grown]:
    """The lists and counts that a round adds to, but those that it makes anew."""
    made = {place_name(t) for s in statements(body) if type(s) is f.Assign for t in s.targets}
    return [grown for s in statements(body) for grown in _of(s) if grown.place and grown.place not in made]


def _of(s: f.Stmt) -> Iterator[_Grown]:
    if type(s) is f.AugAssign and s.op == "Add" and type(s.value) is f.Const and s.value.text.isdigit():
        place, pos = place_name(s.target), position(s.target)
        if pos is not None and (type(s.target) is f.Name or type(s.target) is f.Attr):
            yield _Grown(place, pos, True)
    call = s.value if type(s) is f.ExprStmt else None
    if type(call) is f.Call and type(call.func) is f.Attr and call.func.attr in _FILLS:
        yield _Grown(place_name(call.func.base), call.pos, False)
