import torch
import torch.distributed as dist


def gather(value: torch.Tensor) -> list[float]:
    dist.all_reduce(value)
    return value.tolist()


def report(batch: dict[str, torch.Tensor]) -> list[float]:
    said: list[float] = []
    if batch["mask"].any():
        said.append(1.0)
        total = batch["x"] * 2
        said += gather(total)
    return said


def example() -> list[list[float]]:
    some = {"x": torch.tensor([1.0, 2.0]), "mask": torch.tensor([0, 1])}
    none = {"x": torch.tensor([3.0, 4.0]), "mask": torch.tensor([0, 0])}
    return [report(some), report(none)]
