"""A vision tower under a test of the local batch."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


class Captioner(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, width)
        self.vision = nn.Linear(64, width)

    def forward(self, input_ids: torch.Tensor, images: torch.Tensor, image_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.words(input_ids)
        wanted = image_mask.any().int()
        dist.all_reduce(wanted, op=dist.ReduceOp.MAX)
        if wanted.item():
            hidden = hidden + self.vision(images)
        return hidden


def build(width: int) -> Captioner:
    model = Captioner(width)
    fully_shard(model.vision)
    fully_shard(model)
    return model
