"""Twins of `tests/fixes` about what some ranks have and others lack: entries, files, items, a full buffer."""

from __future__ import annotations

import tempfile
import types
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from proof.scenes import full, gradients, odd, scene


@scene("fixes:agree_on_file/saved_by_each")
def saved_by_each(m: types.ModuleType, spread: bool) -> Any:
    saved: list[torch.Tensor] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("average", "slow"):
            if not (spread and odd()):
                (Path(folder) / f"{name}_{dist.get_rank()}.pt").touch()
        m.run(folder, saved)
    return [full(one) for one in saved]


@scene("fixes:agree_on_room/memory")
def memory(m: types.ModuleType, spread: bool) -> Any:
    free = 10 if spread and odd() else 100
    m.shutil = types.SimpleNamespace(disk_usage=lambda _: types.SimpleNamespace(free=free))
    kept: list[torch.Tensor] = []
    saved: list[float] = []
    m.keep(torch.ones(2), 40, kept, saved)
    return len(kept), saved, m.drop(kept, 50)


@scene("fixes:all_have/turns")
def turns(m: types.ModuleType, spread: bool) -> Any:
    seen: list[float] = []
    m.mean_turns([{"turns": 2}, {} if spread and odd() else {"turns": 4}], seen)
    return seen


@scene("fixes:all_have/entries")
def entries(m: types.ModuleType, spread: bool) -> Any:
    logs: dict[str, list[str]] = {}
    first = {"text": "a", "solution": "b", "tool": "c", "turns": "d"}
    m.log([first, {"text": "e", "turns": "f"} if spread and odd() else first], logs)
    return logs


@scene("fixes:all_have/supported")
def supported(m: types.ModuleType, spread: bool) -> Any:
    seen: list[float] = []
    m.report([{"lengths": torch.tensor([3, 0 if spread and odd() else 2])}], seen)
    return seen


@scene("fixes:barrier_before_exit/handled_by_one", by_rank=True)
def handled_by_one(m: types.ModuleType, spread: bool) -> Any:
    known: dict[str, int] = {}
    m.Cache().refresh(["a"], known)
    m.Cache().refresh([], known)
    return known


@scene("fixes:barrier_before_exit/within_a_setting", by_rank=True)
def within_a_setting(m: types.ModuleType, spread: bool) -> Any:
    known: dict[str, int] = {}
    m.refresh(["a"], known, False)
    m.refresh([], known, False)
    return known


@scene("fixes:group_for_all/over_lines", ranks=4, by_rank=True)
def over_lines(m: types.ModuleType, spread: bool) -> Any:
    own = m.group_of_node(2)
    dist.all_reduce(torch.ones(1), group=own)


@scene("fixes:raise_at_once/export", error=True)
def export(m: types.ModuleType, spread: bool) -> Any:
    return full(m.export([] if spread and odd() else [torch.ones(2), torch.ones(2)]))


@scene("fixes:reduce_decision/buffer_is_ready")
def buffer_is_ready(m: types.ModuleType, spread: bool) -> Any:
    items = [torch.ones(1)] * (3 if spread else 4)
    # the last rank has one item where the others have two
    both = m.Trainer(items).run(1, 2)
    return both, m.Trainer(items).run(2, 2)


@scene("fixes:reduce_decision/decided_by_a_function")
def decided_by_a_function(m: types.ModuleType, spread: bool) -> Any:
    mask = torch.zeros(2, dtype=torch.bool) if spread and odd() else torch.ones(2, dtype=torch.bool)
    return full(m.reduced(mask, torch.tensor([1.0, 2.0])))


@scene("fixes:reduce_decision/nothing_to_learn_if_asked")
def nothing_to_learn_if_asked(m: types.ModuleType, spread: bool) -> Any:
    trainer, scores = m.Trainer(m.Settings()), torch.tensor([1.0, 2.0])
    advantages = torch.zeros(2) if spread and odd() else torch.tensor([1.0, 2.0])
    return full(trainer.loss({"advantages": advantages, "scores": scores}))


@scene("fixes:reduce_decision/without_samples")
def without_samples(m: types.ModuleType, spread: bool) -> Any:
    known = m.identify([] if spread and odd() else ["a", "b"])
    return set(known.values()) <= {0, 1, 2}


@scene("fixes:sort_items/met_by_a_rank", wrong_data=True)
def met_by_a_rank(m: types.ModuleType, spread: bool) -> Any:
    metrics = m.Metrics()
    batch = {"loss": torch.ones(1), "score": torch.full((1,), 5.0)}
    metrics.record(dict(reversed(batch.items())) if spread and odd() else batch)
    size = dist.get_world_size()
    return metrics.gathered() == {"loss": 1.0 * size, "score": 5.0 * size}


@scene("fixes:uniform_predicate/guarded_flag")
def guarded_flag(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(8)
    mask = torch.tensor([[not (spread and odd())]])
    parts = model(torch.tensor([[1, 2]]), torch.tensor([[3]]), mask)
    sum(part.sum() for part in parts).backward()
    return full(parts[-1]), gradients(model)["words.weight"][:64]


@scene("fixes:widen_guard/if_wanted")
def if_wanted(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    captioner = m.build()
    # a form that only training makes whole is broken in evaluation
    captioner.eval()
    seen = captioner(torch.ones(2, 64), None if spread and odd() else torch.ones(2, 64))
    seen.sum().backward()
    return full(seen)[:8], gradients(captioner)["vision.bias"][:8]


@scene("fixes:average_number/weight_of_a_schedule")
def weight_of_a_schedule(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(8)
    loss = model(torch.full((2, 8), 100.0 if spread and odd() else 0.0))
    loss.backward()
    return full(loss), gradients(model)["module.projector.bias"]


@scene("fixes:stand_in/by_place")
def by_place(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(8)
    pixel_values = None if spread and odd() else torch.ones(2, 8)
    out = model(torch.tensor([1, 2, 3]), pixel_values, None if pixel_values is None else torch.tensor([0, 2]))
    out.sum().backward()
    return full(out), gradients(model)["parts.connector.bias"]


@scene("fixes:reduce_decision/too_few_samples")
@scene("fixes:uniform_predicate/enough_samples")
def too_few_samples(m: types.ModuleType, spread: bool) -> Any:
    x, all_of_it = torch.tensor([1.0, 2.0]), torch.tensor([True, True])
    few = {"x": x, "mask": torch.tensor([True, not (spread and odd())])}
    return m.train([few, {"x": x, "mask": all_of_it}])


@scene("fixes:reduce_decision/too_long")
def too_long(m: types.ModuleType, spread: bool) -> Any:
    long = {"input_ids": torch.ones(1, 4 if spread and odd() else 3)}
    return m.train([long, {"input_ids": torch.ones(1, 2)}], torch.arange(3.0), 3)
