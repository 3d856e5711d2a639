import math

import torch
import torch.distributed as dist


def blocks(items, n):
    size = len(items) // n
    return [items[i * size : (i + 1) * size] for i in range(n)]


def in_turn(items, ranks, rank):
    return items[rank::ranks]


def blocks_of_a_list(items, x: torch.Tensor) -> None:
    for _ in blocks(items, dist.get_world_size())[dist.get_rank()]:
        dist.all_reduce(x)


def helped(items, x: torch.Tensor) -> None:
    world = dist.get_world_size()
    items = items + items[: -len(items) % world]
    for _ in in_turn(items, world, dist.get_rank()):
        dist.all_reduce(x)


def filled_up_by_itself(items, others, x: torch.Tensor) -> None:
    rank, world = dist.get_rank(), dist.get_world_size()
    items = items + items[: -len(items) % world]
    for _ in items[rank::world]:
        dist.all_reduce(x)


def up_to_its_own_end(items, x: torch.Tensor) -> None:
    rank, world = dist.get_rank(), dist.get_world_size()
    n = math.ceil(len(items) / world)
    for _ in range(rank * n, (rank + 1) * n):
        dist.all_reduce(x)


def cut_to_what_all_have(items, x: torch.Tensor) -> None:
    world = dist.get_world_size()
    for _ in items[dist.get_rank() :: world][: len(items) // world]:
        dist.all_reduce(x)
