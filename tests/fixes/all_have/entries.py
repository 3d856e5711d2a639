import torch
import torch.distributed as dist


def gathered(values: list[str]) -> list[str]:
    everything: list[list[str]] = [[] for _ in range(dist.get_world_size())]
    dist.all_gather_object(everything, values)
    return [value for some in everything for value in some]


def log(samples: list[dict[str, str]], logs: dict[str, list[str]]) -> None:
    # every key has to be there on all ranks
    columns: dict[str, list[str]] = {}
    columns["text"] = [sample["text"] for sample in samples]

    if all("solution" in sample for sample in samples):
        columns["solution"] = [sample["solution"] for sample in samples]

    if all(sample.get("tool") and "turns" in sample for sample in samples):
        columns["turns"] = [sample["turns"] for sample in samples]

    if columns:
        for key, values in columns.items():
            logs.setdefault(key, []).extend(gathered(values))


def train(loader: torch.utils.data.DataLoader, logs: dict[str, list[str]]) -> None:
    for batch in loader:
        log(batch["samples"], logs)
