"""The halves of collectives that the arms of a test of the rank issue for each other: what does not fit."""

from __future__ import annotations

from collections import Counter

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls.shapes import shape_message
from ferrule_lint.semantics.data.layout import conflict
from ferrule_lint.semantics.domain.axes import share
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import place_name, render
from ferrule_lint.semantics.domain.trace import CallTerm, Event, Exit, Term, Trace
from ferrule_lint.semantics.groups import same_for_all
from ferrule_lint.semantics.walk.frame import CallIssue, Frame

#: what a call leaves in a trace
_CALLS = (Event, CallTerm)


def check(frame: Frame, s: f.If, formula: Formula, body: Trace, orelse: Trace) -> None:
    """Issues at collectives with buffers, roots, reductions or an order that do not fit those of the other arm."""
    divergence = divergence_of(formula)
    a, b = ([t for t in arm if type(t) is not Exit] for arm in (body, orelse))
    if divergence is None or len(a) != len(b):
        return
    if _in_another_order(frame, s, divergence, a, b):
        return
    for one, other in zip(a, b, strict=True):
        if type(one) is not Event or type(other) is not Event or one.op != other.op or one.axes != other.axes:
            return
        if words := conflict(frame.layouts.get(one.pos), frame.layouts.get(other.pos)):
            _issue(frame, "FER201", divergence, one, other, other, words, shape_message("FER201", other.op, divergence))
            return
        if words := same_for_all.conflict(frame, one, other):
            message = f"ranks say different things of one `{other.op}`: {words}"
            _issue(frame, "FER404", divergence, one, other, other, words, message)
            return


def _in_another_order(frame: Frame, s: f.If, divergence: Divergence, a: list[Term], b: list[Term]) -> bool:
    """Whether both arms share the same things by the same calls, in an order of their own: told of the first."""
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if isinstance(x, _CALLS) and isinstance(y, _CALLS)]
    if divergence.kind != "rank" or not 2 <= len(pairs) == len(a):
        return False
    calls = {call.pos: call for call in nodes((*s.body, *s.orelse), f.Call)}
    shared = [(_shared(x, calls), _shared(y, calls)) for x, y in pairs]
    one, other = ([pair[i] for pair in shared] for i in (0, 1))
    if any(x.partition("(")[0] != y.partition("(")[0] for x, y in shared):
        return False  # other collectives: that some ranks alone issue them is told elsewhere
    if one == other or "" in (*one, *other) or Counter(one) != Counter(other) or len(set(one)) < len(one):
        return False
    place = next(i for i, (x, y) in enumerate(shared) if x != y)
    first, second = pairs[place]
    event = next(iter(second.summary.events), None) if isinstance(second, CallTerm) else second
    if event is None or not ("world" in event.axes or share(event.axes, divergence.axes)):
        return False
    x, y = (text.partition("(")[2] for text in shared[place])
    message = f"ranks pass other things to one `{event.op}`: `{y}`, where the others have `{x}`"
    _issue(frame, "FER404", divergence, first, second, event, f"it has `{x}`", message)
    return True


def _shared(term: Event | CallTerm, calls: dict[f.Pos, f.Call]) -> str:
    """What a call shares by what: `broadcast(mask`; "" for anything that is not told so."""
    call = calls.get(term.pos)
    what = call.args[0] if call is not None and call.args else None
    if call is None or what is None or (type(term) is Event and term.p2p):
        return ""
    return f"{render(call.func)}({render(what)}" if place_name(what) or type(what) is f.Subscript else ""


def _issue(
    frame: Frame,
    code: str,
    divergence: Divergence,
    one: Event | CallTerm,
    other: Event | CallTerm,
    event: Event,
    words: str,
    message: str,
) -> None:
    step = frame.step("event", one.pos, f"the other ranks' half of it: {words}")
    frame.issues.append(CallIssue(code, other.pos, divergence.then(step).at_most(Confidence.MEDIUM), event, message))
