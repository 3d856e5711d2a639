"""Turns operations at the dispatcher, and creations of groups, into events."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from ferrule_lint.harness.events import Event, Spec
from ferrule_lint.harness.rank import dispatcher
from ferrule_lint.harness.rank.client import Line
from ferrule_lint.harness.rank.flow import Flow
from ferrule_lint.harness.rank.sites import Call, call_of
from ferrule_lint.harness.supervisor import holds

#: the group of what concerns all ranks before or besides process groups: `init_process_group`
START_GROUP = "start"


@dataclass(frozen=True, slots=True)
class _Operation:
    """How one `c10d` operation is read: its name for people, and the argument whose sizes have to agree."""

    op: str
    tensors: str = ""
    kind: str = "collective"
    root: str = ""


_OPERATIONS = {
    "allreduce_": _Operation("all_reduce", "tensors"),
    "allreduce_coalesced_": _Operation("all_reduce_coalesced", "tensors"),
    "allgather_": _Operation("all_gather", "input_tensors"),
    "_allgather_base_": _Operation("all_gather_into_tensor", "input_tensor"),
    "allgather_coalesced_": _Operation("all_gather_coalesced", "input_list"),
    "allgather_into_tensor_coalesced_": _Operation("all_gather_into_tensor_coalesced", "inputs"),
    "reduce_scatter_": _Operation("reduce_scatter", "input_tensors"),
    "_reduce_scatter_base_": _Operation("reduce_scatter_tensor", "input_tensor"),
    "reduce_scatter_tensor_coalesced_": _Operation("reduce_scatter_tensor_coalesced", "inputs"),
    "broadcast_": _Operation("broadcast", "tensors", root="root_rank"),
    "reduce_": _Operation("reduce", "tensors", root="root_rank"),
    "gather_": _Operation("gather", "input_tensors", root="root_rank"),
    "scatter_": _Operation("scatter", "output_tensors", root="root_rank"),
    "alltoall_": _Operation("all_to_all"),
    "alltoall_base_": _Operation("all_to_all_single"),
    "barrier": _Operation("barrier"),
    "monitored_barrier_": _Operation("monitored_barrier"),
    "send": _Operation("send", "tensors", "send", "dst"),
    "recv_": _Operation("recv", "tensors", "recv", "src"),
    "recv_any_source_": _Operation("recv", "tensors", "recv"),
}
_ALL_TO_ALL = ("alltoall_", "alltoall_base_")
#: group name, members, "collective", "send" or "recv", and the other rank
_Way = tuple[str, tuple[int, ...], str, int]


class Recorder:
    """One a rank. `install` puts it in place, `remove` takes it away."""

    def __init__(
        self, rank: int, world: int, line: Line, flow: Flow | None = None, *, pairs_connect: bool = False
    ) -> None:
        """`pairs_connect`: on every backend two ranks are taken to be connected as NCCL does it by default."""
        self._rank, self._world, self._line, self._flow = rank, world, line, flow
        self._pairs_connect = pairs_connect
        self._connected: set[_Way] = set()
        self._lock = threading.Lock()
        self._count = 0
        self._sequences: dict[tuple[str, tuple[int, ...]], int] = {}
        self._members: dict[str, tuple[Any, tuple[int, ...]]] = {}
        self._library: Any = None

    def install(self) -> None:
        self._library = dispatcher.install(self._on_operation)

    def remove(self) -> None:
        if self._library is not None:
            dispatcher.remove(self._library)
            self._library = None

    def announce(self, kind_of: str, group: str, members: tuple[int, ...], request: str, frame: Any) -> None:
        """A collective that is no operation: `new_group`, `split_group`, `init_process_group`."""
        call = call_of(frame)
        self._issue(kind="group", op=kind_of, group=group, members=members, call=call, request=request)

    def group_of(self, group: Any) -> tuple[str, tuple[int, ...]]:
        """Name and global ranks of a process group."""
        name = str(group.group_name)
        known = self._members.get(name)
        if known is None or known[0] is not group:
            try:
                members = tuple(dist.get_process_group_ranks(group))
            except (KeyError, ValueError, RuntimeError):
                members = tuple(range(group.size()))
            known = self._members[name] = (group, members)
        return name, known[1]

    def _on_operation(self, name: str, arguments: Mapping[str, Any]) -> Callable[[], None]:
        known = _OPERATIONS.get(name) or _Operation(name.strip("_"))
        process_group = dispatcher.process_group(arguments)
        group, members = self.group_of(process_group)
        kernel = sys._getframe().f_back
        # a thread of autograd's has no frame below the kernel's
        frame = None if kernel is None else kernel.f_back
        call = call_of(frame)
        root = arguments.get(known.root, -1) if known.root else -1
        # a place that the group does not have is torch's to refuse
        peer = members[root] if 0 <= root < len(members) else root
        details: dict[str, Any] = {"tensors": tuple(_specs(arguments.get(known.tensors)))}
        if name in _ALL_TO_ALL:
            details = _all_to_all(name, arguments, len(members))
        elif name == "allgather_":
            details["room"] = tuple(_specs(arguments["output_tensors"]))
        if known.kind == "collective":
            details["is_async"] = dispatcher.is_async(arguments, frame)
            details["connects"] = self._connects(name, (group, members), process_group, arguments)
        else:
            details["is_async"] = not call.blocking
            if peer >= 0:
                details |= self._connection((group, members, known.kind, peer), process_group, arguments, call)
        self._issue(
            kind=known.kind,
            op=known.op,
            group=group,
            members=members,
            call=call,
            reduce_op=dispatcher.reduce_op(arguments, frame),
            root=peer,
            tag=int(arguments.get("tag", 0)),
            **details,
        )
        self._line.inside("collective")
        return self._done

    def _connects(self, name: str, key: tuple[str, tuple[int, ...]], group: Any, arguments: Mapping[str, Any]) -> bool:
        """Is this the group's first collective on NCCL?"""
        way = (*key, "collective", -1)
        first = way not in self._connected
        link = dispatcher.link(arguments, group) if first or name in _ALL_TO_ALL else ""
        if link:
            self._connected.add(way)
        if link == "group" and name in _ALL_TO_ALL:
            # they go over the same connections as sends and receives
            self._connected |= {(*key, kind, rank) for kind in ("send", "recv") for rank in key[1]}
        return bool(link) and first

    def _connection(self, way: _Way, group: Any, arguments: Mapping[str, Any], call: Call) -> dict[str, bool]:
        """How a send or receive reaches the other rank: `Event.pair` and `Event.connects`."""
        link = "pair" if self._pairs_connect else dispatcher.link(arguments, group)
        alone = not call.batched and not dispatcher.in_batch(group)
        connects = bool(link) and alone and way not in self._connected
        if alone or link == "group":
            self._connected.add(way)
        return {"pair": link == "pair" and alone, "connects": connects}

    def _done(self) -> None:
        self._line.inside(None)

    def _issue(self, *, kind: str, group: str, members: tuple[int, ...], call: Call, **details: Any) -> None:
        key = (group, members)
        with self._lock:
            index = self._count
            self._count += 1
            sequence = -1
            if kind in ("collective", "group"):
                sequence = self._sequences.get(key, 0)
                self._sequences[key] = sequence + 1
        event = Event(
            rank=self._rank,
            index=index,
            kind=kind,
            group=group,
            members=members,
            seq=sequence,
            api=call.api,
            module=call.module,
            stack=call.stack,
            thread=threading.get_ident(),
            # the helper thread issues nothing
            alone=threading.active_count() <= 2,
            **details,
        )
        if self._flow is not None:
            self._flow.cut(index)
        self._line.issue(event, holds(event))


def _specs(value: Any) -> Iterator[Spec]:
    """The tensors in nested lists, in order."""
    if isinstance(value, torch.Tensor):
        yield Spec(str(value.dtype)[len("torch.") :], tuple(value.shape))
    elif value is not None:
        for one in value:
            yield from _specs(one)


def _all_to_all(name: str, arguments: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Element counts for each member, whichever way they were given."""
    if name == "alltoall_":
        inputs, outputs = tuple(_specs(arguments["input_tensors"])), tuple(_specs(arguments["output_tensors"]))
        sends, receives = tuple(one.numel for one in inputs), tuple(one.numel for one in outputs)
        return {"tensors": inputs[:1], "sends": sends, "receives": receives}
    given, taken = arguments["input"], arguments["output"]
    return {
        "tensors": tuple(_specs(given)),
        "sends": _counts(given, arguments.get("input_split_sizes"), size),
        "receives": _counts(taken, arguments.get("output_split_sizes"), size),
    }


def _counts(tensor: torch.Tensor, splits: Any, size: int) -> tuple[int, ...]:
    if not splits:
        return (tensor.numel() // size,) * size
    row = 1
    for extent in tensor.shape[1:]:
        row *= extent
    return tuple(rows * row for rows in splits)
