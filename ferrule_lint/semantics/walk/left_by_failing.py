"""What tells a rank on which a `try` has failed from the others below it: an exception that is kept, in a list or by
itself, what was never set, and a list that has an item less.

A handler that one rank can come to alone is an arm of a test that differs: what is None, or a list, in one arm only is
there on some ranks. What the handler leaves alone is what it was in front of the `try`, unless the body has set it
before it could fail.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.assigned import assigning
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of
from ferrule_lint.semantics.domain.lattice import Value, worse
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.walk.arms import merge_arms
from ferrule_lint.semantics.walk.frame import Frame

Env = dict[str, Value]


def told_apart(s: f.Try, alone: Formula, around: tuple[Env, Env, Env], left: Env) -> Env:
    """What holds behind a handler which one rank comes to `alone`. `around`: what held in front of the `try`, on
    entering the handler, and without an exception; `left`: behind the handler, as far as that tells nothing apart."""
    before, entered, tried = around
    changed, divergence = dict(left), divergence_of(alone)
    failed_at = divergence.why[-1].line if divergence is not None else 0
    for place, value in left.items():
        other = tried.get(place)
        own = value if value is not entered.get(place) else before.get(place)
        if own is None or other is None or own is other or not (_tells(own, other) or _tells(other, own)):
            continue
        if own is not value and _set_before(s.body, place, failed_at):
            continue
        changed[place] = merge_arms(alone, own, other, before.get(place))
    return changed


def has_less(frame: Frame, s: f.Try, handler: f.Handler, alone: Formula, before: Env, env: Env) -> Env:
    """The same of what the body adds items to: who has failed has fewer, unless the handler adds one instead."""
    added, instead = _added_to(s.body), _added_to(handler.body)
    changed = dict(env)
    for place in sorted(added):
        value, own = env.get(place), frame.own_attribute(place)
        if value is None or value.layout is not None or not (value.container or own):
            continue
        if place in instead:
            known = before.get(place)
            changed[place] = value._replace(length=known.length if known is not None else None)
            continue
        divergence = divergence_of(alone)
        if divergence is None:
            continue
        pos = (handler.line, 1, handler.line, 1)
        step = frame.step("flow", pos, f"`{place}` gets no item where this rank had the exception")
        changed[place] = value._replace(length=worse(value.length, divergence.then(step)), uniform=False)
        if own in frame.self_writes:
            frame.also_left(own, changed[place])
    return changed


def _added_to(body: f.Body) -> frozenset[str]:
    """The places to which a block adds an item: `ok.append(x)`."""
    found: set[str] = set()
    for s in statements(body):
        call = s.value if type(s) is f.ExprStmt else None
        if type(call) is f.Call and type(call.func) is f.Attr and call.func.attr in ("append", "add", "appendleft"):
            found.add(place_name(call.func.base))
    return frozenset(found - {""})


def _tells(one: Value, other: Value) -> bool:
    """Whether one arm has nothing where the other has something, or another number of items."""
    if one.const == "None":
        return other.const != "None"
    return one.slots is not None and other.slots is not None and one.slots != other.slots


def _set_before(body: f.Body, place: str, line: int) -> bool:
    """Whether a body assigns a place above a line."""
    return any(s.line < line for s in assigning(body, place))
