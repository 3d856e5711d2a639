import torch
import torch.distributed as dist


def mean(values: torch.Tensor) -> torch.Tensor:
    total = values * 1
    dist.all_reduce(total)
    return total


def report(values: torch.Tensor, shown: list[float]) -> None:
    if dist.get_rank() == 0:
        average = mean(values)
        shown.append(average.item())


def example() -> list[float]:
    shown: list[float] = []
    report(torch.tensor([3.0]), shown)
    return shown
