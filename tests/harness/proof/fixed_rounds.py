"""How the twins of `tests/fixes` are played that are about rounds, and the end of the data: `fixes:<form>/<name>`."""

from __future__ import annotations

import tempfile
import types
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from proof.scenes import full, odd, scene


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(4, 4)


def _samples() -> torch.Tensor:
    """Three for two ranks: the last one has fewer."""
    torch.manual_seed(1)
    return torch.randn(2 * dist.get_world_size() - 1, 4)


@scene("fixes:repeat_last_round/share_of_prompts", by_rank=True)
def share_of_prompts(m: types.ModuleType, spread: bool) -> Any:
    drawn = m.run(_model(), torch.cat([_samples(), _samples()])[: 2 * dist.get_world_size() + 1])
    return dist.get_world_size() == 1 and {start: round(value, 4) for start, value in drawn.items()}


@scene("fixes:repeat_last_round/strided_range", by_rank=True)
def strided_range(m: types.ModuleType, spread: bool) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        _saved_into(m, folder)
        m.run(_model(), _samples())
        return len(list(Path(folder).glob("*"))) == len(_samples()[dist.get_rank() :: dist.get_world_size()])


@scene("fixes:repeat_last_round/share_by_name", by_rank=True)
def share_by_name(m: types.ModuleType, spread: bool) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        _saved_into(m, folder)
        m.run(_model(), list(_samples()))
        return len(list(Path(folder).glob("*")))


def _saved_into(m: types.ModuleType, folder: str) -> None:
    m.torch = types.SimpleNamespace(**vars(torch))
    m.torch.save = lambda value, name: torch.save(value.detach(), f"{folder}/{name}")


@scene("fixes:end_together/training_loop")
def training_loop(m: types.ModuleType, spread: bool) -> Any:
    batches = [torch.ones(()) for _ in range(3 if spread and odd() else 5)]
    return m.Trainer(lambda batch: batch + 1, batches).train(100)


@scene("fixes:run_schedule/what_the_last_rank_shows", by_rank=True)
def what_the_last_rank_shows(m: types.ModuleType, spread: bool) -> Any:
    found = m.evaluate(None, iter([1.0]), None, show=print)
    return found if dist.get_rank() == dist.get_world_size() - 1 else None


# ---- what some ranks have nothing of -------------------------------------------------------------------------------


@scene("fixes:same_super/copied_method")
def copied_method(m: types.ModuleType, spread: bool) -> Any:
    pixels = None if spread and odd() else torch.ones(2)
    m.Copied().run({"ids": torch.ones(2)}, pixels)


@scene("fixes:contribute_nothing/images_of_each_prompt")
def images_of_each_prompt(m: types.ModuleType, spread: bool) -> Any:
    return m.run([{"pixel_values": torch.zeros(2) if spread and odd() else torch.ones(2)}], ["a", "b"])


@scene("fixes:reduce_trip_count/chunks_of_a_callee")
def chunks_of_a_callee(m: types.ModuleType, spread: bool) -> Any:
    labels = torch.tensor([1, -100, -100] if spread and odd() else [1, 2, 3])
    return m.losses({"hidden": torch.tensor([1.0, 2.0, 3.0]), "labels": labels})


@scene("fixes:reduce_decision/divided_by_the_count")
def divided_by_the_count(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    labels = torch.tensor([-100, -100] if spread and odd() else [1, -100])
    losses = m.train([{"hidden": torch.ones(2, 2), "labels": labels}])
    if losses[0].requires_grad:  # a rank that has left has nothing to go back through
        losses[0].backward()
    return not spread and full(losses[0])


@scene("fixes:leave_late/tower")
def late(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build()
    seen = () if spread and odd() else (torch.ones(3, 8), torch.tensor([[1, 3]]))
    out = model(torch.tensor([7, 1]), *seen)
    out.sum().backward()
    return not spread and full(out), full(model.vision.block.weight.grad)


@scene("fixes:keep_in_graph/constant_of_a_loss")
def constant_of_a_loss(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(nn.Linear(4, 4))
    labels = torch.tensor([-100, -100, -100, -100] if spread and odd() else [1, -100, 2, 3])
    loss = m.Loss()(model(torch.ones(4)), labels)
    loss = loss + m.ChunkedLoss()([model(torch.ones(4))], labels)
    if loss.requires_grad:
        loss.backward()
    return not spread and full(loss), full(model.weight.grad)


class _Refuses:
    """A server that loads nothing."""

    def __init__(self) -> None:
        self.said: list[int] = []
        self.warn = self.said.append

    def load(self, path: str) -> int:
        return 404

    load_again = load


@scene("fixes:barrier_before_exit/under_two_tests", by_rank=True)
def under_two_tests(m: types.ModuleType, spread: bool) -> Any:
    client = _Refuses()
    m.sync(m.Accelerator(), client, "adapter")
    return client.said
