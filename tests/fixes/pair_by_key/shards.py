import torch
import torch.distributed as dist


def load(full: dict[str, torch.Tensor], parts: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    loaded = {}
    if dist.get_rank() == 0:
        for (name, whole), part in zip(full.items(), parts.values()):
            # into the buffer of this rank
            dist.broadcast(whole, src=0)
            loaded[name] = whole + part
    else:
        for name, part in parts.items():
            buffer = torch.empty_like(part)
            dist.broadcast(buffer, src=0)
            loaded[name] = buffer
    return loaded


def example() -> list[list[float]]:
    full = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([3.0])}
    parts = {"a": torch.tensor([0.5, 0.5]), "b": torch.tensor([0.5])}
    return [value.tolist() for value in load(full, parts).values()]
