import torch
import torch.distributed as dist


def identify(samples: list[str]) -> dict[str, int]:
    known: dict[str, int] = {}
    if not samples:
        return known
    everything: list[list[str]] = [[] for _ in range(dist.get_world_size())]
    dist.all_gather_object(everything, samples)
    for some in everything:
        for sample in some:
            known.setdefault(sample, len(known))
    return {sample: known[sample] for sample in samples}


def train(loader: torch.utils.data.DataLoader) -> list[dict[str, int]]:
    return [identify(batch["texts"]) for batch in loader]
