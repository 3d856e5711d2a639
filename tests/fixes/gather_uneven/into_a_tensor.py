import torch
import torch.distributed as dist


def gather_valid(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    valid = batch["scores"][batch["mask"].bool()]
    out = torch.empty(valid.numel() * dist.get_world_size())
    dist.all_gather_into_tensor(out, valid)
    return out


def example() -> list[float]:
    batch = {"scores": torch.tensor([1.0, 2.0, 6.0]), "mask": torch.tensor([True, False, True])}
    return gather_valid(batch).tolist()
