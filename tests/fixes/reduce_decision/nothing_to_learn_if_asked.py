"""A batch from which nothing can be learned is left out, if a setting says so: by all ranks, if all have such a one."""

from dataclasses import dataclass

import torch
import torch.distributed as dist


# ----------------------------------------
# Settings
# ----------------------------------------


@dataclass
class Settings:
    skip_empty: bool = True


class Trainer:
    def __init__(self, args: Settings) -> None:
        self.args = args

    def loss(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        if self.args.skip_empty and torch.all(
            inputs["advantages"] == 0
        ):
            return torch.zeros(1)
        total = (inputs["advantages"] * inputs["scores"]).sum().reshape(1)
        dist.all_reduce(total)
        return total


def fit(trainer: Trainer, loader: torch.utils.data.DataLoader) -> list[torch.Tensor]:
    return [trainer.loss(batch) for batch in loader]
