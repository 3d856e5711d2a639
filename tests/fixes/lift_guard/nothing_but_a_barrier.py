import torch.distributed as dist


def finish(values: list[int]) -> int:
    total = sum(values)
    if dist.get_rank() == 0:
        dist.barrier()
    return total


def example() -> list[int]:
    return [finish([1, 2, 3])]
