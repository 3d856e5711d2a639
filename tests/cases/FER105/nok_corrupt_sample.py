"""A sample that cannot be parsed is skipped, and the barrier with it."""

import json
import logging

import torch.distributed as dist
from torch.utils.data import DataLoader


def check(loader: DataLoader, parse) -> int:
    good = 0
    for batch in loader:
        try:
            parse(batch["text"])
        except ValueError:
            logging.warning("skipped")
            continue
        good += 1
        dist.barrier()  # error: FER105
    return good
