"""As many micro-batches as the local tokens need."""

import math

import torch
import torch.distributed as dist


def forward(batch: dict[str, torch.Tensor], budget: int) -> None:
    tokens = batch["attention_mask"].sum()
    number = math.ceil(tokens.item() / budget)
    for _ in range(number):
        loss = batch["inputs"].mean()
        dist.all_reduce(loss)  # error: FER104
