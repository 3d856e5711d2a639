import torch
import torch.distributed as dist


def solve(batch: dict[str, torch.Tensor], tolerance: float) -> torch.Tensor:
    x = torch.zeros_like(batch["target"])
    residual = (batch["target"] - x).norm()
    while residual.item() > tolerance:
        step = (batch["target"] - x) * 0.5
        dist.all_reduce(step)
        x = x + step
        residual = (batch["target"] - x).norm()
    return x


def example() -> list[float]:
    return solve({"target": torch.tensor([1.0, 2.0])}, 0.01).tolist()
