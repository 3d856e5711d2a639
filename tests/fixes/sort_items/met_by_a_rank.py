"""A dict whose entries come in the order in which a rank meets them, gathered one by one."""

from collections import defaultdict

import torch
import torch.distributed as dist


class Metrics:
    def __init__(self) -> None:
        self.metrics: dict[str, list[torch.Tensor]] = defaultdict(list)

    def record(self, samples: dict[str, torch.Tensor]) -> None:
        for name, sample in samples.items():
            self.metrics[name].append(sample)

    def gathered(self) -> dict[str, float]:
        sums = {}
        for name, found in self.metrics.items():
            total = torch.stack(found).sum()
            dist.all_reduce(total)
            sums[name] = total.item()
        return sums


def evaluate(loader: torch.utils.data.DataLoader) -> dict[str, float]:
    samples = Metrics()
    for batch in loader:
        samples.record(batch)
    return samples.gathered()
