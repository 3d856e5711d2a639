"""Divergences of every kind."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel

from ferrule_lint.harness.server import Limits
from programs.lane import DEVICE
from programs.models import Captioner, sharded, with_statistics
from programs.names import Replicate, Shard, distribute_tensor, fully_shard, init_device_mesh
from programs.table import FSDP2, bug

QUICK = Limits(stall=0.2, user=0.4)


# ---- what was reproduced before the harness was written ------------------------------------------------------------


@bug("module", since=FSDP2)
def fsdp2_submodule_on_some_ranks():
    model = Captioner()
    fully_shard(model.base)
    fully_shard(model.vision)
    fully_shard(model)
    for step in range(2):
        mask = torch.zeros(4) if dist.get_rank() == 0 and step == 1 else torch.ones(4)
        model(torch.randn(4, 8), mask).sum().backward()


@bug("raised")
def ddp_submodule_on_some_ranks():
    model = DistributedDataParallel(Captioner())
    for step in range(3):
        mask = torch.zeros(4) if dist.get_rank() == 0 and step == 1 else torch.ones(4)
        model(torch.randn(4, 8), mask).sum().backward()


@bug("shape")
def all_gather_into_tensor_of_uneven_sizes():
    x = torch.ones(2 + dist.get_rank(), 4)  # cause
    dist.all_gather_into_tensor(torch.empty(2 * x.size(0), 4), x)  # site


@bug("shape")
def all_gather_with_room_for_its_own_size():
    x = torch.ones(2 + dist.get_rank(), 4)  # cause
    dist.all_gather([torch.empty_like(x) for _ in range(2)], x)  # site


@bug("shape")
def all_reduce_of_uneven_sizes():
    dist.all_reduce(torch.ones(2 + dist.get_rank()))  # site


@bug("dtype")
def all_reduce_of_float_and_double():
    dist.all_reduce(torch.ones(4, dtype=[torch.float32, torch.float64][dist.get_rank()]))  # site


@bug("dtype")
def all_reduce_of_float_and_int():
    dist.all_reduce(torch.ones(4, dtype=[torch.float32, torch.int32][dist.get_rank()]))  # site


@bug("reduce-op")
def all_reduce_sum_and_max():
    dist.all_reduce(torch.ones(4), op=[dist.ReduceOp.SUM, dist.ReduceOp.MAX][dist.get_rank()])  # site


@bug("root")
def broadcast_from_two_sources():
    dist.broadcast(torch.ones(4), src=dist.get_rank())  # site


@bug("op")
def all_reduce_meets_broadcast():
    x = torch.ones(4)
    if dist.get_rank() == 0:  # cause
        dist.all_reduce(x)
    else:
        dist.broadcast(x, src=0)


@bug("shape")
def reduce_scatter_of_uneven_sizes():
    size = 2 + dist.get_rank()  # cause
    dist.reduce_scatter_tensor(torch.empty(size), torch.ones(2 * size))  # site


@bug("splits")
def all_to_all_with_inconsistent_splits():
    expected = [1, 1] if dist.get_rank() == 0 else [2, 2]  # cause
    dist.all_to_all_single(torch.empty(sum(expected)), torch.arange(4.0), expected, [1, 3])  # site


@bug("exited", ranks=3)
def middle_stage_never_broadcasts():
    x = torch.ones(4)
    if dist.get_rank() == 0:
        dist.broadcast(x, src=2)
    elif dist.get_rank() == 2:  # cause
        x = x * 2
        dist.broadcast(x, src=2)
    return x


@bug("op", ranks=3)
def middle_stage_goes_on():
    x = torch.ones(4)
    if dist.get_rank() in (0, 2):  # cause
        dist.broadcast(x, src=2)
    dist.all_reduce(x)


@bug("op")
def evaluated_on_rank_0_before_a_barrier():
    model = DistributedDataParallel(with_statistics())
    for _ in range(2):
        model(torch.randn(4, 8)).sum().backward()
    if dist.get_rank() == 0:  # cause
        with torch.no_grad():
            model(torch.randn(4, 8))
    dist.barrier()
    model(torch.randn(4, 8)).sum().backward()


@bug("dtype")
def evaluated_on_rank_0_before_buckets_are_rebuilt():
    model = DistributedDataParallel(with_statistics())
    model(torch.randn(4, 8)).sum().backward()
    if dist.get_rank() == 0:  # cause
        with torch.no_grad():
            model(torch.randn(4, 8))
    model(torch.randn(4, 8)).sum().backward()


@bug("exited")
def evaluated_on_rank_0_at_the_end():
    model = DistributedDataParallel(with_statistics())
    model(torch.randn(4, 8)).sum().backward()
    if dist.get_rank() == 0:  # cause
        with torch.no_grad():
            model(torch.randn(4, 8))


@bug("op")
def full_tensor_on_rank_0():
    model = sharded()
    if dist.get_rank() == 0:  # cause
        for value in model.state_dict().values():
            value.full_tensor()
    dist.barrier()


@bug("op")
def state_dict_on_rank_0():
    model = sharded()
    if dist.get_rank() == 0:  # cause
        get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    dist.barrier()


@bug("op")
def fsdp1_state_dict_on_rank_0():
    model = FullyShardedDataParallel(nn.Linear(8, 8), device_id=torch.device(DEVICE))
    if dist.get_rank() == 0:  # cause
        model.state_dict()
    dist.barrier()


def _train(model):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(4):
        x = torch.randn(4, 8)
        if dist.get_rank() == 1 and step == 1:
            x = x * float("nan")
        loss = model(x).sum()
        if torch.isnan(loss):  # cause
            continue
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.all_reduce(torch.ones(1))


@bug("op", since=FSDP2)
def fsdp2_skips_a_step():
    _train(fully_shard(nn.Linear(8, 8)))


@bug("shape")
def ddp_skips_a_step():
    _train(DistributedDataParallel(nn.Linear(8, 8)))


def _engine_run_backward(issue):
    """Stands for torch's function of this name, which waits for autograd's threads; on a GPU these issue operations."""
    done = threading.Lock()
    done.acquire()

    def work():
        try:
            issue()
        finally:
            done.release()

    _thread.start_new_thread(work, ())
    done.acquire()


@bug("shape")
def thread_of_autograd_skips_a_step():
    bucket = torch.ones(72)
    for step in range(4):
        x = torch.full((8,), float("nan") if dist.get_rank() == 1 and step == 1 else 1.0)
        if torch.isnan(x.sum()):  # cause
            continue
        _engine_run_backward(lambda: dist.all_reduce(bucket))
    dist.all_reduce(torch.ones(1))


@bug("exited")
def early_return():
    dist.all_reduce(torch.ones(1))
    if dist.get_rank() == 1:  # cause
        return
    dist.all_reduce(torch.ones(1))


@bug("stall", limits=QUICK)
def idle_in_its_own_code():
    if dist.get_rank() == 1:  # cause
        time.sleep(1000)
    dist.all_reduce(torch.ones(1))


@bug("deadlock")
def two_groups_in_opposite_order():
    groups = [dist.new_group([0, 1]), dist.new_group([0, 1])]
    if dist.get_rank() == 0:
        groups.reverse()
    for group in groups:
        dist.all_reduce(torch.ones(4), group=group)  # site


@bug("op")
def new_group_on_some_ranks():
    if dist.get_rank() == 0:  # cause
        dist.new_group([0])
    dist.all_reduce(torch.ones(1))


# ---- more kinds ----------------------------------------------------------------------------------------------------


@bug("deadlock", ranks=3)
def ring_in_which_all_send_first():
    rank, size = dist.get_rank(), dist.get_world_size()
    dist.send(torch.ones(4), (rank + 1) % size)  # site
    dist.recv(torch.ones(4), (rank - 1) % size)


@bug("shape")
def receiver_expects_another_size():
    if dist.get_rank() == 0:  # cause
        dist.send(torch.ones(4), 1)
    else:
        dist.recv(torch.ones(3), 0)


@bug("deadlock")
def tags_that_do_not_meet():
    if dist.get_rank() == 0:  # cause
        dist.send(torch.ones(4), 1, tag=1)
    else:
        dist.recv(torch.ones(4), 0, tag=2)


@bug("deadlock", limits=QUICK)
def asynchronous_receive_without_a_send():
    if dist.get_rank() == 0:
        dist.irecv(torch.ones(4), 1).wait()  # site
    dist.barrier()


@bug("op")
def object_broadcast_on_rank_0():
    if dist.get_rank() == 0:  # cause
        dist.broadcast_object_list(["settings"], src=0)
    dist.all_reduce(torch.ones(1))


@bug("raised")
def exception_on_one_rank():
    if dist.get_rank() == 1:  # cause
        raise FileNotFoundError("data.bin")
    dist.barrier()


@bug("crashed")
def crash_of_one_rank():
    dist.all_reduce(torch.ones(1))  # else the other may still be starting up, and fail in that
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    dist.barrier()  # site


@bug("op")
def functional_collective_on_rank_0():
    x = torch.ones(4)
    if dist.get_rank() == 0:  # cause
        x = funcol.all_gather_tensor(x, 0, dist.group.WORLD)
    dist.all_reduce(x.sum())


@bug("op")
def redistribution_on_rank_0():
    mesh = init_device_mesh(DEVICE, (2,))
    tensor = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)])
    if dist.get_rank() == 0:  # cause
        tensor.redistribute(placements=[Replicate()]).to_local()
    dist.barrier()


@bug("exited")
def thread_on_one_rank():
    group = dist.new_group([0, 1])
    if dist.get_rank() == 0:
        thread = threading.Thread(target=dist.all_reduce, args=(torch.ones(1),), kwargs={"group": group})
        thread.start()
        thread.join()


@bug("deadlock", strict=True)
def asynchronous_on_two_groups_in_opposite_order():
    groups = [dist.new_group([0, 1]), dist.new_group([0, 1])]
    if dist.get_rank() == 0:
        groups.reverse()
    works = [dist.all_reduce(torch.ones(4), group=group, async_op=True) for group in groups]  # site
    for work in works:
        work.wait()


@bug("exited")
def loop_of_local_length():
    for _ in range(3 + dist.get_rank()):  # cause
        dist.all_reduce(torch.ones(1))


@bug("request")
def groups_of_different_ranks():
    dist.new_group([0] if dist.get_rank() == 0 else [0, 1])  # site


@bug("exited", start_group=False)
def never_joins():
    if os.environ["RANK"] == "0":  # cause
        dist.init_process_group("gloo")


@bug("op", since=FSDP2)
def clipping_on_rank_0():
    model = sharded()
    model(torch.randn(2, 8)).sum().backward()
    if dist.get_rank() == 0:  # cause
        nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor()
    dist.barrier()


@bug("op", backend="gloo")  # NCCL has no such barrier
def barrier_of_another_kind():
    if dist.get_rank() == 0:  # cause
        dist.barrier()
    else:
        dist.monitored_barrier()


@bug("op")
def harmless_print_before_the_cause():
    x = torch.ones(1)
    if dist.get_rank() == 0:
        x = x + 0
        x = x * 1
    value = int(x)
    if dist.get_rank() + value == 1:  # cause
        dist.all_reduce(x)
    else:
        dist.broadcast(x, 0)
