import torch
import torch.distributed as dist


def pass_on(block: torch.Tensor, cp_group: dist.ProcessGroup) -> None:
    place = dist.get_rank(cp_group)
    size = dist.get_world_size(cp_group)
    if place:
        dist.recv(block, src=place - 1, group=cp_group)
    if place + 1 < size:
        dist.send(block, dst=place + 1, group=cp_group)


def share(tensor: torch.Tensor, tp_group: dist.ProcessGroup) -> None:
    dist.broadcast(tensor, group_src=dist.get_rank() // 8 * 8, group=tp_group)  # of the host
