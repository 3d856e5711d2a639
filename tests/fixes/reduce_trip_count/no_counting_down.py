import torch
import torch.distributed as dist


def losses(batch: dict[str, torch.Tensor], most: int) -> list[float]:
    tokens = int(batch["attention_mask"].sum().item())
    found = []
    for start in range(most, tokens, -1):
        loss = torch.tensor([float(start)])
        dist.all_reduce(loss)
        found.append(loss.item())
    return found
