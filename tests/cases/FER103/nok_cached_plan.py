"""Whoever finds the plan returns; rank 0 may have written it a moment ago."""

from pathlib import Path

import torch.distributed as dist


def plan(path: Path, text: str) -> str:
    if path.exists():
        return path.read_text()
    if dist.get_rank() == 0:
        path.write_text(text)
    dist.barrier()  # error: FER103
    return path.read_text()
