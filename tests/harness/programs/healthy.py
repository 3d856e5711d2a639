"""Programs that a naive tool would stop."""

from __future__ import annotations

import tempfile
import threading
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from ferrule_lint.harness.server import Limits
from programs.lane import DEVICE
from programs.models import sharded, with_statistics
from programs.names import fully_shard, init_device_mesh
from programs.table import FSDP2, HYBRID, healthy

QUICK = Limits(stall=0.2, user=30)


def _spin(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))


@healthy(limits=QUICK)
def uneven_compute():
    for _ in range(2):
        if dist.get_rank() == 1:
            _spin(0.5)
        dist.all_reduce(torch.ones(1))


@healthy(limits=QUICK)
def one_rank_waits_for_a_file():
    if dist.get_rank() == 1:
        time.sleep(0.7)
    dist.all_reduce(torch.ones(1))


# on NCCL the first collective of a group waits
@healthy(limits=QUICK, backend="gloo")
def asynchronous_before_a_send_that_the_peer_needs():
    x = torch.ones(4)
    if dist.get_rank() == 0:
        work = dist.all_reduce(x, async_op=True)
        dist.send(torch.ones(2), 1)
    else:
        dist.recv(torch.ones(2), 0)
        work = dist.all_reduce(x, async_op=True)
    work.wait()
    assert x.tolist() == [2.0] * 4


@healthy(ranks=4, since=FSDP2)
def hsdp_and_tensor_parallel():
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("dp", "tp"))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        model(torch.randn(4, 8)).sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


@healthy(ranks=4, since=HYBRID)
def replicated_shards():
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("replicate", "shard"))
    model = fully_shard(nn.Linear(8, 8), mesh=mesh)
    model(torch.randn(4, 8)).sum().backward()


# the stages of 2.9 greet each other with tensors of different dtypes
@healthy(since=HYBRID, broken_in=((2, 9),))
def pipeline_1f1b():
    rank = dist.get_rank()
    stage = PipelineStage(nn.Linear(8, 8), rank, 2, torch.device(DEVICE))
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=nn.functional.mse_loss)
    for _ in range(2):
        if rank == 0:
            schedule.step(torch.randn(8, 8))
        else:
            schedule.step(target=torch.randn(8, 8))


@healthy(backend="auto")  # saving asynchronously asks for a backend on the CPU
def checkpoint_saved_and_loaded():
    model = sharded()
    names = [tempfile.mkdtemp() if dist.get_rank() == 0 else ""]
    dist.broadcast_object_list(names)
    state = get_model_state_dict(model)
    dcp.save(state, checkpoint_id=names[0])
    dcp.async_save(state, checkpoint_id=f"{names[0]}/async").result()
    dcp.load(state, checkpoint_id=names[0])


@healthy()
def loader_with_workers():
    # a worker is a fork, which may not touch the GPU
    data = [torch.full((2,), float(number), device="cpu") for number in range(8)]
    for batch in DataLoader(data, batch_size=4, num_workers=1):
        dist.all_reduce(batch.to(DEVICE))


@healthy()
def thread_with_a_group_of_its_own():
    group = dist.new_group([0, 1])

    def work():
        for _ in range(20):
            dist.all_reduce(torch.ones(1), group=group)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(20):
        dist.all_reduce(torch.ones(2))
    thread.join()


@healthy(ranks=3)
def objects_of_uneven_size():
    rank = dist.get_rank()
    mine = "x" * (10 * rank)
    gathered: list = [None] * 3
    dist.all_gather_object(gathered, mine)
    assert gathered[2] == "x" * 20
    dist.gather_object(mine, [None] * 3 if rank == 0 else None)
    dist.broadcast_object_list([mine], src=2)
    dist.scatter_object_list([None], ["a", "bb", "ccc"] if rank == 0 else None)


@healthy(ranks=4)
def collectives_of_subgroups_under_rank_tests():
    rank = dist.get_rank()
    low, high = dist.new_group([0, 1]), dist.new_group([2, 3])
    if rank < 2:
        dist.all_reduce(torch.ones(3), group=low)
    else:
        dist.broadcast(torch.ones(5), src=3, group=high)
    if rank == 0:
        torch.ones(1).sum()
    dist.barrier()


@healthy(ranks=3)
def group_made_by_its_members_only():
    if dist.get_rank() > 0:
        group = dist.new_group([1, 2], use_local_synchronization=True)
        dist.all_reduce(torch.ones(1), group=group)
    dist.barrier()


@healthy()
def scalar_meets_one_element():
    dist.all_reduce(torch.ones(()) if dist.get_rank() == 0 else torch.ones(1))


@healthy()
def gradient_accumulation_under_ddp():
    model = DistributedDataParallel(with_statistics())
    for _ in range(2):
        with model.no_sync():
            model(torch.randn(4, 8)).sum().backward()
        model(torch.randn(4, 8)).sum().backward()


@healthy()
def evaluated_on_rank_0_before_a_step_of_all():
    """DDP sends buffers once without gradients, and not before the step after that: rules/FER101.md."""
    model = DistributedDataParallel(with_statistics())
    for step in range(3):
        model(torch.randn(4, 8)).sum().backward()
        if dist.get_rank() == 0 and step > 0:
            with torch.no_grad():
                model(torch.randn(4, 8))
                model(torch.randn(4, 8))
    model(torch.randn(4, 8)).sum().backward()


@healthy()
def uneven_inputs_that_are_joined():
    model = DistributedDataParallel(nn.Linear(2, 2))
    with Join([model]):
        for _ in range(2 + dist.get_rank()):
            model(torch.ones(1, 2)).sum().backward()
    dist.barrier()


@healthy(ranks=3, backend="gloo")  # NCCL has to be told from whom
def receive_from_anybody():
    if dist.get_rank() == 0:
        assert {dist.recv(torch.ones(1)) for _ in range(2)} == {1, 2}
    else:
        dist.send(torch.ones(1), 0)


@healthy(ranks=3)
def ring_of_asynchronous_operations():
    rank, size = dist.get_rank(), 3
    taken = torch.empty(4)
    operations = [
        dist.P2POp(dist.isend, torch.full((4,), float(rank)), (rank + 1) % size),
        dist.P2POp(dist.irecv, taken, (rank - 1) % size),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert taken[0] == (rank - 1) % size


@healthy(ranks=4)
def blocking_ring_in_two_phases():
    rank, size = dist.get_rank(), 4
    for sends in (rank % 2 == 0, rank % 2 == 1):
        if sends:
            dist.send(torch.ones(4), (rank + 1) % size)
        else:
            dist.recv(torch.ones(4), (rank - 1) % size)


@healthy(backend="gloo")  # NCCL has no monitored barrier
def group_destroyed_at_the_end():
    dist.all_reduce(torch.ones(1))
    dist.monitored_barrier()
    dist.destroy_process_group()


@healthy()
def default_group_started_again():
    for turn in range(4):
        if turn:
            dist.init_process_group("gloo")
        dist.all_reduce(torch.ones(2 + turn))
        dist.broadcast(torch.ones(2), 1, group=dist.new_group([0, 1]))
        dist.destroy_process_group()


@healthy()
def uneven_all_to_all():
    sends, receives = ([1, 3], [1, 2]) if dist.get_rank() == 0 else ([2, 2], [3, 2])
    dist.all_to_all_single(torch.empty(sum(receives)), torch.arange(4.0), receives, sends)


@healthy()
def fsdp1_trains():
    model = FullyShardedDataParallel(nn.Linear(8, 8), device_id=torch.device(DEVICE))
    model(torch.randn(2, 8)).sum().backward()
    model.clip_grad_norm_(1.0)
    model.state_dict()
