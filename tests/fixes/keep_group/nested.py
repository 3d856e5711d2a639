"""A gather of nested containers that forgets its group on the way down."""

from typing import Any

import torch
import torch.distributed as dist


def gather_nested(data: Any, group: dist.ProcessGroup | None = None) -> list[Any]:
    if isinstance(data, dict):
        gathered = {name: gather_nested(value) for name, value in data.items()}  # one by one
        return [{name: parts[at] for name, parts in gathered.items()} for at in range(dist.get_world_size(group))]
    if isinstance(data, list):
        return [
            gather_nested(
                value,
            )
            for value in data
        ]
    parts = [torch.empty_like(data) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, data, group=group)
    return [part.tolist() for part in parts]


def example() -> list[Any]:
    return gather_nested({"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([3.0])})
