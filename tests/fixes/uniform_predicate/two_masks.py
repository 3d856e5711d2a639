import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Captioner(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(32_000, width)
        self.vision = nn.Linear(1024, width)
        self.sound = nn.Linear(80, width)

    def forward(self, input_ids: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        hidden = self.words(input_ids)
        image_mask, sound_mask = batch["image_mask"], batch["sound_mask"]
        # images first
        if image_mask.any():
            hidden = hidden + self.vision(batch["images"]) * image_mask.unsqueeze(-1)
        if sound_mask.any():
            hidden = hidden + self.sound(batch["sounds"]) * sound_mask.unsqueeze(-1)
        return hidden


def build(width: int) -> Captioner:
    model = Captioner(width)
    fully_shard(model.vision)
    fully_shard(model.sound)
    fully_shard(model)
    return model
