"""Images next to the prompts that they belong to: a rank without any has none for each of its prompts."""

from __future__ import annotations

import torch
from accelerate.utils import gather_object


def shown(prompts: list[str], images: list[str] | None = None) -> list[str]:
    has_images = images is not None
    all_prompts = gather_object(prompts)
    if has_images:
        all_images = gather_object(images)
    if not has_images:
        return all_prompts
    images_or_not = [[one] if one is not None else [] for one in all_images]
    return [f"{prompt}:{one}" for prompt, one in zip(all_prompts, images_or_not)]


def run(batches: list[dict[str, torch.Tensor]], prompts: list[str]) -> list[str]:
    found = []
    for batch in batches:
        images = prompts if batch["pixel_values"].any() else None
        found += shown(prompts, images)
    return found
