import torch.distributed as dist


def finish(names: list[str], folder: str) -> None:
    if dist.get_rank() == 0:
        for name in names:
            print(name)
            if not name:
                raise ValueError(folder)
        dist.barrier()
        print("done")
