"""Reduced, not gathered: sums of tensors of different sizes have no meaning that could be guessed."""

from accelerate import Accelerator


def evaluate(accelerator: Accelerator, batch: dict) -> object:
    return accelerator.reduce(batch["labels"][..., 1:])
