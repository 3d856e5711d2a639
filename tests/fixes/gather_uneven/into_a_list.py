import torch
import torch.distributed as dist


def gather_valid(batch: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    valid = batch["scores"][batch["mask"].bool()]
    out = [torch.empty_like(valid) for _ in range(dist.get_world_size())]
    dist.all_gather(out, valid)  # from all ranks
    return out


def example() -> list[list[float]]:
    batch = {"scores": torch.tensor([1.0, 2.0, 6.0]), "mask": torch.tensor([True, False, True])}
    return [gather_valid(batch)[0].tolist()]
