import torch
import torch.distributed as dist


def train(batches: list[dict[str, torch.Tensor]], limit: float) -> None:
    for batch in batches:
        divergence = batch["x"].abs().mean()
        if divergence > 1.5 * limit:
            continue
        dist.all_reduce(divergence)


def fit(loader: torch.utils.data.DataLoader) -> None:
    train(list(loader), 2.0)
