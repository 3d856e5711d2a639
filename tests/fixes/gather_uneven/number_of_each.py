"""A number is made of each rank's tensor: those are of one size."""

import torch
import torch.distributed as dist


def sums(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    valid = batch["scores"][batch["mask"].bool()]
    out = [torch.zeros_like(valid) for _ in range(dist.get_world_size())]
    dist.all_gather(out, valid)
    return torch.stack([part.sum() for part in out])


def example() -> list[float]:
    return sums({"scores": torch.tensor([1.0, 2.0, 6.0]), "mask": torch.tensor([True, False, True])}).tolist()
