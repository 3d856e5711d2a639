"""How the twins of `tests/fixes` are played, before and after they are fixed: `fixes:<form>/<name>`."""

from __future__ import annotations

import concurrent.futures
import os
import tempfile
import threading
import time
import types
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from proof.scenes import full, gradients, merge, odd, scene

_NAMES = ["embedding", "tower", "head", "norm", "projection", "bias", "gate", "router"]


@scene("fixes:drop_guard/count_of_answers")
def count_of_answers(m: types.ModuleType, spread: bool) -> Any:
    return m.count({"labels": torch.tensor([-100] if spread and odd() else [1, -100, 3])})


class Data:
    """A tensor of which the example wants the copy on the GPU."""

    def __init__(self, *values: int, dtype: torch.dtype = torch.int64) -> None:
        self._tensor = torch.tensor(values, dtype=dtype)

    def cuda(self) -> torch.Tensor:
        return self._tensor


@scene("fixes:finish_dispatch/two_halves", ranks=6, wrong_data=True)
def two_halves(m: types.ModuleType, spread: bool) -> Any:
    made = torch.empty
    # what is left in a buffer from before is not the bounds
    m.torch.empty = lambda *size, **named: made(*size, **named).fill_(-1)
    data = {"tokens": Data(1, 1), "labels": Data(1, 1), "bounds": Data(0, 2, 4, dtype=torch.int32)}
    return m.get_batch(iter([data]), 2, 2)["bounds"].tolist() == [0, 2, 4]


@scene("fixes:gather_uneven/into_a_list")
@scene("fixes:gather_uneven/into_a_tensor")
def gather_uneven(m: types.ModuleType, spread: bool) -> Any:
    mask = torch.tensor([True, False, not (spread and odd())])
    found = m.gather_valid({"scores": torch.tensor([1.0, 2.0, 6.0]), "mask": mask})
    return [full(one) for one in found] if isinstance(found, list) else full(found)


@scene("fixes:lift_guard/barrier_at_the_end", by_rank=True)
def barrier_at_the_end(m: types.ModuleType, spread: bool) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        m.prepare(f"{folder}/new")
        return os.path.exists(f"{folder}/new/empty.pt") == (dist.get_rank() == 0)


@scene("fixes:lift_guard/every_hundredth_step", by_rank=True)
def every_hundredth_step(m: types.ModuleType, spread: bool) -> Any:
    shown: list[float] = []
    m.train(5, shown)
    return shown


@scene("fixes:lift_guard/function_of_the_project", by_rank=True)
def function_of_the_project(m: types.ModuleType, spread: bool) -> Any:
    shown: list[float] = []
    m.report(torch.tensor([3.0]), shown)
    return shown


@scene("fixes:lift_guard/gather_in_print", by_rank=True)
def gather_in_print(m: types.ModuleType, spread: bool) -> Any:
    def model(labels: torch.Tensor) -> Any:
        return types.SimpleNamespace(logits=labels)

    m.evaluate(m.Accelerator(), model, [{"labels": torch.ones(2)}])


@scene("fixes:lift_guard/nothing_but_a_barrier", by_rank=True)
def nothing_but_a_barrier(m: types.ModuleType, spread: bool) -> Any:
    return m.finish([1, 2, 3])


@scene("fixes:lift_guard/sample_for_the_log", by_rank=True)
def sample_for_the_log(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    net = nn.Linear(4, 4)
    m.train(net, [{"input_ids": torch.ones(2, 4)}], torch.optim.SGD(net.parameters(), 0.1), torch.ones(1, 4))


@scene("fixes:delay_exit/state_of_the_main_process", by_rank=True)
@scene("fixes:lift_guard/state_dict", by_rank=True)
def state_dict(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = fully_shard(nn.Linear(2, 2))
    with tempfile.TemporaryDirectory() as folder:
        m.save(model, f"{folder}/state")
        return full(torch.load(f"{folder}/state")["weight"]) if dist.get_rank() == 0 else None


@scene("fixes:pad_everywhere/last_batch")
def last_batch(m: types.ModuleType, spread: bool) -> Any:
    # a loader that lays samples out in a full buffer already: padding it once more makes it longer
    mask = torch.tensor([1, 1, 0] if spread and odd() else [1, 1, 1])
    return full(m.gather({"dense": torch.ones(3), "mask": mask}, 3))


@scene("fixes:pad_everywhere/longest_of_this_rank")
def longest_of_this_rank(m: types.ModuleType, spread: bool) -> Any:
    lengths = torch.tensor([2, 4 if spread and odd() else 3])
    return [full(one.float()) for one in m.gather_tokens({"tokens": torch.tensor([5, 6]), "lengths": lengths})]


@scene("fixes:reduce_decision/checkpoint_is_done")
def checkpoint_is_done(m: types.ModuleType, spread: bool) -> Any:
    future: concurrent.futures.Future[int] = concurrent.futures.Future()
    if spread and odd():
        timer = threading.Timer(0.3, future.set_result, [1])
        timer.daemon = True
        timer.start()
    else:
        future.set_result(1)
    return m.Saver(future).finished(False)


@scene("fixes:reduce_decision/file_is_there")
def file_is_there(m: types.ModuleType, spread: bool) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return m.prepare(folder if not spread or odd() else f"{folder}/new")


@scene("fixes:reduce_decision/bad_loss_in_a_name")
@scene("fixes:reduce_decision/loss_is_not_finite")
@scene("fixes:reduce_decision/skipped_if_asked_for")
def loss_is_not_finite(m: types.ModuleType, spread: bool) -> Any:
    middle = float("nan") if spread and odd() else 2.0
    return m.train([torch.tensor(1.0), torch.tensor(middle), torch.tensor(3.0)])


@scene("fixes:reduce_decision/process_ends")
def process_ends(m: types.ModuleType, spread: bool) -> Any:
    try:
        return loss_is_not_finite(m, spread)
    except SystemExit:
        return "left"


@scene("fixes:reduce_decision/nothing_selected")
def nothing_selected(m: types.ModuleType, spread: bool) -> Any:
    mask = torch.tensor([False] * 3 if spread and odd() else [True, False, True])
    return m.mean_score({"scores": torch.tensor([1.0, 2.0, 6.0]), "mask": mask})


@scene("fixes:reduce_decision/time_is_up")
def time_is_up(m: types.ModuleType, spread: bool) -> Any:
    return m.train(3, time.time() + (-60 if spread and odd() else 60))


@scene("fixes:reduce_trip_count/residual")
def residual(m: types.ModuleType, spread: bool) -> Any:
    # one target lies within the tolerance at once; the mean of both is within that of each
    target = torch.full((2,), (8.0 if odd() else 1.0) if spread else 4.0)
    return full(m.solve({"target": target}, 5.0))


@scene("fixes:reduce_trip_count/rounds_by_tokens")
def rounds_by_tokens(m: types.ModuleType, spread: bool) -> Any:
    return m.forward_chunks({"attention_mask": torch.ones(8 if spread and odd() else 4)}, 4)


scene("fixes:sort_items/files_of_a_folder")(merge)


@scene("fixes:sort_items/names_of_a_set", hash_seeds=True)
def names_of_a_set(m: types.ModuleType, spread: bool) -> Any:
    state = {name: torch.ones(1 + number) for number, name in enumerate(_NAMES)}
    m.average(state, ["bias"])
    return sorted((name, full(value)) for name, value in m.gather(state, _NAMES).items())


@scene("fixes:uniform_predicate/clock")
def clock(m: types.ModuleType, spread: bool) -> Any:
    # one rank's clock has passed the limit, the other's not yet
    now = time.monotonic()
    return m.should_stop(now + 1000 if spread and odd() else now - 10, 5.0, True)


@scene("fixes:uniform_predicate/flags_of_a_function")
def flags_of_a_function(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(8)
    some = not (spread and odd())
    parts = model(
        torch.tensor([[1, 2]]),
        torch.tensor([[3, 4]]),
        torch.tensor([[some, False]]),
        [torch.tensor([[5]])],
        [torch.tensor([some])],
    )
    total = sum(part.sum() for part in parts)
    total.backward()
    return full(total), gradients(model)["words.weight"][:64]


@scene("fixes:uniform_predicate/group_of_the_collective")
def group_of_the_collective(m: types.ModuleType, spread: bool) -> Any:
    labels = torch.tensor([-100] if spread and odd() else [1, -100, 3])
    return full(m.count({"labels": labels}, dist.group.WORLD).float())


@scene("fixes:uniform_predicate/return_between")
def return_between(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(1024)
    model.quiet = True
    hidden = torch.ones(1, 1024, requires_grad=True)
    out = model(hidden, torch.tensor([not (spread and odd())]), None)
    out.sum().backward()
    return full(out)[:8], gradients(model)["vision.bias"][:8]


@scene("fixes:uniform_predicate/two_masks")
def two_masks(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(8)
    some = torch.tensor([0.0 if spread and odd() else 1.0] * 2)
    torch.manual_seed(1)
    batch = {
        "image_mask": torch.ones(2),
        "sound_mask": some,
        "images": torch.randn(2, 1024),
        "sounds": torch.randn(2, 80),
    }
    out = model(torch.tensor([1, 2]), batch)
    out.sum().backward()
    return full(out), gradients(model)["sound.bias"]
