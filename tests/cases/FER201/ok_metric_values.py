"""Values for a metric, gathered by accelerate; losses and parts that a helper stacks or joins, and reduces."""

import torch
import torch.distributed as dist
from accelerate import Accelerator


def accuracy(accelerator: Accelerator, batch: dict[str, torch.Tensor], predictions: torch.Tensor) -> float:
    correct = (predictions == batch["labels"])[batch["labels"] != -100]
    every = accelerator.gather(torch.stack([correct.float().sum(), torch.tensor(float(correct.numel()))]))
    return every.mean().item()


def reduce_entries(losses: dict[str, torch.Tensor]) -> torch.Tensor:
    stacked = torch.stack(list(losses.values()))
    dist.all_reduce(stacked)
    return stacked


def entries_of_all(batch: dict[str, torch.Tensor], outputs: torch.Tensor) -> torch.Tensor:
    losses = {"all": outputs.mean()}
    known = batch["labels"] != -100
    if known.any():
        losses["known"] = outputs[known].mean()
    else:
        losses["known"] = outputs.sum() * 0
    return reduce_entries(losses)


def reduce_named(losses: dict[str, torch.Tensor]) -> None:
    dist.all_reduce(torch.stack([losses[name] for name in NAMES]))


def entries_by_name(batch: dict[str, torch.Tensor], outputs: torch.Tensor) -> None:
    losses = {"all": outputs.mean(), "known": outputs.sum() * 0}
    known = batch["labels"] != -100
    if known.any():
        losses["more"] = outputs[known].mean()
    reduce_named(losses)


def reduce_mean(rows: list[torch.Tensor]) -> None:
    dist.all_reduce(torch.stack(rows).mean(dim=0))


def mean_of_some(batch: dict[str, torch.Tensor], outputs: torch.Tensor) -> None:
    rows = [outputs.mean(dim=0)]
    known = batch["labels"] != -100
    if known.any():
        rows.append(outputs.sum(dim=0))
    reduce_mean(rows)
    dist.all_reduce(torch.stack(rows).mean(dim=0))


def gather_as_object(rows: list[torch.Tensor], ranks: int) -> list[object]:
    everywhere: list[object] = [None] * ranks
    dist.all_gather_object(everywhere, torch.stack(rows))
    return everywhere


def objects_of_some(batch: dict[str, torch.Tensor], outputs: torch.Tensor) -> list[object]:
    rows = [outputs.mean(dim=0)]
    known = batch["labels"] != -100
    if known.any():
        rows.append(outputs.sum(dim=0))
    return gather_as_object(rows, dist.get_world_size())
