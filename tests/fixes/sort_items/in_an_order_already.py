"""What has an order of its own keeps it: the rest of the order is what lacks."""

import torch
import torch.distributed as dist


def reduce_metrics(metrics: dict[str, torch.Tensor], names: list[str]) -> list[str]:
    keys = set(names)
    keys.update(metrics)
    keys = sorted(keys, key=lambda key: 0 if "norm" in key else 1)
    for key in keys:
        dist.all_reduce(metrics[key])
    return [key for key in keys if "norm" in key]


def example() -> list[str]:
    return reduce_metrics({"a/norm": torch.tensor([1.0]), "b": torch.tensor([2.0])}, ["b"])
