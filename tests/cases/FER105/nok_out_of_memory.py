"""Generation that does not fit is skipped on the rank where it does not fit."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def generate(model, loader: DataLoader) -> list:
    lengths = []
    for batch in loader:
        try:
            tokens = model(batch["prompt"])
        except RuntimeError as error:
            if "out of memory" in str(error):
                torch.cuda.empty_cache()
                continue
            raise
        everyone = [None] * dist.get_world_size()
        dist.all_gather_object(everyone, len(tokens))  # error: FER105
        lengths += everyone
    return lengths
