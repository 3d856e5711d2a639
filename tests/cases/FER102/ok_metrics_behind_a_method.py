"""A report built by rank 0 from metrics that reduce themselves."""

import torch
import torch.distributed as dist


class Mean:
    def __init__(self) -> None:
        self.total = torch.zeros(2)

    def add(self, value: torch.Tensor) -> None:
        self.total += torch.stack([value.sum(), torch.tensor(float(value.numel()))])

    def value(self) -> float:
        total = self.total.clone()
        dist.all_reduce(total)
        return (total[0] / total[1]).item()


class Aggregator:
    def __init__(self) -> None:
        self.means = {"loss": Mean(), "accuracy": Mean()}

    def summary(self) -> dict[str, float]:
        return {name: mean.value() for name, mean in self.means.items()}


def finish(aggregator: Aggregator) -> None:
    summary = aggregator.summary()
    if dist.get_rank() == 0:
        print(summary)
