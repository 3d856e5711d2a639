import torch.distributed as dist


def save(path: str) -> None:
    # ferrule: disable[FER102]  # error: FER002
    if dist.get_rank() == 0:
        print(path)
    # ferrule: enable[FER102]
    dist.barrier()
