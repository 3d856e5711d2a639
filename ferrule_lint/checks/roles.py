"""FER303: transfers of ranks that a function tells apart by their numbers, and that never come to an end.

Where `if rank == 0: ... elif rank == 1: ...`, or `if rank % 2 == 0: ... else: ...`, says what each rank sends and
receives, one after the other, the ranks can be played through: a `send` and a `recv` wait for their counterparts,
`isend` and `irecv` for nobody. (A rendezvous, as in CSP, and in MPI's standard mode for what no buffer takes.)
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from ferrule_lint.checks.p2p import finding, is_transfer, other_arm, peer_of, resolved, written
from ferrule_lint.checks.places import decision
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.findings import Confidence, Finding
from ferrule_lint.semantics.domain.conditions import Atom, Formula, Negation, divergence_of
from ferrule_lint.semantics.domain.text import last_name, render
from ferrule_lint.semantics.domain.trace import Attempt, CallTerm, Choice, Event, Exit, Loop, Trace, every_event
from ferrule_lint.semantics.sources import first_rank

_NAMED = re.compile(r"^(?P<rank>[\w.()]+) (?P<op>==|!=) (?P<number>[\w.]+)$")
_PARITY = re.compile(r"^(?P<rank>[\w.()]+) % 2( (==|!=) [01])?$")
#: a rank by its number, or by a name
_RANK = re.compile(r"^[\w.]+$")
_EVEN, _ODD = "an even rank", "an odd rank"
_OPPOSITE = {"send": "recv", "recv": "send"}


class Transfer(NamedTuple):
    """One step of a rank: the call, and the rank that it is with."""

    event: Event
    name: str
    peer: str

    @property
    def waits(self) -> bool:
        return self.name in ("send", "recv")


#: what each rank does, one after the other
Roles = dict[str, list[Transfer]]


class _Reader(NamedTuple):
    """What a body says of ranks and of their peers."""

    body: f.Body
    calls: dict[f.Pos, f.Call]
    #: how many transfers the function has
    transfers: int

    def line(self, trace: Trace) -> list[Transfer] | None:
        """The transfers of an arm, one after the other; None where something decides over one of them."""
        found: list[Transfer] = []
        for term in trace:
            if type(term) is Event and is_transfer(term):
                call = self.calls.get(term.pos)
                peer = peer_of(call)
                if call is None or peer is None:
                    return None
                found.append(Transfer(term, last_name(call.func), self.number(peer)))
            elif type(term) is Exit:
                if term.kind != "return":
                    return None
            elif type(term) in (Choice, Loop, Attempt, CallTerm) and any(map(is_transfer, every_event((term,)))):
                return None
        return found

    def number(self, peer: f.Expr) -> str:
        return render(resolved(peer, self.body, ()))

    def roles_of(self, choice: Choice, after: Trace) -> Roles | None:
        """What the ranks do that a test tells apart; those that it does not name are called "". None: cannot be told.

        `after`: what follows in the same block, which is the other arm of one that returns.
        """
        body, orelse = choice.body, other_arm(choice, after)
        text, holds = _test(choice.formula)
        if not holds:
            body, orelse = orelse, body
        test = _NAMED.match(text)
        if test is None:
            return self._of_parity(text, body, orelse)
        if test["op"] == "!=":
            body, orelse = orelse, body
        name = test["number"]
        rank = self.number(f.Name(name, choice.pos)) if name.isidentifier() else name
        own, others = self.line(body), self._others(orelse)
        return None if own is None or others is None or rank in others else {rank: own, **others}

    def _others(self, orelse: Trace) -> Roles | None:
        own = [term for term in orelse if any(map(is_transfer, every_event((term,))))]
        if len(own) == 1 and type(own[0]) is Choice:
            return self.roles_of(own[0], ())
        line = self.line(orelse)
        return None if line is None else {"": line} if line else {}

    def _of_parity(self, text: str, body: Trace, orelse: Trace) -> Roles | None:
        """Even ranks and odd ones: who of each is the neighbour of the other."""
        test = _PARITY.match(text)
        if test is None:
            return None
        if text.endswith(("% 2", "== 1", "!= 0")):
            body, orelse = orelse, body
        even, odd = self.line(body) or [], self.line(orelse) or []
        peers = [{t.peer for t in line} for line in (even, odd)]
        neighbours = [{f"{test['rank']} + 1"}, {f"{test['rank']} - 1"}]
        if peers != neighbours and peers != neighbours[::-1]:
            return None
        return {_EVEN: [t._replace(peer=_ODD) for t in even], _ODD: [t._replace(peer=_EVEN) for t in odd]}


def _test(formula: Formula) -> tuple[str, bool]:
    """A single test as it would be written, and whether it has to hold or not to."""
    holds = True
    while type(formula) is Negation:
        formula, holds = formula.operand, not holds
    key = written(formula) if type(formula) is Atom else ""
    return "rank == 0" if first_rank.is_test(key) else key, holds


def check(root: Trace, function: str, body: f.Body) -> Iterator[Finding]:
    transfers = sum(map(is_transfer, every_event(root)))
    if transfers > 1:
        calls = {call.pos: call for call in nodes(body, f.Call)}
        yield from _in_block(root, function, _Reader(body, calls, transfers))


def _in_block(trace: Trace, function: str, reader: _Reader) -> Iterator[Finding]:
    for i, term in enumerate(trace):
        if type(term) is Attempt or type(term) is Loop:
            yield from _in_block(term.body, function, reader)
        elif type(term) is Choice:
            divergence = divergence_of(term.formula)
            if divergence is None:
                yield from _in_block(term.body, function, reader)
                yield from _in_block(term.orelse, function, reader)
            elif divergence.kind == "rank" and (roles := reader.roles_of(term, trace[i + 1 :])):
                found = _stuck(_closed(roles))
                # what has no counterpart here may have one before or behind it
                if found is not None and (not found[2] or sum(map(len, roles.values())) == reader.transfers):
                    confidence = min(Confidence.MEDIUM, divergence.confidence)
                    yield finding(found[0], divergence, found[1], (decision(term),), function, confidence)


def _closed(roles: Roles) -> Roles:
    """What the ranks do that name each other alone; those that no test names are the ones that the others name."""
    others = roles.pop("", None)
    if others is not None:
        named = {t.peer for line in roles.values() for t in line} - roles.keys()
        roles |= {rank: others for rank in named}
    known = all(t.peer in roles and t.peer != rank for rank, line in roles.items() for t in line)
    known = known and all(rank in (_EVEN, _ODD) or _RANK.match(rank) for rank in roles)
    return roles if known and sum(map(bool, roles.values())) > 1 else {}


def _stuck(roles: Roles) -> tuple[str, tuple[Event, ...], bool] | None:
    """Where the ranks come to no end: what to say, which transfers are meant, and whether one has no counterpart."""
    at = dict.fromkeys(roles, 0)
    begun: dict[tuple[str, str, str], list[Event]] = defaultdict(list)
    while any([_goes_on(rank, roles, at, begun) for rank in roles]):
        pass
    waiting = {rank: line[at[rank]] for rank, line in roles.items() if at[rank] < len(line)}
    for rank, step in waiting.items():
        other = waiting.get(step.peer)
        if other is not None and other.peer == rank:
            each = f"each for the other's `{_OPPOSITE[step.event.p2p]}`"
            message = f"{_named(rank)} waits in `{step.name}` and {_named(step.peer)} in `{other.name}`, {each}"
            return message, (step.event, other.event), False
    alone = [(rank, step.peer, step.event) for rank, step in waiting.items() if step.peer not in waiting]
    alone += [(rank, peer, event) for (rank, peer, _), events in begun.items() for event in events]
    for rank, peer, event in alone:
        what = "sends what" if event.p2p == "send" else "receives from"
        does = (
            f"{_named(peer)} does not receive" if event.p2p == "send" else f"{_named(peer)}, which sends nothing more"
        )
        return f"{_named(rank)} {what} {does}", (event, *(t.event for t in roles[peer][-1:])), True
    if waiting:
        who = ", ".join(f"{_named(rank)} in `{step.name}` for {_named(step.peer)}" for rank, step in waiting.items())
        return f"ranks wait for each other in a circle: {who}", tuple(step.event for step in waiting.values()), False
    return None


def _goes_on(rank: str, roles: Roles, at: dict[str, int], begun: dict[tuple[str, str, str], list[Event]]) -> bool:
    """Whether a rank gets beyond its next step; its partner does with it, where both wait.

    `begun`: the transfers that were begun by who waits for nobody: who, with whom, what.
    """
    if at[rank] == len(roles[rank]):
        return False
    step = roles[rank][at[rank]]
    opposite = _OPPOSITE[step.event.p2p]
    line = roles[step.peer]
    there = line[at[step.peer]] if at[step.peer] < len(line) else None
    if begun[step.peer, rank, opposite]:
        del begun[step.peer, rank, opposite][0]
    elif not step.waits:
        begun[rank, step.peer, step.event.p2p].append(step.event)
    elif there is not None and there.waits and (there.peer, there.event.p2p) == (rank, opposite):
        at[step.peer] += 1
    else:
        return False
    at[rank] += 1
    return True


def _named(rank: str) -> str:
    return rank if rank in (_EVEN, _ODD) else f"rank {rank}" if rank.isdigit() else f"rank `{rank}`"
