import torch
import torch.distributed as dist


def scaled(tensor: torch.Tensor) -> None:
    tensor.data = tensor.data * 2.0


def finish(values: torch.Tensor) -> None:
    if dist.get_rank() == 0:
        scaled(values)
        dist.all_reduce(values)
        print(values)
