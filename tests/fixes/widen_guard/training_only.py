import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Captioner(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.vision = nn.Linear(width, width)
        self.text = nn.Linear(width, width)

    def forward(
        self, input_ids: torch.Tensor, pixel_values: torch.Tensor | None, video_values: torch.Tensor | None
    ) -> torch.Tensor:
        hidden = self.text(input_ids)
        if pixel_values is not None:
            hidden = hidden + self.vision(pixel_values)
        if video_values is not None:
            hidden = hidden + self.vision(video_values)
        if self.training and pixel_values is None and video_values is None:  # text only
            hidden += 0.0 * self.vision(torch.zeros_like(hidden))
        return hidden


class Speaker(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.audio = nn.Linear(width, width)
        self.text = nn.Linear(width, width)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        hidden = self.text(batch["input_ids"])
        if "input_features" in batch:
            hidden = hidden + self.audio(batch["input_features"])
        # else there is nothing to hear
        elif self.training:
            hidden = hidden + self.audio(torch.zeros_like(hidden)) * 0
        return hidden


def build() -> list[nn.Module]:
    return [fully_shard(Captioner(64)), fully_shard(Speaker(64))]
