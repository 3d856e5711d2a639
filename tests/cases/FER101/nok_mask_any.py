"""A vision tower under a test of the local batch."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Captioner(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, width)
        self.vision = nn.Linear(64, width)

    def forward(self, input_ids: torch.Tensor, images: torch.Tensor, image_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.words(input_ids)
        if image_mask.any():
            hidden = hidden + self.vision(images)  # error: FER101
        return hidden


def build(width: int) -> Captioner:
    model = Captioner(width)
    fully_shard(model.vision)
    fully_shard(model)
    return model
