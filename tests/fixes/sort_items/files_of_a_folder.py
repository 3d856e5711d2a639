import glob
import os

import torch
import torch.distributed as dist


def merge(folder: str) -> list[torch.Tensor]:
    merged = []
    for number, path in enumerate(glob.glob(f"{folder}/*.pt")):  # in parts
        print(number, path)
        shard = torch.load(path)
        dist.all_reduce(shard)
        merged.append(shard)
    return merged


def names(folder: str) -> list[str]:
    found = []
    for name in os.listdir(folder):
        dist.all_reduce(torch.tensor([len(name)]))
        found.append(name)
    return sorted(found)


def example() -> list[str]:
    return names(os.path.dirname(os.__file__))
