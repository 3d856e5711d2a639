"""A return that seems to save work."""

import torch
import torch.distributed as dist


def mean_reward(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    rewards = batch["rewards"][batch["finished"].bool()]
    total = rewards.sum()
    count = torch.tensor(float(rewards.numel()))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count.clamp(min=1.0)
