from accelerate import Accelerator


def rewards(accelerator: Accelerator, model, batch: dict) -> float:
    values = model(**batch).rewards
    chosen = values[batch["mask"].bool()]
    return accelerator.gather(chosen.detach()).nanmean().item()
