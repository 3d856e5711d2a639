import torch
import torch.distributed as dist


def finish(loss: torch.Tensor, parts: list[torch.Tensor]) -> None:
    if dist.get_rank() == 0:
        loss = torch.stack(sorted(parts)).mean()
        dist.all_reduce(loss)
        print(loss)
