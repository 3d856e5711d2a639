import torch.distributed as dist


def finish() -> None:
    if dist.get_rank() == 0:
        print(1)
        dist.barrier()
        print(2)
        dist.barrier()
        print(3)
        dist.barrier()
        print(4)
        dist.barrier()
        print(5)
