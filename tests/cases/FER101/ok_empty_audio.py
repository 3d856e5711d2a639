"""An encoder behind a method, run where this rank has clips."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Listener(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(80, 32)
        self.head = nn.Linear(32, 10)

    def encode(self, clips: torch.Tensor) -> torch.Tensor:
        return self.encoder(clips).mean(dim=1)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        clips = batch["clips"][batch["lengths"] > 0]
        hidden = batch["context"]
        if clips.numel() > 0:
            hidden = hidden + self.encode(clips).sum(0)
        else:
            silence = torch.zeros(1, 1, 80, device=hidden.device)
            hidden = hidden + 0.0 * self.encode(silence).sum(0)
        return self.head(hidden)


def build() -> Listener:
    model = Listener()
    fully_shard(model.encoder)
    fully_shard(model.head)
    fully_shard(model)
    return model
