"""What else is done with the images needs them."""

import torch
from accelerate.utils import gather_object
from torch.utils.data import DataLoader


def log(loader: DataLoader) -> list[str]:
    seen: list[str] = []
    for batch in loader:
        images = batch["images"] if batch["mask"].any() else None
        if images is not None:
            seen.extend(gather_object(images))
            seen.append(images[0])
    return seen
