"""What is asked second is only there because of the return above it: each is asked where it stands."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Captioner(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.vision = nn.Linear(1024, width)
        self.sound = nn.Linear(80, width)

    def forward(self, hidden: torch.Tensor, image_mask: torch.Tensor, sound_mask: torch.Tensor | None) -> torch.Tensor:
        if image_mask.any():
            hidden = hidden + self.vision(hidden)
        if self.quiet:
            return hidden
        if sound_mask.any():
            hidden = hidden + self.sound(hidden)
        return hidden


def build(width: int) -> Captioner:
    model = Captioner(width)
    fully_shard(model.vision)
    fully_shard(model.sound)
    fully_shard(model)
    return model
