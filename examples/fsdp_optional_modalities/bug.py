"""A policy whose prompt has optional parts: each is embedded only where this rank's batch has it."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader

WIDTH = 64
VOCABULARY = 1000
ACTIONS = 7


class ImageTower(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Linear(48, WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.mix(torch.relu(self.patches(images)))


class Policy(nn.Module):
    """Attends to a prompt of language, and of a subgoal image and metadata where a sample has them."""

    def __init__(self, drop: float) -> None:
        super().__init__()
        self.drop = drop
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.tower = ImageTower()
        self.metadata = nn.Linear(4, WIDTH)
        self.head = nn.Linear(WIDTH, ACTIONS)

    def keep(self, mask: torch.Tensor) -> torch.Tensor:
        """Drop an optional part of some samples, so that the policy learns to do without."""
        if not self.training:
            return mask
        return mask & (torch.rand(mask.shape, device=mask.device) >= self.drop)

    def embed_prefix(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        prefix = self.words(batch["input_ids"]).mean(dim=1)
        subgoal_mask = self.keep(batch["subgoal_mask"])
        metadata_mask = self.keep(batch["metadata_mask"])
        if subgoal_mask.any():
            subgoal = self.tower(batch["subgoal_images"]).mean(dim=1)
            prefix = prefix + subgoal * subgoal_mask.unsqueeze(-1)
        if metadata_mask.any():
            prefix = prefix + self.metadata(batch["metadata"]) * metadata_mask.unsqueeze(-1)
        return prefix

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.head(self.embed_prefix(batch))


def build(drop: float = 0.3) -> Policy:
    policy = Policy(drop)
    for part in (policy.words, policy.tower, policy.metadata, policy.head):
        fully_shard(part)
    fully_shard(policy)
    return policy


def train(loader: DataLoader, steps: int) -> None:
    policy = build()
    optimizer = torch.optim.AdamW(policy.parameters())
    for _, batch in zip(range(steps), loader):
        loss = nn.functional.mse_loss(policy(batch), batch["actions"])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
