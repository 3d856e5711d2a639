"""Python-level patches: what is a collective without being an operation, and where Python waits.

`new_group`, `split_group` and `init_process_group` have to be called by the same ranks in the same order, but pass the
dispatcher by. They are announced before they do anything, so that a rank that stays away is seen before the rendezvous.
Every module that holds the original function under its name gets the patched one.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from ferrule_lint.harness.rank.client import Line
from ferrule_lint.harness.rank.recorder import START_GROUP, Recorder

#: name of a function of `distributed_c10d` -> the modules that hold it
Holders = dict[str, list[Any]]

_PATCHED = ("_new_group_with_tag", "split_group", "init_process_group")
#: arguments that gloo refuses
_OF_NCCL = ("device_id", "pg_options", "backend_options")


def patch(
    recorder: Recorder,
    line: Line,
    *,
    gloo_only: bool = False,
    own_store: bool = False,
    holders: Holders | None = None,
) -> Callable[[], None]:
    """Put the patches in place; the result takes them away.

    `gloo_only`: who asks for NCCL gets gloo. `own_store`: the rendezvous store is the harness' and outlives the default
    group, so that a second one has to meet under other names.
    """
    known = find_holders(_PATCHED) if holders is None else holders
    makers = {
        "_new_group_with_tag": _new_group(recorder, gloo_only),
        "split_group": _split_group(recorder),
        "init_process_group": _init_process_group(recorder, gloo_only, own_store),
    }
    undo = [replace(name, make, known) for name, make in makers.items() if name in known]
    undo.append(_wait(line))

    def restore() -> None:
        for one in reversed(undo):
            one()

    return restore


def find_holders(names: Iterable[str]) -> Holders:
    """The modules that hold the functions of `distributed_c10d` with these names."""
    originals = {name: getattr(c10d, name) for name in names if hasattr(c10d, name)}
    holders: Holders = {name: [] for name in originals}
    for module in list(sys.modules.values()):
        values = getattr(module, "__dict__", {})
        for name, original in originals.items():
            if values.get(name) is original:
                holders[name].append(module)
    return holders


def replace(name: str, make: Callable[[Any], Any], holders: Holders) -> Callable[[], None]:
    """Replace a function of `distributed_c10d` in every module that holds it; the result undoes it."""
    original = getattr(c10d, name)
    replacement = make(original)
    modules = holders[name]
    for module in modules:
        setattr(module, name, replacement)

    def restore() -> None:
        for module in modules:
            setattr(module, name, original)

    return restore


def _new_group(recorder: Recorder, gloo_only: bool) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def new_group(*arguments: Any, **named: Any) -> Any:
            given = signature.bind(*arguments, **named).arguments
            ranks = given.get("ranks")
            world = tuple(dist.get_process_group_ranks(c10d._get_default_group()))
            wanted = tuple(sorted(ranks)) if ranks is not None else world
            name = str(c10d._get_default_group().group_name)
            # with local synchronisation only the members call, and only they have to agree
            if given.get("use_local_synchronization"):
                if dist.get_rank() in wanted:
                    recorder.announce("new_group", "local new_group", wanted, f"ranks={list(wanted)}", sys._getframe(1))
            else:
                recorder.announce("new_group", name, world, f"ranks={list(wanted)}", sys._getframe(1))
            if gloo_only and "nccl" in str(given.get("backend", "")):
                given["backend"] = "gloo"
                _without_options_of_nccl(given)
            return original(**given)

        return new_group

    return make


def _without_options_of_nccl(given: dict[str, Any]) -> None:
    for options in _OF_NCCL:
        given.pop(options, None)


def _split_group(recorder: Recorder) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        @functools.wraps(original)
        def split_group(parent_pg: Any = None, split_ranks: Any = None, *arguments: Any, **named: Any) -> Any:
            name, members = recorder.group_of(parent_pg or c10d._get_default_group())
            recorder.announce("split_group", name, members, f"split_ranks={split_ranks}", sys._getframe(1))
            return original(parent_pg, split_ranks, *arguments, **named)

        return split_group

    return make


def _init_process_group(recorder: Recorder, gloo_only: bool, own_store: bool) -> Callable[[Any], Any]:
    started = 0

    def make(original: Any) -> Any:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def init_process_group(*arguments: Any, **named: Any) -> Any:
            nonlocal started
            given = signature.bind(*arguments, **named).arguments
            # who names another world than the launcher's has something else in mind
            if given.get("world_size", -1) in (-1, int(os.environ.get("WORLD_SIZE", "-1"))):
                members = tuple(range(int(os.environ["WORLD_SIZE"])))
                recorder.announce("init_process_group", START_GROUP, members, "", sys._getframe(1))
            if gloo_only:
                asked = str(given.get("backend") or "")
                if "nccl" in asked or (not asked and torch.cuda.is_available()):
                    given["backend"] = "gloo"
                _without_options_of_nccl(given)
            if own_store and started and given.get("store") is None and given.get("init_method") in (None, "env://"):
                given.pop("init_method", None)
                given |= _another_start(started)
            started += 1
            return original(**given)

        return init_process_group

    return make


def _another_start(number: int) -> dict[str, Any]:
    """What a default group needs that is started again: in the names of the first, ranks would find its addresses."""
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    return {
        "store": dist.PrefixStore(f"start{number}", store),
        "rank": int(os.environ["RANK"]),
        "world_size": int(os.environ["WORLD_SIZE"]),
    }


def _wait(line: Line) -> Callable[[], None]:
    """`Work.wait` from Python: note that the thread waits for other ranks while it is in there."""
    work = c10d.Work
    original = work.wait

    def wait(self: Any, *arguments: Any, **named: Any) -> Any:
        line.inside("wait")
        try:
            return original(self, *arguments, **named)
        finally:
            line.inside(None)

    work.wait = wait

    def restore() -> None:
        work.wait = original

    return restore
