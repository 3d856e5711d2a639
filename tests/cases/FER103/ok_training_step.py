"""A step of Lightning whose loss counts nothing where it has jumped: the backward pass is run on every rank."""

import lightning.pytorch as pl
import torch
from torch import nn


class Regressor(pl.LightningModule):
    def __init__(self, model: nn.Module, factor: float) -> None:
        super().__init__()
        self.model = model
        self.factor = factor
        self.mean: torch.Tensor | None = None

    def training_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> torch.Tensor | None:
        loss = nn.functional.mse_loss(self.model(batch["inputs"]), batch["targets"])
        now = loss.detach()
        if self.mean is not None and now > self.factor * self.mean:
            return loss * 0.0
        self.mean = now if self.mean is None else 0.9 * self.mean + 0.1 * now
        return loss
