"""Lists of all ranks are joined: a rank without one has nothing to add."""

import torch
from accelerate.utils import gather_object
from torch.utils.data import DataLoader


def log(loader: DataLoader, wanted: bool) -> list[str]:
    seen: list[str] = []
    for batch in loader:
        images = batch["images"] if batch["mask"].any() else None
        if images is not None and wanted:  # asked for
            seen.extend(gather_object(images))
        if images is not None:
            seen += gather_object(images)
    return seen


def example() -> list[list[str]]:
    some = {"images": ["a", "b"], "mask": torch.tensor([0, 1])}
    none = {"images": ["c"], "mask": torch.tensor([0, 0])}
    return [log([some, none], True), log([none, some], False)]
