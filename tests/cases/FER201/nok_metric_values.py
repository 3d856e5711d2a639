"""Values for a metric, gathered by accelerate; losses and parts that a helper stacks or joins, and reduces."""

import torch
import torch.distributed as dist
from accelerate import Accelerator


def accuracy(accelerator: Accelerator, batch: dict[str, torch.Tensor], predictions: torch.Tensor) -> float:
    correct = (predictions == batch["labels"])[batch["labels"] != -100]
    every = accelerator.gather(correct.float())  # error: FER201
    return every.mean().item()


def reduce_entries(losses: dict[str, torch.Tensor]) -> torch.Tensor:
    stacked = torch.stack(list(losses.values()))
    dist.all_reduce(stacked)
    return stacked


def entries_of_some(batch: dict[str, torch.Tensor], outputs: torch.Tensor) -> torch.Tensor:
    losses = {"all": outputs.mean()}
    known = batch["labels"] != -100
    if known.any():
        losses["known"] = outputs[known].mean()
    return reduce_entries(losses)  # error: FER201


def reduce_parts(parts: list[torch.Tensor]) -> None:
    dist.all_reduce(torch.cat(parts))


def parts_of_some(batch: dict[str, torch.Tensor], outputs: torch.Tensor) -> None:
    parts = [outputs.mean(dim=0)]
    known = batch["labels"] != -100
    if known.any():
        parts.append(outputs.sum(dim=0))
    reduce_parts(parts)  # error: FER201


def mean_of_each(batch: dict[str, torch.Tensor], outputs: torch.Tensor) -> None:
    rows = [outputs.mean(dim=0)]
    known = batch["labels"] != -100
    if known.any():
        rows.append(outputs.sum(dim=0))
    dist.all_reduce(torch.stack(rows).mean(dim=1))  # error: FER201
