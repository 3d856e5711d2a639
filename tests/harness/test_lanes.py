"""The same on every lane: gloo on the CPU always; NCCL on GPUs where there are any, else skipped with the reason.

With one GPU, several ranks share it where NCCL allows that. Nothing here needs more than this command on a GPU machine:
`pytest tests/harness/test_lanes.py -rs`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

import torch.distributed as dist  # noqa: E402
from programs.models import Captioner, mask_line  # noqa: E402
from programs.names import fully_shard  # noqa: E402
from programs.table import FSDP2  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from ferrule_lint.harness import HarnessError, run  # noqa: E402
from ferrule_lint.harness.backend import choose, hardware  # noqa: E402
from ferrule_lint.harness.rank.dispatcher import version  # noqa: E402
from ferrule_lint.harness.result import Result  # noqa: E402


def _reason(ranks: int) -> str:
    """Why NCCL cannot be used for this many ranks here; empty if it can."""
    try:
        choose("nccl", ranks, hardware())
    except HarnessError as error:
        return str(error)
    return ""


def lanes(ranks: int) -> pytest.MarkDecorator:
    reason = _reason(ranks)
    nccl = pytest.param("nccl", marks=pytest.mark.skipif(bool(reason), reason=f"{ranks} ranks: {reason}"))
    return pytest.mark.parametrize("lane", ["gloo", nccl])


def on_lane(body: Any, lane: str, ranks: int, **options: Any) -> Result:
    result = run(body, ranks=ranks, backend=lane, timeout=120, **options)
    assert result.backend == lane
    return result


def here() -> torch.device:
    """The device of this rank's backend."""
    return torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")


def where_am_i() -> tuple[float, int, int]:
    x = torch.ones(4, device=here())
    dist.all_reduce(x)
    current = torch.cuda.current_device() if x.is_cuda else -1
    return x.sum().item(), current, int(os.environ["LOCAL_RANK"])


@lanes(1)
def test_one_rank_has_its_device(lane: str) -> None:
    result = on_lane(where_am_i, lane, 1)
    assert result.ok, result.report()
    assert result.values[0] == (4.0, 0 if lane == "nccl" else -1, 0)


@lanes(1)
def test_values_come_back_on_the_cpu(lane: str) -> None:
    """Else the parent would start CUDA to rebuild them, and its next forks could not."""
    result = on_lane(lambda: (torch.ones(2, device=here()), nn.Parameter(torch.ones(1, device=here()))), lane, 1)
    assert result.ok, result.report()
    assert [value.device.type for value in result.values[0]] == ["cpu", "cpu"]
    assert not torch.cuda.is_initialized()


@lanes(2)
def test_each_rank_has_its_device(lane: str) -> None:
    result = on_lane(where_am_i, lane, 2)
    assert result.ok, result.report()
    for value, current, local in result.values.values():
        assert value == 8.0
        assert lane == "gloo" or (current == local < torch.cuda.device_count())


def reduced_in_backward() -> int:
    model = DistributedDataParallel(nn.Linear(8, 8).to(here()))
    loss = model(torch.randn(4, 8, device=here())).sum()
    loss.backward()  # the reducer's
    import threading

    return threading.get_ident()


@lanes(1)
def test_call_site_of_what_autograd_issues(lane: str) -> None:
    """On a GPU backward runs in a thread of autograd's that has no frame of the user's."""
    result = on_lane(reduced_in_backward, lane, 1)
    assert result.ok, result.report()
    reduced = [event for event in result.events[0] if event.op == "all_reduce"]
    assert reduced
    lines = Path(__file__).read_text("utf-8").splitlines()
    assert all(event.site is not None and "# the reducer's" in lines[event.site.line - 1] for event in reduced)
    assert lane == "gloo" or all(event.thread != result.values[0] for event in reduced)


def on_another_stream() -> list[float]:
    x = torch.ones(1 << 16, device=here())
    if not x.is_cuda:
        dist.all_reduce(x, async_op=True).wait()
        return x[:2].tolist()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.mul_(2)
        work = dist.all_reduce(x, async_op=True)
    work.wait()
    torch.cuda.current_stream().wait_stream(side)
    return (x / 2).tolist()[:2]


@lanes(2)
def test_streams_keep_their_order(lane: str) -> None:
    result = on_lane(on_another_stream, lane, 2)
    assert result.ok, result.report()
    assert result.values[1] == [2.0, 2.0]


def uneven() -> None:
    dist.all_reduce(torch.ones(2 + dist.get_rank(), device=here()))


def other_operation() -> None:
    x = torch.ones(4, device=here())
    if dist.get_rank() == 0:
        dist.all_reduce(x)
    else:
        dist.broadcast(x, 0)
    x.sum().item()


def early_end() -> None:
    x = torch.ones(4, device=here())
    if dist.get_rank() == 0:
        dist.all_reduce(x)
        x.sum().item()


def opposite_order() -> None:
    groups = [dist.new_group([0, 1]), dist.new_group([0, 1])]
    if dist.get_rank() == 0:
        groups.reverse()
    for group in groups:
        dist.all_reduce(torch.ones(4, device=here()), group=group)


@lanes(2)
@pytest.mark.parametrize(
    ("body", "kind"),
    [(uneven, "shape"), (other_operation, "op"), (early_end, "exited"), (opposite_order, "deadlock")],
    ids=["shape", "op", "exited", "deadlock"],
)
def test_divergence(body: Any, kind: str, lane: str) -> None:
    found = on_lane(body, lane, 2).divergence
    assert found is not None and found.kind == kind


def ring(even_first: bool) -> float:
    rank, size = dist.get_rank(), dist.get_world_size()
    block, received = torch.full((4,), float(rank), device=here()), torch.empty(4, device=here())
    if even_first and rank % 2:
        receiving = dist.irecv(received, (rank - 1) % size)
        sending = dist.isend(block, (rank + 1) % size)
    else:
        sending = dist.isend(block, (rank + 1) % size)
        receiving = dist.irecv(received, (rank - 1) % size)
    sending.wait()
    receiving.wait()
    return received[0].item()


def ring_in_a_batch() -> float:
    rank, size = dist.get_rank(), dist.get_world_size()
    block, received = torch.full((4,), float(rank), device=here()), torch.empty(4, device=here())
    operations = [dist.P2POp(dist.isend, block, (rank + 1) % size), dist.P2POp(dist.irecv, received, (rank - 1) % size)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return received[0].item()


def batch_for_one_alone() -> None:
    x = torch.ones(4, device=here())
    dist.all_reduce(x)
    if dist.get_rank() == 0:
        dist.isend(x, 1).wait()
    else:
        for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, x, 0)]):
            work.wait()


def collective_before_a_send() -> None:
    x = torch.ones(4, device=here())
    if dist.get_rank() == 0:
        work = dist.all_reduce(x, async_op=True)
        dist.send(x.clone(), 1)
    else:
        dist.recv(x.clone(), 0)
        work = dist.all_reduce(x, async_op=True)
    work.wait()


def started_on(body: Any, *arguments: Any, bound: bool) -> Any:
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", device_id=torch.device("cuda", 0) if bound else None)
    return body(*arguments)


@pytest.mark.skipif(bool(_reason(3)), reason=f"3 ranks: {_reason(3)}")
@pytest.mark.parametrize("bound", [False, True])
def test_what_nccl_waits_in(bound: bool) -> None:
    def on_nccl(ranks: int, body: Any, *arguments: Any) -> Result:
        return on_lane(lambda: started_on(body, *arguments, bound=bound), "nccl", ranks, start_group=False)

    for body, arguments, apis in (
        (ring, (False,), {"isend"}),
        (collective_before_a_send, (), {"all_reduce", "recv"}),
    ):
        found = on_nccl(2, body, *arguments).divergence
        assert found is not None and found.kind == "deadlock" and {one.api for one in found.behaviours} == apis
    for body, arguments in ((ring, (True,)), (ring_in_a_batch, ())):
        healthy = on_nccl(3, body, *arguments)
        assert healthy.ok, healthy.report()


@lanes(3)
def test_calls_that_connect_two_ranks(lane: str) -> None:
    """NCCL connects two ranks in the first send of the one and the first receive of the other: each waits in it."""
    strict = lane == "gloo"
    for ranks in (2, 3):
        found = on_lane(ring, lane, ranks, args=(False,), strict=strict).divergence
        assert found is not None and found.kind == "deadlock" and "outside a batch" in found.text
        assert {one.api for one in found.behaviours} == {"isend"}
        assert not strict or on_lane(ring, lane, ranks, args=(False,)).ok
    for body, arguments in ((ring, (True,)), (ring_in_a_batch, ())):
        healthy = on_lane(body, lane, 3, args=arguments, strict=strict)
        assert healthy.ok, healthy.report()
        assert healthy.values == {0: 2.0, 1: 0.0, 2: 1.0}


def test_a_batch_does_not_meet_what_is_outside_of_one() -> None:
    """On a GPU the rank in the batch uses the CPU while it waits, so that only time ends the run."""
    assert on_lane(batch_for_one_alone, "gloo", 2).ok
    found = on_lane(batch_for_one_alone, "gloo", 2, strict=True).divergence
    assert found is not None and {one.api for one in found.behaviours} == {"isend", "batch_isend_irecv"}


def train(same: bool) -> float:
    torch.manual_seed(0)
    model = Captioner().to(here())
    for part in (model.base, model.vision, model):
        fully_shard(part)
    total = torch.zeros(())
    for step in range(2):
        mask = torch.zeros(4) if not same and dist.get_rank() == 0 and step == 1 else torch.ones(4)
        total = model(torch.ones(4, 8, device=here()), mask.to(here())).sum()
        total.backward()
    return round(total.item(), 3)


@lanes(2)
@pytest.mark.skipif(version() < FSDP2, reason="FSDP2 runs on the CPU since torch 2.7")
def test_fsdp2(lane: str) -> None:
    healthy = on_lane(train, lane, 2, args=(True,))
    assert healthy.ok, healthy.report()
    assert healthy.values[0] == healthy.values[1]
    found = on_lane(train, lane, 2, args=(False,)).divergence
    assert found is not None and {one.module for one in found.behaviours} == {"base", "vision"}
    assert found.cause.endswith(f"models.py:{mask_line()}")


@lanes(1)
def test_settings_of_nccl_are_remarked(lane: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")
    remarks = on_lane(where_am_i, lane, 1).remarks
    assert any("TORCH_NCCL_ASYNC_ERROR_HANDLING=0" in remark for remark in remarks) == (lane == "nccl")
