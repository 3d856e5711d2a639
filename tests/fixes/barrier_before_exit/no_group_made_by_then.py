import torch.distributed as dist


def save(values: list[float], write) -> None:
    group = None
    if dist.get_rank() == 0:
        write(values)
        return
    group = dist.new_group()
    dist.barrier(group)
