import torch.distributed as dist


def halves() -> object:
    if dist.get_rank() < 4:
        group = dist.new_group([0, 1, 2, 3])  # the first four
    else:
        group = dist.new_group([4, 5, 6, 7])
    return group


def example() -> object:
    return halves()
