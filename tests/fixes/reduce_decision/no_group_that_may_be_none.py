"""Without a group nothing is reduced: asked of all ranks of the job, they would wait for those that do not come here."""

import torch
import torch.distributed as dist


def gradient_norm(parameters: list[torch.nn.Parameter], group: dist.ProcessGroup | None = None) -> float:
    grads = [one.grad.detach() for one in parameters if one.grad is not None]
    if len(grads) == 0:
        return 0.0
    total = torch.zeros(1)
    for grad in grads:
        total += grad.norm() ** 2
    if group is not None:
        dist.all_reduce(total, group=group)
    return float(total.item()) ** 0.5
