import torch
import torch.distributed as dist
import torch.nn.functional as F


def gather_tokens(batch: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    longest = int(batch["lengths"].max().item())
    tokens = F.pad(batch["tokens"], (0, longest - batch["tokens"].size(-1)))
    out = [torch.empty_like(tokens) for _ in range(dist.get_world_size())]
    dist.all_gather(out, tokens)
    return out


def example() -> list[list[int]]:
    batch = {"tokens": torch.tensor([5, 6]), "lengths": torch.tensor([2, 4])}
    return [part.tolist() for part in gather_tokens(batch)]
