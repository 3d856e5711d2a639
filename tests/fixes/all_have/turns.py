import torch
import torch.distributed as dist


def mean_turns(samples: list[dict[str, int]], seen: list[float]) -> None:
    # not every environment counts its turns
    if all("turns" in sample for sample in samples):
        turns = torch.tensor([float(sum(sample["turns"] for sample in samples)), float(len(samples))])
        dist.all_reduce(turns)
        seen.append(turns.tolist()[0] / turns.tolist()[1])


def train(loader: torch.utils.data.DataLoader) -> list[float]:
    seen: list[float] = []
    for batch in loader:
        mean_turns(batch["samples"], seen)
    return seen


def example() -> list[float]:
    seen: list[float] = []
    mean_turns([{"turns": 2}, {"turns": 4}], seen)
    mean_turns([{"turns": 2}, {}], seen)
    return seen
