"""A method that was copied from the base class, with its call of the base's base."""

from __future__ import annotations

import torch
import torch.distributed as dist


class Plain:
    def prepare(self, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {name: one + 0 for name, one in inputs.items()}


class Counting(Plain):
    def prepare(self, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        count = torch.tensor(len(inputs))
        dist.all_reduce(count)
        return {"count": count}

    def run(self, batch: dict[str, torch.Tensor], pixel_values: torch.Tensor | None = None) -> list[str]:
        found = dict(batch)
        if pixel_values is not None:
            found = super().prepare({"pixel_values": pixel_values})
        return sorted(found)


class Copied(Counting):
    def run(self, batch: dict[str, torch.Tensor], pixel_values: torch.Tensor | None = None) -> list[str]:
        found = {}
        if pixel_values is not None:
            found = super().prepare({"pixel_values": pixel_values})  # as above
        return [*sorted(found), *batch]


def example() -> list[str]:
    return Copied().run({"ids": torch.tensor([1.0])})
