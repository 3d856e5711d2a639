"""More than so much may need this way, and may be all that can take it: it is not told which."""

import torch
import torch.distributed as dist


def train(loader: torch.utils.data.DataLoader, most: int) -> None:
    for batch in loader:
        kept = batch["x"][batch["mask"]]
        if kept.numel() > most:
            compressed = kept.half().sum()
            dist.all_reduce(compressed)
            batch["sum"] = compressed
