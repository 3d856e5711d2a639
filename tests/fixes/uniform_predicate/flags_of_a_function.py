"""Flags, tests that ask the same again, a flag made of flags: one reduction for all of them."""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Prefix(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, width)

    def forward(
        self,
        input_ids: torch.Tensor,
        response: torch.Tensor | None,
        response_mask: torch.Tensor | None,
        images: list[torch.Tensor],
        image_mask: list[torch.Tensor],
    ) -> list[torch.Tensor]:
        has_response = response is not None and response_mask is not None and bool(response_mask.any())
        has_images = bool(images) and bool(image_mask) and any(bool(m.any()) for m in image_mask)
        has_any = bool(has_response or has_images)
        parts = [self.words(input_ids)]
        # the response, if there is one
        if response is not None and response_mask is not None and response_mask.any():
            parts.append(self.words(response))
        if has_any:
            parts.append(self.words(input_ids[:, :1]))
        if images and any(mask.any() for mask in image_mask):
            for image in images:
                parts.append(self.words(image))
        return parts


def build(width: int) -> Prefix:
    model = Prefix(width)
    fully_shard(model.words)
    fully_shard(model)
    return model
