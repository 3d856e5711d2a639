import torch
import torch.distributed as dist


def train(loader, model) -> None:
    for batch in loader:
        bad = model(batch).isnan().any().int()
        dist.all_reduce(bad, op=dist.ReduceOp.MAX)
        if bad.item():  # ferrule: ignore[FER102] seen on one rank only  # error: FER002
            dist.barrier()
