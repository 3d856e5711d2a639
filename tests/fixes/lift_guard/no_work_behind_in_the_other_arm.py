import torch.distributed as dist


def prepare(said: list[str]) -> None:
    if dist.get_rank() == 0:
        said.append("work")
    else:
        dist.barrier()
        said.append("read what the first rank wrote")
