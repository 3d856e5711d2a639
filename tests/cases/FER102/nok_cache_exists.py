"""A cache that one rank builds while the others look whether it is there."""

from pathlib import Path

import torch.distributed as dist


def prepare(path: Path, text: str) -> str:
    if not path.exists():
        if dist.get_rank() == 0:
            path.write_text(text)
        dist.barrier()  # error: FER102
    return path.read_text()
