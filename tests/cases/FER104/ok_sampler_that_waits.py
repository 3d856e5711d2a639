"""All ranks meet once, where each of them begins to iterate."""

import random

import torch.distributed as dist
from torch.utils.data import Sampler


class BucketSampler(Sampler):
    def __init__(self, buckets: dict[str, list[int]], batch_size: int) -> None:
        self.buckets = buckets
        self.batch_size = batch_size

    def __iter__(self):
        dist.barrier()
        while True:
            waiting = list(self.buckets[random.choice(list(self.buckets))])
            while waiting:
                batch, waiting = waiting[: self.batch_size], waiting[self.batch_size :]
                yield batch
