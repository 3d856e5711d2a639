"""Trainers and the others each make a mesh of their own ranks."""

from torch.distributed.device_mesh import DeviceMesh


def make(rank: int, trainers: int, world_size: int) -> DeviceMesh:
    if rank < trainers:
        return DeviceMesh("cuda", list(range(trainers)))  # error: FER401
    return DeviceMesh("cuda", list(range(trainers, world_size)))
