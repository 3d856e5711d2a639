"""How many tokens a rank has is no mean of anything."""

import torch.distributed as dist
from torch.utils.data import DataLoader


def fit(loader: DataLoader) -> None:
    for batch in loader:
        loss_tokens = batch["labels"].ne(-100).sum().item()
        if loss_tokens > 100:
            dist.barrier()
            print("all here")
