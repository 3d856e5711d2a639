"""FER303: a function whose transfers do not pair up, whatever the number of ranks.

Small worlds are played through, one rank after the other: what goes wrong in an exchange between neighbours, halves or
with a root goes wrong with a handful of ranks (the small-scope hypothesis of D. Jackson's *Software Abstractions*).
Reported is what goes wrong in each of them; that a function is meant for two ranks, or for an even number of them, is
what its callers see to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ferrule_lint.checks.build import span
from ferrule_lint.checks.for_some import is_for_some
from ferrule_lint.checks.p2p import finding, written
from ferrule_lint.checks.worlds import meeting
from ferrule_lint.checks.worlds.meeting import Stuck
from ferrule_lint.checks.worlds.player import play
from ferrule_lint.checks.worlds.scopes import scope_of
from ferrule_lint.checks.worlds.steps import Left, Player, Scope, TooLong, Transfer, Unclear
from ferrule_lint.checks.worlds.steps import Step as Done
from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence, Finding, Step
from ferrule_lint.semantics.data.layout import Layout, numbers_conflict, types_conflict
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import Formula, atoms
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import shown
from ferrule_lint.semantics.domain.trace import Choice, Event, Trace, choices_and_loops, every_event
from ferrule_lint.semantics.walk.frame import Frame

#: numbers of ranks: two, odd and even ones, a power of two, and one that is none
WORLDS = (2, 3, 4, 5, 6, 8)
_NOBODY = -1
_RANKS = Divergence(WORLD, "rank", (), Confidence.MEDIUM)


class _Played(NamedTuple):
    """What comes of worlds of some sizes."""

    stuck: dict[int, Stuck]
    fine: list[int]
    asked_size: bool
    #: the test of its own data by which one rank has left the others
    test: str = ""
    #: a transfer whose ends are of different types or sizes, and what they disagree about
    apart: tuple[Transfer, Transfer, str] | None = None


def check(frame: Frame, root: Trace, function: str, body: f.Body) -> Iterator[Finding]:
    events = {(e.path, e.pos): e for e in every_event(root) if e.p2p}
    kinds = {e.p2p for e in events.values()}
    if not {"send", "recv"} <= kinds and "both" not in kinds:
        return
    local = _local(root, frame.for_batches)
    try:
        played = _play(body, scope_of(frame, local), frame.layouts)
    except TooLong:
        frame.analysis.count("transfers of a function")
        return
    if played is None or (found := _told(played)) is None or is_for_some(frame):
        return
    divergence = _RANKS if not played.test else local[played.test]
    yield _finding(found, divergence, events, function, frame.module.path)


def _local(root: Trace, for_batches: Sequence[Formula]) -> dict[str, Divergence]:
    """The tests of a rank's own data in a function, as they are written."""
    asked = [choice.formula for choice in choices_and_loops(root) if type(choice) is Choice]
    return {
        written(atom): atom.divergence
        for formula in (*asked, *for_batches)
        for atom in atoms(formula)
        if atom.divergence is not None and atom.divergence.kind == "data" and not atom.divergence.assumed
    }


# ---------------------------------------------------------------------- worlds
def _play(body: f.Body, scope: Scope, layouts: Mapping[f.Pos, Layout]) -> _Played | None:
    """None: it cannot be told who sends what, or who comes here. Raises `TooLong`."""
    try:
        worlds = _Worlds(body, scope, layouts)
        alike = worlds.play(partial(_of_one, _NOBODY, False))
        if worlds.test:
            other = worlds.play(partial(_of_one, _NOBODY, True))
            if not alike.stuck or not other.stuck:
                alike = _as_different(worlds, alike, other)
    except TooLong:
        raise
    except Unclear:
        return None
    # whoever comes here, two that wait for each other wait for ever
    for_all = worlds.told_apart or all(one.why in ("each other", "circle") for one in alike.stuck.values())
    return alike if for_all and len(worlds.kinds) > 1 else None


def _as_different(worlds: _Worlds, *alike: _Played) -> _Played:
    """What comes of it where ranks have other data; of what is in order as long as all have the same, or none."""
    ways = [one for one in alike if one.stuck]
    if not ways:
        ways = [worlds.play(partial(_of_one, one, outcome)) for one in (0, 1) for outcome in (True, False)]
    return max(ways, key=lambda way: len(way.stuck))._replace(test=worlds.test)


def _of_one(one: int, outcome: bool, rank: int) -> bool:
    """A test that has an outcome on one rank alone."""
    return (rank == one) is outcome


class _Worlds:
    """Worlds of some sizes, in which the same function is played."""

    def __init__(self, body: f.Body, scope: Scope, layouts: Mapping[f.Pos, Layout]) -> None:
        self.body = body
        self.scope = scope
        self.layouts = layouts
        self.kinds: set[str] = set()
        self.told_apart = False
        #: the first test of the ranks' own data
        self.test = ""

    def play(self, outcome: Callable[[int], bool]) -> _Played:
        """`outcome`: of the tests of its own data, for each rank. Raises `Unclear`."""
        stuck: dict[int, Stuck] = {}
        fine: list[int] = []
        asked = False
        apart = None
        for size in WORLDS:
            players = [Player(rank, size, outcome(rank)) for rank in range(size)]
            lines = _lines(players, self.body, self.scope)
            if lines is None:
                continue
            self.kinds |= {step.kind for line in lines for step in line if type(step) is Transfer}
            self.test = self.test or next((player.test for player in players if player.test), "")
            self.told_apart |= _are_told_apart(lines)
            asked |= any(player.asked_size for player in players)
            found, met = meeting.play(lines)
            if found is not None:
                stuck[size] = found
                continue
            fine.append(size)
            words = ((pair, _disagree(*pair, self.layouts)) for pair in met)
            apart = apart or next(((*pair, what) for pair, what in words if what), None)
        return _Played(stuck, fine, asked, "", apart)


def _lines(players: list[Player], body: f.Body, scope: Scope) -> list[list[Done]] | None:
    """What each rank of a world does; None: the program refuses a world of this size."""
    try:
        lines = [play(player, body, scope) for player in players]
    except Left:
        return None
    groups = {group for player in players for group in player.groups}
    if len(groups) != 1 or len({tuple(player.loops) for player in players}) > 1:
        raise Unclear
    return lines


def _are_told_apart(lines: list[list[Done]]) -> bool:
    """Whether the ranks do not all do the same: then the function is for all of them. One that does the same on each
    rank may be called by some (`recv(rank - 1); send(rank + 1)` on the stages between)."""
    return len({tuple(step.name if type(step) is Transfer else "" for step in line) for line in lines}) > 1


def _disagree(sent: Transfer, received: Transfer, layouts: Mapping[f.Pos, Layout]) -> str:
    """What the two ends of a transfer disagree about."""
    if sent.of_objects is not received.of_objects:
        return "objects against a tensor" if sent.of_objects else "a tensor against objects"
    one, other = layouts.get(sent.pos), layouts.get(received.pos)
    if one is None or other is None:
        return ""
    return types_conflict(one, other) or numbers_conflict(one, other)


# ---------------------------------------------------------------------- what is told
def _told(played: _Played) -> tuple[int, Stuck] | None:
    """The world to tell of, and what happens there."""
    if played.stuck and not played.fine:
        size = min((n for n in played.stuck if n > 2), default=min(played.stuck))
        return size, played.stuck[size]
    if played.fine == [2] and played.asked_size and 3 in played.stuck:
        return 3, played.stuck[3]
    if played.apart is not None and not played.stuck:
        sent, received, words = played.apart
        return 0, Stuck(received.peer, sent, words, ((sent.peer, received),))
    return None


def _finding(
    found: tuple[int, Stuck],
    divergence: Divergence,
    events: Mapping[tuple[str, f.Pos], Event],
    function: str,
    path: str,
) -> Finding:
    """Where the function itself begins the transfer, or calls what does."""
    size, stuck = found
    ends = [stuck.transfer, *(transfer for _, transfer in stuck.others)]
    known = [events.get((end.path, end.pos)) or _event(end) for end in ends]
    confidence = min(Confidence.MEDIUM, divergence.confidence)
    call = stuck.transfer.through
    through = () if call is None else (Step("call", path, call.pos[0], call.pos[1], f"calls `{shown(call.func)}`"),)
    told = finding(_message(size, stuck), divergence, tuple(known), through, function, confidence)
    return told if call is None else replace(told, path=path, span=span(call.pos))


def _event(end: Transfer) -> Event:
    """The event of a `P2POp`, which its batch begins."""
    note = f"`{end.name}` of a batch"
    return Event(end.kind, WORLD, "", end.path, end.pos, Confidence.MEDIUM, False, note, end.kind)


def _message(size: int, stuck: Stuck) -> str:
    step, rank = stuck.transfer, stuck.rank
    does = f"sends to rank {step.peer}" if step.kind == "send" else f"receives from rank {step.peer}"
    if not size:
        return f"rank {rank} {does} what has another size or type there: {stuck.why}"
    among = f"with {size} ranks, rank {rank} {does}"
    if stuck.why == "nobody":
        return f"{among}, which does not exist"
    if stuck.why == "itself":
        return f"{among}, itself, and waits for ever"
    if stuck.why == "tags":
        return f"{among} under another tag than the other end has"
    if stuck.why == "each other":
        return f"{among}, which waits in `{stuck.others[0][1].name}` for rank {rank} at the same time"
    if stuck.why == "circle":
        return f"{among}, and so on in a circle: each rank waits for the next"
    other = "does not receive it" if step.kind == "send" else "sends nothing to it"
    last = "".join(f": its last transfer is `{end.name}` with rank {end.peer}" for _, end in stuck.others)
    return f"{among}, which {other}{last}"
