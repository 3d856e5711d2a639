import torch.distributed as dist


def wait(turns: int, name: str) -> list[str]:
    said = []
    for turn in range(turns):
        if dist.get_rank() != 0:
            continue
        path = str(turn)
        dist.barrier()
        said.append(name + path)
    return said


def example() -> list[str]:
    return wait(3, "turn ")
