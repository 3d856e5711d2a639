"""A tower that runs where its input is there: two kinds of input, sizes that come with them, a merge by position, one at once."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Tower(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(4))

    def forward(self, patches: torch.Tensor, grid: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        for block in self.blocks:
            patches = block(patches)
        return patches, grid.prod(-1)


class Captioner(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, width)
        self.vision = Tower(width)
        self.audio = nn.Sequential(nn.Linear(width, width), nn.GELU())
        self.image_id = 7

    def forward(
        self, tokens, pixel_values=None, image_grid=None, pixel_values_videos=None, video_grid=None, audio=None
    ):
        embeds = self.words(tokens)

        if pixel_values is not None:
            pixel_values = pixel_values.to(embeds.dtype)
            # one row a patch
            features, counts = self.vision(pixel_values, image_grid)

            # into the places that were kept for them
            mask = (tokens == self.image_id).unsqueeze(-1).expand_as(embeds)
            embeds = embeds.masked_scatter(mask, features)

        if pixel_values_videos is not None and video_grid is not None:
            features, counts = self.vision(pixel_values_videos, video_grid)
            embeds = embeds + features.mean()  # of all frames
        if audio is not None:
            embeds = torch.cat([embeds, self.audio(audio)])
        return embeds


def build() -> nn.Module:
    return fully_shard(Captioner(32))
