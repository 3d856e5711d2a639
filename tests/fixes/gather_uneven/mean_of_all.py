"""A mean of what a mask has chosen on all ranks: padding would count."""

import torch
from accelerate import Accelerator


def rewards(accelerator: Accelerator, batch: dict[str, torch.Tensor]) -> float:
    chosen = batch["values"][batch["mask"].bool()]
    return accelerator.gather(chosen.detach()).mean().item()
