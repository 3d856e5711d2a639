"""Only the valid scores are gathered."""

import torch
import torch.distributed as dist


def gather(batch: dict[str, torch.Tensor], out: torch.Tensor) -> torch.Tensor:
    valid = batch["scores"][batch["mask"].bool()]
    dist.all_gather_into_tensor(out, valid)  # error: FER201
    return out
