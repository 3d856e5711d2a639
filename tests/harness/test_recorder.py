"""Everything that is issued is recorded, with all that other ranks have to match, whoever issued it."""

from __future__ import annotations

import _thread
import functools
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

import torch.distributed as dist  # noqa: E402
import torch.distributed._functional_collectives as funcol  # noqa: E402
from programs.models import sharded  # noqa: E402
from programs.names import Replicate, Shard, distribute_tensor, init_device_mesh  # noqa: E402
from programs.table import FSDP2  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.fsdp import FullyShardedDataParallel  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from ferrule_lint.harness import run  # noqa: E402
from ferrule_lint.harness.events import Event, Spec  # noqa: E402
from ferrule_lint.harness.rank import groups, sites  # noqa: E402
from ferrule_lint.harness.rank.dispatcher import version  # noqa: E402


def events_of(body: Any, rank: int = 0, backend: str = "auto") -> list[Event]:
    """What `rank` has issued besides the start of the default group."""
    result = run(body, timeout=60, backend=backend)
    assert result.ok, result.report() + "".join(result.outputs.values())
    return list(result.events[rank][1:])


def explicit() -> None:
    x = torch.ones(4)
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    dist.all_reduce(x, async_op=True).wait()
    dist.broadcast(x.double(), 1)
    dist.reduce(x, 1, op=dist.ReduceOp.PRODUCT)
    dist.all_gather([torch.empty(4), torch.empty(4)], x)
    dist.all_gather_into_tensor(torch.empty(8), x)
    dist.reduce_scatter_tensor(torch.empty(2), x)
    first = dist.get_rank() == 0
    dist.gather(x, [torch.empty(4), torch.empty(4)] if first else None, dst=0)
    dist.scatter(torch.empty(2), [torch.ones(2), torch.ones(2)] if first else None, src=0)
    sends, receives = ([1, 3], [1, 2]) if first else ([2, 2], [3, 2])
    dist.all_to_all_single(torch.empty(sum(receives)), x, receives, sends)
    dist.barrier()
    dist.monitored_barrier()


def from_a_thread_without_frames() -> None:
    """As autograd's threads on a GPU: below the operation there is no frame of Python's."""
    x = torch.ones(4)
    call = functools.partial(dist.group.WORLD.allreduce, [x])
    _thread.start_new_thread(call, ())
    while x[0] != 2:  # the site
        time.sleep(0.01)


def test_thread_without_frames_is_told_of_where_the_main_thread_is() -> None:
    (event,) = events_of(from_a_thread_without_frames)
    assert event.op == "all_reduce"
    assert event.site is not None and event.site.function == "from_a_thread_without_frames"


def on_a_group_of_its_own() -> None:
    """As libraries make them that leave torch.distributed's own registry alone."""
    rank = dist.get_rank()
    store = dist.PrefixStore("own", dist.distributed_c10d._get_default_store())
    group = dist.ProcessGroup(store, rank, 2)
    backend = dist.ProcessGroupGloo(store, rank, 2)
    group._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, backend)
    group._set_group_name("own")
    group.allreduce([torch.ones(2)]).wait()


@pytest.mark.skipif(version() < (2, 6), reason="groups are made otherwise")
def test_group_that_is_not_registered() -> None:
    (event,) = events_of(on_a_group_of_its_own, backend="gloo")
    assert (event.op, event.group, event.members) == ("all_reduce", "own", (0, 1))


def asking_for_nccl() -> None:
    x = torch.ones(4)
    dist.all_reduce(x, group=dist.new_group([0, 1], backend="nccl"))
    dist.all_reduce(x, group=dist.new_group(backend="cpu:gloo,cuda:nccl"))


@pytest.mark.skipif(dist.is_nccl_available(), reason="NCCL is there")
def test_group_that_asks_for_nccl_gets_gloo() -> None:
    assert [event.op for event in events_of(asking_for_nccl)] == ["new_group", "all_reduce"] * 2


def test_explicit_collectives() -> None:
    found = events_of(explicit, backend="gloo")
    assert [str(event) for event in found] == [
        "all_reduce float32[4] MAX",
        "all_reduce float32[4] SUM",
        "broadcast float64[4] root=1",
        "reduce float32[4] PRODUCT root=1",
        "all_gather float32[4]",
        "all_gather_into_tensor float32[4]",
        "reduce_scatter_tensor float32[4] SUM",
        "gather float32[4] root=0",
        "scatter float32[2] root=0",
        "all_to_all_single float32[4] sends [1,3] receives [1,2]",
        "barrier",
        # what it does below is announced too
        *[str(event) for event in found[11:]],
    ]
    assert found[-1].op == "monitored_barrier"
    assert [event.seq for event in found[:11]] == list(range(11))
    assert {event.members for event in found} == {(0, 1)}
    assert [event.is_async for event in found[:3]] == [False, True, False]
    assert found[4].room == (Spec("float32", (4,)),) * 2
    lines = Path(__file__).read_text("utf-8").splitlines()
    assert all(event.site is not None and event.site.function == "explicit" for event in found)
    assert "dist.reduce(x, 1" in lines[found[3].site.line - 1]  # type: ignore[union-attr]


def point_to_point() -> None:
    peer = 1 - dist.get_rank()
    if dist.get_rank() == 0:
        dist.send(torch.ones(3), 1, tag=7)
    else:
        dist.recv(torch.ones(3), 0, tag=7)
    batch = [dist.P2POp(dist.isend, torch.ones(2), peer), dist.P2POp(dist.irecv, torch.ones(2), peer)]
    for work in dist.batch_isend_irecv(batch):
        work.wait()


def test_point_to_point_and_batches() -> None:
    for rank, first in enumerate(("send float32[3] to rank 1 tag=7", "recv float32[3] from rank 0 tag=7")):
        found = events_of(point_to_point, rank)
        other = 1 - rank
        assert [str(event) for event in found] == [
            first,
            f"send float32[2] to rank {other}",
            f"recv float32[2] from rank {other}",
        ]
        assert [event.is_async for event in found] == [False, True, True]


def objects_and_groups() -> None:
    gathered: list[Any] = [None, None]
    dist.all_gather_object(gathered, "x" * dist.get_rank())
    dist.broadcast_object_list(gathered, src=1)
    init_device_mesh("cpu", (2,), mesh_dim_names=("dp",))
    dist.new_group([0, 1])


def test_objects_groups_and_meshes_are_named_as_called() -> None:
    found = events_of(objects_and_groups)
    assert {event.api for event in found if event.kind == "collective" and event.site is not None} >= {
        "all_gather_object",
        "broadcast_object_list",
    }
    # before 2.5 a mesh over all ranks makes no group of its own
    assert [event.request for event in found if event.kind == "group"][-1:] == ["ranks=[0, 1]"]


def test_a_split_is_announced_before_it_is_done() -> None:
    """gloo cannot split groups: the patch alone."""
    seen: list[Any] = []

    class Recorder:
        def group_of(self, group: Any) -> tuple[str, tuple[int, ...]]:
            return str(group), (0, 1, 2, 3)

        def announce(self, kind: str, name: str, members: tuple[int, ...], request: str, frame: Any) -> None:
            seen.append((kind, name, members, request, frame.f_code.co_name))

    split = groups._split_group(Recorder())(lambda *arguments, **named: seen.append("done"))  # type: ignore[arg-type]
    split("parent", [[0, 1], [2, 3]])
    announced = ("split_group", "parent", (0, 1, 2, 3), "split_ranks=[[0, 1], [2, 3]]")
    assert seen == [(*announced, "test_a_split_is_announced_before_it_is_done"), "done"]


def hidden() -> None:
    funcol.all_reduce(torch.ones(2), "sum", dist.group.WORLD).sum().item()
    mesh = init_device_mesh("cpu", (2,))
    distribute_tensor(torch.ones(4), mesh, [Shard(0)]).redistribute(placements=[Replicate()]).to_local()
    replicated = DistributedDataParallel(nn.Linear(3, 3))
    replicated(torch.ones(1, 3)).sum().backward()
    model = FullyShardedDataParallel(nn.Linear(8, 8), device_id=torch.device("cpu"))
    model(torch.ones(2, 8)).sum().backward()


def test_what_torch_issues_itself() -> None:
    found = events_of(hidden)
    lines = Path(__file__).read_text("utf-8").splitlines()

    def at(text: str) -> list[str]:
        return [str(one) for one in found if one.site is not None and text in lines[one.site.line - 1]]

    assert at("funcol.all_reduce") == ["all_reduce float32[2] SUM"]
    assert any(words.startswith("all_gather_into_tensor") for words in at(".redistribute("))
    # DDP's reducer: two parameters in one bucket
    assert any(words.startswith("all_reduce float32[12]") for words in at("replicated(torch.ones"))
    fsdp1 = [words.split()[0] for words in at("model(torch.ones(2, 8))")]
    # which of the two, depends on the backend
    assert fsdp1[0] in ("all_gather", "all_gather_into_tensor") and "reduce_scatter_tensor" in fsdp1


def train_sharded() -> None:
    model = sharded()
    model(torch.ones(2, 8)).sum().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor()  # type: ignore[attr-defined]


@pytest.mark.skipif(version() < FSDP2, reason="FSDP2 runs on the CPU since torch 2.7")
def test_fsdp2_tells_the_module_forward_and_backward() -> None:
    found = events_of(train_sharded)
    gathered = [(event.api, event.module) for event in found if event.op == "all_gather_into_tensor"]
    assert ("forward", "0") in gathered and ("forward", "1") in gathered
    reduced = [event.module for event in found if event.op == "reduce_scatter_tensor"]
    assert set(reduced) >= {"0", "1"}
    assert any(event.op == "all_reduce" for event in found), "the norm"


def from_threads() -> None:
    group = dist.new_group([0, 1])
    thread = threading.Thread(target=dist.all_reduce, args=(torch.ones(1),), kwargs={"group": group})
    thread.start()
    thread.join()
    dist.barrier()


def test_threads_without_a_frame_of_the_users_have_the_main_threads_place() -> None:
    found = events_of(from_threads)
    (reduction,) = (event for event in found if event.op == "all_reduce")
    assert reduction.thread != found[-1].thread
    lines = Path(__file__).read_text("utf-8").splitlines()
    assert reduction.site is not None
    assert lines[reduction.site.line - 1].strip() in ("thread.start()", "thread.join()")


def test_the_harness_is_no_place_where_it_is_an_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "_INSTALLED_FOLDERS", (str(Path(sites.__file__).parents[3]) + os.sep,))
    monkeypatch.setattr(sites, "_kinds", {})
    # as where the harness itself starts the default group: no frame of the user's is around it
    monkeypatch.setattr(sites, "_BODY", __file__)
    frame = eval(compile("sys._getframe()", sites.__file__, "eval"))
    assert sites.call_of(frame).stack == ()
