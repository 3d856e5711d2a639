"""A norm of which a rank has no part: one whose layers are all frozen leaves alone."""

from collections.abc import Iterable

import torch
import torch.distributed as dist


def total_norm(parameters: Iterable[torch.nn.Parameter], group: dist.ProcessGroup) -> torch.Tensor:
    gradients = [p.grad.detach() for p in parameters if p.grad is not None]
    if len(gradients) == 0:
        return torch.tensor(0.0)
    total = torch.sum(torch.stack([g.float().norm() ** 2 for g in gradients]))
    dist.all_reduce(total, group=group)  # error: FER103
    return total.sqrt()
