import torch
import torch.distributed as dist


def report(values: list[float], shown: list[float]) -> None:
    # only the first rank shows it
    if dist.get_rank() != 0:
        return
    total = torch.tensor([float(len(values))])
    dist.all_reduce(total)
    shown.append(total.item())


def example() -> list[float]:
    shown: list[float] = []
    report([1.0, 2.0], shown)
    return shown
