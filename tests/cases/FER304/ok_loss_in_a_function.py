"""The loss of a function, whose masks a caller takes from the batch."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def wrap(module: nn.Module) -> nn.Module:
    return DistributedDataParallel(module)


def masked(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    valid = labels != -100
    if valid.sum() == 0:
        return logits.sum() * 0.0
    return nn.functional.cross_entropy(logits[valid], labels[valid])


def step(model: nn.Module, batch: dict[str, torch.Tensor]) -> None:
    loss = masked(model(batch["input_ids"]), batch["labels"])
    loss.backward()
