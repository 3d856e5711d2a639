"""FER303: one rank sends once and all others receive, or the other way round; and what is asked of single transfers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule_lint.checks.build import NAMES, span
from ferrule_lint.checks.places import decision
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Confidence, EventSite, Finding, Step
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.conditions import Atom, Formula, divergence_of, negate
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import last_name, place_name, shown
from ferrule_lint.semantics.domain.trace import Attempt, Choice, Event, Exit, Trace
from ferrule_lint.semantics.sources import first_rank

#: tests that hold on a single rank of a group
_SINGLE = re.compile(
    r"(^|[._])is_(first|last|main|master)_(rank|stage|process)\b|is_pipeline_(first|last)_stage"
    r"|^[\w.()]*(rank|stage)(\(\w*\))? == "
)
#: what keys of tests have behind places that were assigned
_NUMBER = re.compile(r"#\d+")
_PEERS = {"send": "dst", "isend": "dst", "recv": "src", "irecv": "src"}


def check(root: Trace, function: str, body: f.Body) -> Iterator[Finding]:
    """What one rank does and all others do not."""
    for i, term in enumerate(root):
        if type(term) is Choice:
            yield from _one_to_all(term, function, body, root[i + 1 :])
        elif type(term) is Attempt:
            yield from check(term.body, function, body)


def is_transfer(event: Event) -> bool:
    return event.op in ("send", "recv") and bool(event.p2p)


# ---------------------------------------------------------------------- one to all
def _one_to_all(choice: Choice, function: str, body: f.Body, after: Trace) -> Iterator[Finding]:
    """`if first: send(to one) else: recv()`: all others receive, and one of them gets something. `after`: what follows
    in the same block, which is the other arm of one that returns."""
    for arm in (choice.body, choice.orelse):
        for i, term in enumerate(arm):
            if type(term) is Choice:
                yield from _one_to_all(term, function, body, arm[i + 1 :])
    divergence = divergence_of(choice.formula)
    if divergence is None or divergence.kind != "rank":
        return
    one, others = _only(choice.body), _only(other_arm(choice, after))
    text, single = choice.text, _of_one(choice.formula)
    if single is None:
        one, others, text, single = others, one, f"not {text}", _of_one(negate(choice.formula))
    if single is None or one is None or others is None or {one.p2p, others.p2p} != {"send", "recv"}:
        return
    calls = {n.pos: n for n in walk(body) if type(n) is f.Call}
    peer = peer_of(calls.get(one.pos))
    if peer is None or peer == f.Const("None") or _lets_two_in(body, choice.text.removeprefix("not ")):
        return
    # a program for two ranks names the other one by its number
    confidence = Confidence.LOW if _is_other_of_two(resolved(peer, body, ())) else Confidence.MEDIUM
    does, do = ("sends", "wait to receive") if one.p2p == "send" else ("receives", "send")
    message = f"the rank with `{text}` {does} once, to or from `{shown(peer)}`, but all other ranks {do}"
    condition = decision(choice)
    yield finding(message, divergence, (others, one), (condition,), function, min(confidence, divergence.confidence))


def other_arm(choice: Choice, after: Trace) -> Trace:
    """What ranks do for which a test does not hold: behind an arm that returns, what follows in the same block."""
    returns = bool(choice.body) and type(choice.body[-1]) is Exit and choice.body[-1].kind == "return"
    return after if returns and not choice.orelse else choice.orelse


def written(atom: Atom) -> str:
    """The key of a test without what tells when its places were assigned."""
    return _NUMBER.sub("", atom.key)


def _of_one(formula: Formula) -> str | None:
    """The test that holds on a single rank of a group, if a formula is one, by its text; or None."""
    if type(formula) is not Atom:
        return None
    text = written(formula)
    return text if first_rank.is_test(text) or _SINGLE.search(text) else None


def _lets_two_in(body: f.Body, text: str) -> bool:
    """Whether an assertion lets one of two come here: `assert is_first() or is_last()`, `assert rank in (a, b)`."""
    return any(_names_two(s.test, text) for s in statements(body) if type(s) is f.Assert)


def _names_two(test: f.Expr, text: str) -> bool:
    if type(test) is f.BoolOp:
        return test.op == "or" and len(test.values) == 2 and any(shown(value) == text for value in test.values)
    if type(test) is not f.Compare or test.ops != ("in",) or type(test.rights[0]) is not f.Sequence:
        return False
    return len(test.rights[0].elements) == 2 and shown(test.left) in text


def _is_other_of_two(peer: f.Expr) -> bool:
    """A number that is written out, `1 - rank` or `rank ^ 1`."""
    if type(peer) is f.Op and len(peer.operands) == 2:
        one = peer.operands[0 if peer.kind == "Sub" else 1]
        return peer.kind in ("Sub", "BitXor") and one == f.Const("1")
    return type(peer) is f.Const


def _only(trace: Trace) -> Event | None:
    """The transfer that is all that an arm does, but for leaving the function."""
    first, *rest = trace or (None,)
    if any(type(term) is not Exit or term.kind != "return" for term in rest):
        return None
    return first if type(first) is Event and is_transfer(first) else None


def peer_of(call: f.Call | None) -> f.Expr | None:
    if call is None or last_name(call.func) not in _PEERS:
        return None
    name = _PEERS[last_name(call.func)]
    for keyword, value in call.keywords:
        if keyword in (name, f"group_{name}"):
            return value
    return call.args[1] if len(call.args) > 1 and not any(type(a) is f.Starred for a in call.args) else None


def resolved(expr: f.Expr, body: f.Body, siblings: f.Body, steps: int = 3) -> f.Expr:
    """The place in the ring that an expression tells: what a name or an attribute holds, if it is assigned once; of a
    rank in the job, the place in the group that it is looked up by.

    At most `steps` names are followed.
    """
    if type(expr) in (f.Name, f.Attr) and steps:
        found = held(body, expr)
        if not found and type(expr) is f.Attr:
            found = held(siblings, expr)
        if len(found) == 1 and type(found[0]) is not type(expr):
            return resolved(found[0], body, siblings, steps - 1)
    if type(expr) is f.Call and last_name(expr.func) == "get_global_rank" and len(expr.args) > 1:
        return resolved(expr.args[1], body, siblings, steps)
    if type(expr) is f.Subscript:
        return expr.index
    return expr


def held(body: f.Body, place: f.Expr) -> list[f.Expr]:
    """What a name or an attribute is assigned once, or whatever the tests; nothing of another expression."""
    if type(place) not in (f.Name, f.Attr):
        return []
    known = list(assignments(body, place_name(place)))
    return [value for value, tests in known if not tests or len(known) == 1]


def finding(
    message: str,
    divergence: Divergence,
    events: tuple[Event, ...],
    middle: tuple[Step, ...],
    function: str,
    confidence: Confidence,
) -> Finding:
    first = events[0]
    steps = [Step("event", e.path, e.pos[0], e.pos[1], e.note) for e in events]
    return Finding(
        code="FER303",
        name=NAMES["FER303"],
        severity="error",
        confidence=confidence,
        message=message,
        path=first.path,
        span=span(first.pos),
        axes=tuple(sorted(divergence.axes)),
        kind="rank",
        function=function,
        witness=(*divergence.why, *middle, *steps),
        events=tuple(EventSite(e.op, e.path, e.pos[0], e.pos[1]) for e in events),
    )
