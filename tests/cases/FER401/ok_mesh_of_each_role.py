"""Both make the same mesh."""

from torch.distributed.device_mesh import DeviceMesh


def make(rank: int, trainers: int, world_size: int) -> DeviceMesh:
    if rank < trainers:
        print("training")
        return DeviceMesh("cuda", list(range(world_size)))
    return DeviceMesh("cuda", list(range(world_size)))
