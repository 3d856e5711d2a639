import torch
import torch.distributed as dist


def average(gradients: dict[str, torch.Tensor], frozen: list[str]) -> None:
    for name in set(gradients) - set(frozen):
        dist.all_reduce(gradients[name])


def gather(state: dict[str, torch.Tensor], names: list[str]) -> dict[str, torch.Tensor]:
    wanted = set(names)
    return {name: reduced(state[name]) for name in wanted if name in state}


def reduced(value: torch.Tensor) -> torch.Tensor:
    dist.all_reduce(value)
    return value


def example() -> list[object]:
    state = {"a": torch.tensor([1]), "b": torch.tensor([2])}
    average(state, ["a"])
    return [sorted((name, value.tolist()) for name, value in gather(state, ["b", "a"]).items())]
