"""Do two ranks' events fit together? Pure comparisons; what has to agree depends on the operation.

Sizes are compared by number of elements and dtype, since that is what travels: `[1]` and `[]` fit.
"""

from __future__ import annotations

from dataclasses import dataclass

from ferrule_lint.harness.events import Event, Spec

#: operations whose sizes are compared pair by pair, by what the one sends and the other expects
_ALL_TO_ALL = ("all_to_all", "all_to_all_single")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """`kind` is one of op, module, root, reduce-op, dtype, shape, splits, request."""

    kind: str
    text: str


def mismatch(one: Event, other: Event) -> Mismatch | None:
    """What keeps two events at the same place of one group's sequence from being the same collective."""
    if one.op != other.op:
        one, other = sorted((one, other), key=lambda event: event.rank)
        return Mismatch("op", f"rank {one.rank} issues {one.op}, rank {other.rank} {other.op}")
    if one.module and other.module and one.module != other.module:
        return _says("module", one, f"for module {one.module!r}", other, f"for {other.module!r}")
    if one.request != other.request:
        return _says("request", one, one.request, other, other.request)
    if one.root != other.root:
        return _says("root", one, f"root {one.root}", other, f"root {other.root}")
    # before torch 2.10 some go unread
    if one.reduce_op and other.reduce_op and one.reduce_op != other.reduce_op:
        return _says("reduce-op", one, one.reduce_op, other, other.reduce_op)
    if one.op in _ALL_TO_ALL:
        return _all_to_all(one, other)
    return _tensors(one, other)


def p2p_mismatch(send: Event, recv: Event) -> Mismatch | None:
    """What keeps a send and the receive that takes it from fitting."""
    for sent, expected in zip(send.tensors, recv.tensors, strict=False):
        if sent.dtype != expected.dtype:
            return _says("dtype", send, f"sends {sent}", recv, f"expects {expected}")
        if sent.numel != expected.numel:
            return _says("shape", send, f"sends {sent}", recv, f"expects {expected}")
    return None


def _tensors(one: Event, other: Event) -> Mismatch | None:
    if len(one.tensors) != len(other.tensors):
        return _says("shape", one, f"{len(one.tensors)} tensors", other, f"{len(other.tensors)} tensors")
    for mine, theirs in zip(one.tensors, other.tensors, strict=True):
        if mine.dtype != theirs.dtype:
            return _says("dtype", one, str(mine), other, str(theirs))
        if mine.numel != theirs.numel and not _room_for_both(one, mine, other, theirs):
            return _says("shape", one, str(mine), other, str(theirs))
    return None


def _room_for_both(one: Event, mine: Spec, other: Event, theirs: Spec) -> bool:
    """A list all-gather of uneven tensors is fine where each has made room for what the other sends.

    NCCL takes such lists. gloo refuses them by itself, on the rank that calls.
    """
    if not one.room or not other.room:
        return False
    here, there = one.members.index(one.rank), one.members.index(other.rank)
    room_here, room_there = one.room[there : there + 1], other.room[here : here + 1]
    return [spec.numel for spec in (*room_here, *room_there)] == [theirs.numel, mine.numel]


def _all_to_all(one: Event, other: Event) -> Mismatch | None:
    if {spec.dtype for spec in one.tensors} != {spec.dtype for spec in other.tensors}:
        return _says("dtype", one, _dtypes(one), other, _dtypes(other))
    here, there = one.members.index(one.rank), one.members.index(other.rank)
    for sender, at, receiver, of in ((one, there, other, here), (other, here, one, there)):
        sent, expected = sender.sends[at], receiver.receives[of]
        if sent != expected:
            wants = f"expects {expected}"
            return _says("splits", sender, f"sends {sent} elements to rank {receiver.rank}", receiver, wants)
    return None


def _dtypes(event: Event) -> str:
    return "/".join(sorted({spec.dtype for spec in event.tensors}))


def _says(kind: str, one: Event, first: str, other: Event, second: str) -> Mismatch:
    if one.rank > other.rank and one.op == other.op:
        one, first, other, second = other, second, one, first
    return Mismatch(kind, f"{one.op}: rank {one.rank} {first}, rank {other.rank} {second}")
