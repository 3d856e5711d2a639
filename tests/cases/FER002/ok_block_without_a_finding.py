import torch.distributed as dist


def save(path: str) -> None:
    # ferrule: disable[FER102]
    if dist.get_rank() == 0:
        print(path)
        dist.barrier()
    # ferrule: enable[FER102]
