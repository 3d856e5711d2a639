"""A norm of which a rank has no part: it brings zero."""

from collections.abc import Iterable

import torch
import torch.distributed as dist


def total_norm(parameters: Iterable[torch.nn.Parameter], group: dist.ProcessGroup) -> torch.Tensor:
    gradients = [p.grad.detach() for p in parameters if p.grad is not None]
    total = torch.zeros(())
    if len(gradients) > 0:
        total = torch.sum(torch.stack([g.float().norm() ** 2 for g in gradients]))
    dist.all_reduce(total, group=group)
    return total.sqrt()
