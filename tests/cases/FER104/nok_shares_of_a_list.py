import math

import torch
import torch.distributed as dist


def blocks(items, n):
    size = math.ceil(len(items) / n)
    return [items[i : i + size] for i in range(0, len(items), size)]


def in_turn(items, ranks, rank):
    return items[rank::ranks]


def blocks_of_a_list(items, x: torch.Tensor) -> None:
    for _ in blocks(items, dist.get_world_size())[dist.get_rank()]:
        dist.all_reduce(x)  # error: FER104


def helped(items, x: torch.Tensor) -> None:
    for _ in in_turn(items, dist.get_world_size(), dist.get_rank()):
        dist.all_reduce(x)  # error: FER104


def filled_up_by_another(items, others, x: torch.Tensor) -> None:
    rank, world = dist.get_rank(), dist.get_world_size()
    items = items + items[: -len(others) % world]
    for _ in items[rank::world]:
        dist.all_reduce(x)  # error: FER104


def up_to_the_end(items, x: torch.Tensor) -> None:
    rank, world = dist.get_rank(), dist.get_world_size()
    n = math.ceil(len(items) / world)
    for _ in range(rank * n, min((rank + 1) * n, len(items))):
        dist.all_reduce(x)  # error: FER104


def cut_to_a_size(items, x: torch.Tensor, size: int) -> None:
    for _ in items[dist.get_rank() :: dist.get_world_size()][:size]:
        dist.all_reduce(x)  # error: FER104
