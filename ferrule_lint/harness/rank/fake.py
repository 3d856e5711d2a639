"""A simulated rank: a process group that does nothing, and results as if all members had put in the same."""

from __future__ import annotations

import functools
import os
import pickle
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from ferrule_lint.harness.events import Event, to_wire
from ferrule_lint.harness.rank.body import describe_ending
from ferrule_lint.harness.rank.flow import Flow
from ferrule_lint.harness.rank.groups import Holders, find_holders, patch, replace
from ferrule_lint.harness.rank.recorder import Recorder

#: elements of a tensor that is handed from the first member to the others; larger ones stay what they are
MOST_ELEMENTS = 4096


class _Log:
    """Sends events on; nobody ever waits."""

    def __init__(self, send: Callable[[Any], None]) -> None:
        self.send = send
        self.last: Event | None = None

    def issue(self, event: Event, held: bool) -> None:
        self.last = event
        self.send({"t": "op", "e": to_wire(event)})

    def inside(self, state: str | None) -> None:
        pass


def run_alone(
    target: Callable[[], Any],
    rank: int,
    world: int,
    values: Mapping[str, Any],
    send: Callable[[Any], None],
    *,
    holders: Holders,
    start_group: bool,
    flow: bool,
    describe: Callable[[BaseException], str] | None = None,
) -> None:
    """Run `target` as this rank, sending events, first members' values, and how it ended."""
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(world),
        LOCAL_WORLD_SIZE=str(world),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT="1",
    )
    torch.set_num_threads(1)
    lines = Flow() if flow else None
    log = _Log(send)
    recorder = _Simulator(rank, world, log, lines, values)
    _fake_start(rank, world, holders)
    recorder.install()
    patch(recorder, log, holders=holders)
    _fake_objects(recorder, values, send, holders)

    def body() -> Any:
        if start_group:
            dist.init_process_group("fake")
        if lines is not None:
            lines.start()
        try:
            return target()
        finally:
            if lines is not None:
                lines.stop()

    ending = describe_ending(body, describe)
    modules = [name for name in sys.modules if name.startswith("torch.")]
    send({"t": "end", **ending, "flow": lines.export() if lines is not None else [], "modules": modules})


#: functions that a simulation replaces
_FAKED = ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list")


def find_faked() -> Holders:
    """Where the functions are that a simulated rank replaces: sought once, for all ranks."""
    return find_holders((*_FAKED, "_new_group_with_tag", "split_group", "init_process_group"))


def _fake_start(rank: int, world: int, holders: Holders) -> None:
    """`init_process_group` starts the fake group, whatever backend the program asks for."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    def make_start(original: Any) -> Any:
        def init_process_group(*arguments: Any, **named: Any) -> Any:
            return original("fake", rank=rank, world_size=world, store=FakeStore())

        return init_process_group

    def make_group(original: Any) -> Any:
        @functools.wraps(original)
        def new_group(*arguments: Any, **named: Any) -> Any:
            # a group of another backend has no store to meet at
            return original(*arguments[:2], **{**named, "backend": "fake"})

        return new_group

    replace("init_process_group", make_start, holders)
    replace("_new_group_with_tag", make_group, holders)


class _Simulator(Recorder):
    """Records, and fills in what the group's first member has put in."""

    def __init__(self, rank: int, world: int, log: _Log, flow: Flow | None, values: Mapping[str, Any]) -> None:
        super().__init__(rank, world, log, flow)
        self._log, self._values = log, values

    def _on_operation(self, name: str, arguments: Mapping[str, Any]) -> Callable[[], None]:
        done = super()._on_operation(name, arguments)
        event = self._log.last
        if event is None or event.is_p2p or event.kind != "collective":
            return done
        recorded = event

        def finish() -> None:
            done()
            with torch.no_grad():
                self._fill(name, arguments, recorded)

        return finish

    def _fill(self, name: str, arguments: Mapping[str, Any], event: Event) -> None:
        from ferrule_lint.harness.simulate import packed_key

        source = _source(name, arguments)
        if source is None or source.numel() > MOST_ELEMENTS or source.is_meta:
            return
        key = packed_key(event.group, event.members, event.seq)
        known = self._values.get(key)
        if known is None:
            late = event.op == "broadcast" and event.root != self._rank
            value = torch.zeros_like(source) if late else source.detach().clone()
            self._log.send({"t": "value", "key": key, "value": b64encode(pickle.dumps(value.cpu())).decode()})
        else:
            value = pickle.loads(b64decode(known))
        for target in _targets(name, arguments):
            if target.numel() and value.numel() and target.numel() % value.numel() == 0:
                flat = value.to(target.dtype).to(target.device).reshape(-1)
                target.copy_(flat.repeat(target.numel() // value.numel()).reshape(target.shape))


def _source(name: str, arguments: Mapping[str, Any]) -> torch.Tensor | None:
    """What this rank puts in, where the result depends on it in a way that is the same for all."""
    key = {
        "allreduce_": "tensors",
        "broadcast_": "tensors",
        "allgather_": "input_tensors",
        "_allgather_base_": "input_tensor",
    }.get(name)
    if key is None:
        return None
    given = arguments[key]
    return given if isinstance(given, torch.Tensor) else given[0]


def _targets(name: str, arguments: Mapping[str, Any]) -> list[torch.Tensor]:
    if name == "allgather_":
        return list(arguments["output_tensors"][0])
    if name == "_allgather_base_":
        return [arguments["output_tensor"]]
    return [arguments["tensors"][0]]


def _fake_objects(recorder: Recorder, values: Mapping[str, Any], send: Callable[[Any], None], holders: Holders) -> None:
    """Object collectives as one event each: their sizes would be read from data that nobody sent."""
    from ferrule_lint.harness.simulate import packed_key

    count: dict[str, int] = {}

    def meet(op: str, group: Any, mine: Any, root: int | None = None) -> Any:
        chosen = group or c10d._get_default_group()
        name, members = recorder.group_of(chosen)
        request = "" if root is None else f"root={root}"
        recorder.announce(op, name, members, request, sys._getframe(2))
        number = count[name] = count.get(name, 0) + 1
        key = "object " + packed_key(name, members, number)
        known = values.get(key)
        if known is not None:
            return pickle.loads(b64decode(known))
        send({"t": "value", "key": key, "value": b64encode(pickle.dumps(mine)).decode()})
        return mine

    def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
        value = meet("all_gather_object", group, obj)
        object_list[:] = [value] * len(object_list)

    def gather_object(
        obj: Any, object_gather_list: list[Any] | None = None, dst: Any = None, group: Any = None, group_dst: Any = None
    ) -> None:
        value = meet("gather_object", group, obj, group_dst if dst is None else dst)
        if object_gather_list is not None:
            object_gather_list[:] = [value] * len(object_gather_list)

    def broadcast_object_list(
        object_list: list[Any], src: Any = None, group: Any = None, device: Any = None, group_src: Any = None
    ) -> None:
        object_list[:] = meet("broadcast_object_list", group, list(object_list), group_src if src is None else src)

    def scatter_object_list(
        scatter_object_output_list: list[Any],
        scatter_object_input_list: list[Any] | None = None,
        src: Any = None,
        group: Any = None,
        group_src: Any = None,
    ) -> None:
        given = meet("scatter_object_list", group, scatter_object_input_list, group_src if src is None else src)
        if given and scatter_object_output_list:
            place = dist.get_rank(group) if group is not None else dist.get_rank()
            scatter_object_output_list[0] = given[place % len(given)]

    faked = (all_gather_object, gather_object, broadcast_object_list, scatter_object_list)
    for name, function in zip(_FAKED, faked, strict=True):
        replace(name, lambda original, function=function: function, holders)  # type: ignore[misc]
