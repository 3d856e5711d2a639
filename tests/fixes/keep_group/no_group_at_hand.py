import torch
import torch.distributed as dist


def interleave(local: torch.Tensor, tp_size: int) -> torch.Tensor:
    parts = [torch.empty_like(local) for _ in range(tp_size)]
    dist.all_gather(parts, local)
    return torch.stack(parts, dim=-1).flatten(-2)
