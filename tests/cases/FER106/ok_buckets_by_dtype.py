"""One reduction for each dtype: dtypes hash by address."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters: list[torch.nn.Parameter]) -> None:
    dtypes = sorted({parameter.grad.dtype for parameter in parameters}, key=str)
    for dtype in dtypes:
        flat = torch.cat([p.grad.flatten() for p in parameters if p.grad.dtype == dtype])
        dist.all_reduce(flat)
