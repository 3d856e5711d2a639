"""FER303: rings that cannot turn, and partners that cannot swap.

Forms that are wrong whatever the rest of the program does: every rank sends to the neighbour that it receives from;
every rank blocks in the same direction first. NCCL does so in `isend` as well: it connects two ranks in the first send
of the one and the first receive of the other, unless both are one batch, and needs the receive for what is larger than
its buffers (https://github.com/NVIDIA/nccl/issues/479; docs/harness.md has what was measured).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ferrule_lint.checks.p2p import finding, held, is_transfer, peer_of, resolved
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.findings import Confidence, Finding
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import last_name, render, shown
from ferrule_lint.semantics.domain.trace import Attempt, Choice, Event, Loop, Trace, every_event, has_exit
from ferrule_lint.semantics.project.entities import ModuleInfo

_RING = Divergence(WORLD, "rank", (), Confidence.MEDIUM)
#: calls that are told which backend the ranks use
_STARTS = ("init_process_group", "new_group")
#: backends whose `isend` waits for nobody
_ASYNCHRONOUS = frozenset({"gloo", "mpi"})
#: a context manager that makes one batch of the calls in it
_BATCH = "_coalescing_manager"


class Transfer(NamedTuple):
    """A `send` or `recv`, and the expression of its peer with names of this function replaced by what they hold."""

    event: Event
    name: str
    peer: f.Expr
    #: whether the peer is the neighbour in a ring, `(rank + 1) % size`
    around: bool


def check(
    root: Trace, function: str, body: f.Body, siblings: Callable[[], f.Body], asynchronous: Callable[[], bool]
) -> Iterator[Finding]:
    """`siblings` gives the statements of all methods of the function's class, which say what its attributes hold.

    `asynchronous` tells whether the ranks are known to use a backend whose `isend` waits for nobody.
    """
    if sum(map(is_transfer, every_event(root))) < 2:
        return
    calls = {call.pos: call for call in nodes(body, f.Call)}
    in_batch = any(last_name(call.func) == _BATCH for call in calls.values())
    for stretch in _stretches(root):
        if sum(map(is_transfer, stretch)) > 1:
            transfers = _transfers(stretch, body, calls, siblings())
            yield from _in_a_row(transfers, function, lambda: in_batch or asynchronous())


def waits_for_nobody(module: ModuleInfo) -> bool:
    """Whether the file starts process groups, and all of them are written out to be of such a backend."""
    said = {_says(call) for name in _STARTS for _, call in module.calls_named(name)} - {""}
    return bool(said) and said <= _ASYNCHRONOUS


def _says(call: f.Call) -> str:
    """The backend that a call names; empty if it names none."""
    given = [value for keyword, value in call.keywords if keyword == "backend"]
    if last_name(call.func) == "init_process_group":
        given += call.args[:1]
    texts = [value.text.strip("\"'") if type(value) is f.Const else "?" for value in given]
    return texts[0] if texts else ""


def _stretches(trace: Trace) -> Iterator[list[Event]]:
    """The events that every rank comes by, in order: of a block, and of each loop and test within that all ranks take
    alike. Below one that part of the ranks leaves, nobody knows who comes by."""
    own: list[Event] = []
    for term in trace:
        if type(term) is Event:
            own.append(term)
        elif type(term) is Attempt:
            first, *others = _stretches(term.body)
            own += first
            yield from others
        elif type(term) is Loop:
            if term.trip is None:
                yield from _stretches(term.body)
        elif type(term) is Choice:
            if has_exit((term,)) and any(map(is_transfer, every_event((term,)))):
                break
            # a test of the rank's parity, where nothing says so, has transfers in both arms
            if divergence_of(term.formula) is None and not any(map(is_transfer, every_event(term.orelse))):
                yield from _stretches(term.body)
    yield own


def _transfers(stretch: list[Event], body: f.Body, calls: dict[f.Pos, f.Call], siblings: f.Body) -> list[Transfer]:
    found = []
    for event in stretch:
        call = calls.get(event.pos)
        peer = peer_of(call)
        if is_transfer(event) and call is not None and peer is not None:
            place = resolved(peer, body, siblings)
            found.append(Transfer(event, last_name(call.func), place, _around(place, body)))
    return found


def _in_a_row(transfers: list[Transfer], function: str, asynchronous: Callable[[], bool]) -> Iterator[Finding]:
    for first, second in itertools.pairwise(transfers):
        if first.event.p2p == second.event.p2p or first.event.axes != second.event.axes:
            continue
        same = render(first.peer) == render(second.peer)
        in_ring = first.around and second.around
        if in_ring and same:
            message = (
                f"every rank sends to `{shown(first.peer)}` and receives from the same neighbour,"
                " which sends to another one"
            )
            yield finding(message, _RING, (second.event, first.event), (), function, Confidence.MEDIUM)
            continue
        if not in_ring and not (same and _is_partner(first.peer)):
            continue
        who = "every rank of the ring is" if in_ring else "both partners are"
        if first.name in ("send", "recv"):
            message = f"{who} in a blocking `{first.name}` at once, and none in its counterpart"
        elif not asynchronous():
            message = (
                f"{who} in `{first.name}` at once: unless it is one batch with its counterpart, NCCL waits in it for"
                " the other rank's"
            )
        else:
            continue
        yield finding(message, _RING, (first.event, second.event), (), function, Confidence.MEDIUM)


def _around(expr: f.Expr, body: f.Body) -> bool:
    """`(rank + 1) % size`, whatever the rank is called where it is held."""
    if type(expr) is not f.Op or expr.kind != "Mod":
        return False
    inner = expr.operands[0]
    if type(inner) is not f.Op or inner.kind not in ("Add", "Sub"):
        return False
    return _of_rank(inner) or any(_of_rank(value) for one in inner.operands for value in held(body, one))


def _of_rank(expr: f.Expr) -> bool:
    return "rank" in render(expr).lower()


def _is_partner(expr: f.Expr) -> bool:
    """`rank ^ 1` or `1 - rank`: of two ranks each is the other's."""
    if type(expr) is not f.Op or len(expr.operands) != 2 or "rank" not in render(expr).lower():
        return False
    return expr.kind == "BitXor" or (expr.kind == "Sub" and expr.operands[0] == f.Const("1"))
