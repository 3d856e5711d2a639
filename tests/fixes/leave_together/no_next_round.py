import torch
import torch.distributed as dist


def train(losses: list[torch.Tensor]) -> None:
    for loss in losses:
        if dist.get_rank() == 0:
            print(loss)
            if loss.sum() > 3.0:
                continue
        dist.all_reduce(loss)
