import torch
import torch.distributed as dist


def count(labels: torch.Tensor, seen: list[float]) -> None:
    valid = (labels != -100).sum()
    if not (valid > 0):
        return
    total = torch.tensor([float(valid.item())])
    dist.all_reduce(total)
    seen.append(total.item())


def fit(loader: torch.utils.data.DataLoader) -> list[float]:
    seen: list[float] = []
    for batch in loader:
        count(batch["labels"], seen)
    return seen


def example() -> list[float]:
    seen: list[float] = []
    count(torch.tensor([1, -100, 2]), seen)
    return seen
