import torch
import torch.distributed as dist


def train(loader, model) -> None:
    for batch in loader:
        bad = model(batch).isnan().any().int()
        if bad.item():  # ferrule: ignore[FER102] seen on one rank only
            dist.barrier()
