import torch
import torch.distributed as dist


def report(value: float, shown: list[float]) -> None:
    first = dist.get_rank() == 0
    if first:
        total = torch.tensor([value])
        dist.all_reduce(total)
        shown.append(total.item())


def example() -> list[float]:
    shown: list[float] = []
    report(2.0, shown)
    return shown
