"""A cache is read where it is, and made where it is not, for which all ranks wait."""

import os
import pickle

import torch.distributed as dist


def rows(path: str | None, make: object) -> list[int]:
    if path is None or not os.path.exists(path):
        found = make()
        if path is not None and dist.get_rank() == 0:
            with open(path, "wb") as file:
                pickle.dump(found, file)
        dist.barrier()
    else:
        with open(path, "rb") as file:
            found = pickle.load(file)
    return found


def example() -> list[int]:
    return rows(None, lambda: [1, 2])
