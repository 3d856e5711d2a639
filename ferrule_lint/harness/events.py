"""What one rank does that other ranks have to match: plain values, and their form on the wire.

An event is one operation of `c10d`, or one of two calls that are collectives without being operations: the creation
of a group, and `init_process_group`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple


class Spec(NamedTuple):
    """A tensor as another rank sees it: dtype without `torch.`, shape."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def numel(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


class Site(NamedTuple):
    """A place in a source file; lines from 1."""

    path: str
    line: int
    function: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Event:
    """One operation issued by one rank. Ranks are global ranks throughout."""

    rank: int
    #: counts the events of this rank from 0, over all threads and groups
    index: int
    #: "collective", "group" (creation of one), "send" or "recv"
    kind: str
    #: in the words of torch.distributed: all_reduce, all_gather_into_tensor, ...
    op: str
    group: str
    members: tuple[int, ...]
    #: counts the collectives of this rank on this group from 0; -1 for point-to-point operations
    seq: int
    #: the tensors whose sizes the members have to agree on
    tensors: tuple[Spec, ...] = ()
    #: what a list all-gather makes room for, by position in the group
    room: tuple[Spec, ...] = ()
    reduce_op: str = ""
    #: source or destination of a rooted collective, peer of a point-to-point operation; -1 any or none
    root: int = -1
    tag: int = 0
    #: element counts sent to and expected from each member (all_to_all)
    sends: tuple[int, ...] = ()
    receives: tuple[int, ...] = ()
    #: what is asked for where the operation makes a group, or starts the default one
    request: str = ""
    #: the caller goes on without waiting
    is_async: bool = False
    #: sent or received on a communicator of two ranks, as NCCL does outside a batch
    pair: bool = False
    #: NCCL connects the ranks in it, so that it waits for them: the first collective of a group, the first send to a
    #: rank outside a batch, and its receive
    connects: bool = False
    #: what the user's code called: "all_gather_object", "backward", "forward", "clip_grad_norm_", ...
    api: str = ""
    #: the name of the sharded module that issued it, where FSDP2 tells
    module: str = ""
    #: user frames, innermost first
    stack: tuple[Site, ...] = ()
    #: the number of the issuing thread
    thread: int = 0
    #: no other Python thread of the rank could issue anything
    alone: bool = True

    @property
    def site(self) -> Site | None:
        return self.stack[0] if self.stack else None

    @property
    def is_p2p(self) -> bool:
        return self.kind in ("send", "recv")

    def __str__(self) -> str:
        words = [self.op]
        if self.tensors:
            extra = f"+{len(self.tensors) - 1}" if len(self.tensors) > 1 else ""
            words.append(f"{self.tensors[0]}{extra}")
        if self.reduce_op:
            words.append(self.reduce_op)
        if self.is_p2p:
            other = "any rank" if self.root < 0 else f"rank {self.root}"
            words.append(f"{'to' if self.kind == 'send' else 'from'} {other}")
            if self.tag:
                words.append(f"tag={self.tag}")
        elif self.root >= 0:
            words.append(f"root={self.root}")
        if self.sends or self.receives:
            words.append(f"sends {_counts(self.sends)} receives {_counts(self.receives)}")
        if self.request:
            words.append(self.request)
        return " ".join(words)


def _counts(numbers: tuple[int, ...]) -> str:
    shown = ",".join(map(str, numbers[:8]))
    return f"[{shown}{',...' if len(numbers) > 8 else ''}]"


_FIELDS = tuple(field.name for field in fields(Event))


def to_wire(event: Event) -> list[Any]:
    """The fields in order: what JSON takes."""
    return [getattr(event, name) for name in _FIELDS]


def from_wire(values: list[Any]) -> Event:
    """The event that `to_wire` has written; ValueError or TypeError if it is not one."""
    given = dict(zip(_FIELDS, values, strict=True))
    for name in ("members", "sends", "receives"):
        given[name] = tuple(given[name])
    for name in ("tensors", "room"):
        given[name] = tuple(Spec(dtype, tuple(shape)) for dtype, shape in given[name])
    given["stack"] = tuple(Site(*one) for one in given["stack"])
    return Event(**given)


def as_dict(event: Event) -> dict[str, Any]:
    """For JSON reports: only what is there."""
    values = {name: getattr(event, name) for name in _FIELDS if name not in ("thread", "alone")}
    values["tensors"] = [{"dtype": one.dtype, "shape": list(one.shape)} for one in event.tensors]
    values["room"] = [{"dtype": one.dtype, "shape": list(one.shape)} for one in event.room]
    values["stack"] = [one._asdict() for one in event.stack]
    values["async"] = values.pop("is_async")
    return {name: value for name, value in values.items() if value not in ((), [], "")}
