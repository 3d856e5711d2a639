"""The zeros would count."""

from accelerate import Accelerator


def rewards(accelerator: Accelerator, model, batch: dict) -> float:
    values = model(**batch).rewards
    chosen = values[batch["mask"].bool()]
    return accelerator.gather(chosen.detach()).mean().item()


def longest(accelerator: Accelerator, model, batch: dict) -> float:
    values = model(**batch).rewards
    chosen = values[batch["mask"].bool()]
    gathered = accelerator.gather(chosen.detach())
    return gathered.min().item()
