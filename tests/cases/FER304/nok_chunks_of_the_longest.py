"""All ranks run as many chunks as the one with most, and those without a chunk of their own leave its loss out."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


def build(model: nn.Module) -> nn.Module:
    return fully_shard(model)


class Trainer:
    def __init__(self, chunk: int) -> None:
        self.chunk = chunk

    def loss_of(self, model: nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        logits = model(inputs["input_ids"])
        return nn.functional.cross_entropy(logits, inputs["labels"])

    def compute_loss(self, model: nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        batch_size = inputs["input_ids"].shape[0]
        sizes: list[int] = [0] * dist.get_world_size()
        dist.all_gather_object(sizes, batch_size)
        losses = []
        part = inputs
        for i in range((max(sizes) + self.chunk - 1) // self.chunk):
            start = i * self.chunk
            if start < batch_size:
                part = {key: value[start : start + self.chunk] for key, value in inputs.items()}
            loss = self.loss_of(model, part)  # error: FER304
            if start < batch_size:
                losses.append(loss)
        return torch.stack(losses).sum()
