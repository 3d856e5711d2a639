"""The other ranks wait twice, and nobody meets them."""

import torch.distributed as dist


class FirstRankFirst:
    def __enter__(self) -> "FirstRankFirst":
        self._first = dist.get_rank() == 0
        if not self._first:
            dist.barrier()  # error: FER102
        return self

    def __exit__(self, *error: object) -> None:
        if not self._first:
            dist.barrier()  # error: FER102
