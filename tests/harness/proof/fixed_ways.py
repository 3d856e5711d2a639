"""Twins of `tests/fixes` in which a form of `fixed` or `fixed_groups` goes another way."""

from __future__ import annotations

import itertools
import os
import tempfile
import types
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from proof.doubles import Accelerator
from proof.fixed_groups import pass_on
from proof.scenes import full, gradients, odd, pair, scene

# ---- loops that one rank leaves ------------------------------------------------------------------------------------


@scene("fixes:agree_on_failure/end_of_the_data")
def end_of_the_data(m: types.ModuleType, spread: bool) -> Any:
    log: list[object] = []
    batches = [{"x": torch.tensor([float(number)])} for number in range(2 if spread and odd() else 3)]
    m.train(batches, log)
    return log


@scene("fixes:leave_together/patience", by_rank=True)
def patience(m: types.ModuleType, spread: bool) -> Any:
    log: list[object] = []
    m.train([3.0, 2.0, 2.5, 1.0, 4.0, 4.0, 5.0], 2, log)
    return log


@scene("fixes:reduce_decision/beyond_a_limit")
def beyond_a_limit(m: types.ModuleType, spread: bool) -> Any:
    last = 9.0 if not spread or odd() else 2.0
    return m.fit([{"x": torch.tensor([1.0, 2.0])}, {"x": torch.tensor([last])}, {"x": torch.tensor([1.0])}])


@scene("fixes:reduce_decision/flag_of_the_clock")
def flag_of_the_clock(m: types.ModuleType, spread: bool) -> Any:
    # ten seconds pass between two looks at the clock; where inputs are spread, on the last rank only
    clock = itertools.count(0, 0 if spread and not odd() else 10)
    m.time = types.SimpleNamespace(time=lambda: next(clock))
    log: list[object] = []
    m.train(6, 25.0, log)
    return log


@scene("fixes:reduce_decision/masked_out")
def masked_out(m: types.ModuleType, spread: bool) -> Any:
    losses = torch.tensor([1.0, 3.0])
    masks = [torch.tensor([1.0, 0.0]), torch.zeros(2) if spread and odd() else torch.ones(2), torch.zeros(2)]
    found = m.train([{"losses": losses, "mask": mask} for mask in masks])
    assert all(float(loss) == 0.0 for loss, mask in zip(found, masks, strict=True) if not mask.any())
    return None if spread else full(torch.stack(found))


@scene("fixes:reduce_decision/nothing_left")
def nothing_left(m: types.ModuleType, spread: bool) -> Any:
    return m.run([{"mask": torch.tensor([0, 0 if spread and odd() else 1])}, {"mask": torch.tensor([0, 0])}], 2)


@scene("fixes:reduce_trip_count/steps")
def steps(m: types.ModuleType, spread: bool) -> Any:
    filled = 1 if spread and odd() else 3
    # nothing lies behind the rank's own tokens
    hidden = torch.tensor([1.0, 2.0, 3.0])[:filled]
    return m.run({"hidden": hidden, "attention_mask": torch.ones(filled)})


# ---- ways past a collective ----------------------------------------------------------------------------------------


@scene("fixes:barrier_before_exit/next_round", by_rank=True)
def next_round(m: types.ModuleType, spread: bool) -> Any:
    said: list[str] = []
    m.print = said.append
    m.report(["a", "", "b"], dist.get_world_size())
    return said


@scene("fixes:barrier_before_exit/nothing_to_delete", by_rank=True)
def nothing_to_delete(m: types.ModuleType, spread: bool) -> Any:
    names = [[], ["keep", "b"], ["a"]]
    for some in names:
        m.delete(some, True)
    return names


@scene("fixes:leave_finally/by_a_function", error=True)
def by_a_function(m: types.ModuleType, spread: bool) -> Any:
    done: list[list[float]] = []

    def work(config: list[float]) -> None:
        if spread and odd():
            raise ValueError(config)
        done.append(config)

    m.run(work, [1.0, 2.0])
    return done


@scene("fixes:reduce_decision/fast_way")
def fast_way(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(8)
    out = model(torch.tensor([[1, 2, 3]]), torch.tensor([[False, not (spread and odd()), False]]), 2)
    out.sum().backward()
    return full(out)[:8], gradients(model)["words.weight"][:64]


@scene("fixes:reduce_decision/file_decides_about_a_block")
def file_decides_about_a_block(m: types.ModuleType, spread: bool) -> Any:
    done: list[str] = []
    # each rank has a disk of its own
    with tempfile.TemporaryDirectory() as disk:
        if spread and odd():
            Path(disk, "ready").touch()
            Path(disk, "file").touch()
        m.prepare(disk, True, done)
        m.download(f"{disk}/file", done)
        return done, [] if spread else sorted(os.listdir(disk))


# ---- work of one rank ----------------------------------------------------------------------------------------------


@scene("fixes:lift_guard/waiting_in_the_other_arm", by_rank=True)
def waiting_in_the_other_arm(m: types.ModuleType, spread: bool) -> Any:
    said: list[str] = []
    m.prepare(said)
    return said


@scene("fixes:split_guard/barrier_between", by_rank=True)
def barrier_between(m: types.ModuleType, spread: bool) -> Any:
    written: list[str] = []
    m.finish(written, "model")
    return written


class _Saving(Accelerator):
    def save_state(self, path: str) -> None:
        """Of `accelerate`: for all processes to call; they wait for each other."""
        if self.is_main_process:
            os.mkdir(path)
        dist.barrier()


@scene("fixes:split_guard/inner_question", by_rank=True)
def inner_question(m: types.ModuleType, spread: bool) -> Any:
    said: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        m.print = lambda line: said.append(line.replace(folder, ""))
        m.train(_Saving(), folder, 2, 9)
        return said, sorted(os.listdir(folder))


@scene("fixes:split_guard/over_several_lines", by_rank=True)
def over_several_lines(m: types.ModuleType, spread: bool) -> Any:
    saver = m.Saver(dist.get_world_size(), 2)
    with tempfile.TemporaryDirectory() as folder:
        for step in range(6):
            saver.save(folder, step, False, True)
        return [Path(folder, name).read_text() for name in os.listdir(folder)]


# ---- groups --------------------------------------------------------------------------------------------------------

scene("fixes:global_rank/by_place", ranks=4, by_rank=True, raises=True)(pass_on)


@scene("fixes:keep_group/as_many_buffers", ranks=4, by_rank=True, raises=True)
def as_many_buffers(m: types.ModuleType, spread: bool) -> Any:
    group = pair()
    return full(m.interleave(torch.full((2,), float(dist.get_rank())), dist.get_world_size(group), group))


@scene("fixes:keep_group/nested", ranks=4, by_rank=True)
def nested(m: types.ModuleType, spread: bool) -> Any:
    group = pair()
    found = None
    # the other pair has nothing to gather
    if dist.get_rank() < 2:
        mine = torch.full((2,), float(dist.get_rank()))
        found = m.gather_nested({"a": mine, "b": [mine[:1], mine]}, group)
    dist.barrier()
    return found


# ---- sizes, orders -------------------------------------------------------------------------------------------------


@scene("fixes:pad_across_processes/selected")
def selected(m: types.ModuleType, spread: bool) -> Any:
    def model(rewards: torch.Tensor, mask: torch.Tensor) -> Any:
        return types.SimpleNamespace(rewards=rewards)

    mask = torch.tensor([1, 0 if spread and odd() else 1, 0])
    mean = m.rewards(m.Accelerator(), model, {"rewards": torch.tensor([1.0, 3.0, 9.0]), "mask": mask})
    # what pads does not count
    assert round(mean, 4) == (1.6667 if spread else 2.0)
    return mean


@scene("fixes:sort_items/in_an_order_already", hash_seeds=True)
def in_an_order_already(m: types.ModuleType, spread: bool) -> Any:
    names = [f"{name}/{kind}" for name in ("embedding", "tower", "head", "router") for kind in ("norm", "mean")]
    metrics = {name: torch.ones(1 + number) for number, name in enumerate(names)}
    # in what order it names them is left to the hash seed before, and is not compared
    norms = m.reduce_metrics(metrics, names[2:])
    return sorted(norms), [full(metrics[name]) for name in names]


# ---- towers that run on some ranks ---------------------------------------------------------------------------------


@scene("fixes:stand_in/taken_out_of_a_dict")
def taken_out_of_a_dict(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(8)
    inputs = {"input_ids": torch.tensor([7, 7, 1])}
    if not (spread and odd()):
        inputs |= {"pixel_values": torch.ones(3, 8), "image_sizes": torch.tensor([[1, 2]])}
    out = model(inputs)
    out.sum().backward()
    return full(out), gradients(model)["visual.0.bias"]
