"""A mask is no number, whatever loss it is for."""

import torch
import torch.distributed as dist


def log_loss(losses: torch.Tensor, batch: dict[str, torch.Tensor], log: list[float]) -> None:
    if batch["loss_mask"].max() > 0:
        loss = (losses * batch["loss_mask"]).sum()
        dist.all_reduce(loss)
        log.append(loss.item())


def train(loader: torch.utils.data.DataLoader) -> list[float]:
    log: list[float] = []
    for batch in loader:
        log_loss(batch["losses"], batch, log)
    return log
