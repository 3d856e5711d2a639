"""Two forwards and a loop of them in one branch; None guards go with the calls, the bookkeeping stays."""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Prefix(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, width)
        self.vision = nn.Linear(width, width)

    @torch.no_grad()
    def prefix(
        self,
        response: torch.Tensor | None,
        cameras: list[torch.Tensor] | None,
        masks: list[torch.Tensor],
        batch: dict[str, torch.Tensor],
    ) -> list[torch.Tensor]:
        parts: list[torch.Tensor] = []
        kept: list[torch.Tensor] = []
        # the response, if there is one
        if response is not None and batch["response_mask"].any():
            response_emb = self.words(response)
            parts.append(response_emb)
            kept.append(batch["response_mask"])

        if cameras is not None and batch["image_mask"].any():  # of any camera
            first = torch.full((1, 3), 7)

            # opens the block
            first_emb = self.words(first)
            parts.append(first_emb)
            for image, mask in zip(cameras, masks, strict=True):
                image_emb = self.vision(image)
                parts.append(image_emb)
                kept.append(mask)
            parts.append(self.words(first + 1))
        return parts + kept


def build(width: int) -> Prefix:
    model = Prefix(width)
    fully_shard(model.words)
    fully_shard(model.vision)
    fully_shard(model)
    return model
