import torch
import torch.distributed as dist


def mean_score(batch: dict[str, torch.Tensor]) -> float:
    scores = batch["scores"][batch["mask"]]
    if scores.numel() == 0:
        return 0.0
    total = torch.tensor([float(scores.sum().item()), float(scores.numel())])
    dist.all_reduce(total)
    return total.tolist()[0] / total.tolist()[1]


def example() -> list[float]:
    scores = torch.tensor([1.0, 2.0, 6.0])
    some = {"scores": scores, "mask": torch.tensor([True, False, True])}
    none = {"scores": scores, "mask": torch.tensor([False, False, False])}
    return [mean_score(some), mean_score(none)]
