"""Batches gathered over all ranks, where a rank pads if its last batch is not full."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F


@dataclass
class Batch:
    """Samples of a recommender: dense features, flattened, and a label each."""

    #: what the job is configured for, the same on every rank
    batch_size: int
    #: how many samples are there: fewer in the last batch of an epoch
    actual_batch_size: int
    #: how many dense features a sample has
    width: int
    dense: torch.Tensor
    labels: torch.Tensor


def collate(samples: list[tuple[torch.Tensor, int]], batch_size: int, width: int) -> Batch:
    """A batch of the samples. Dense features go into a buffer of the full size, labels do not."""
    dense = torch.zeros(batch_size * width)
    for index, (features, _) in enumerate(samples):
        dense[index * width : (index + 1) * width] = features
    labels = torch.tensor([label for _, label in samples])
    return Batch(batch_size, len(samples), width, dense, labels)


def gather_first_dim(local: torch.Tensor) -> torch.Tensor:
    """Concatenate the tensors of all ranks, which have to have the same shape."""
    out = local.new_empty((local.size(0) * dist.get_world_size(), *local.shape[1:]))
    dist.all_gather_into_tensor(out, local.contiguous())
    return out


def pad_and_gather(batch: Batch) -> Batch:
    """The batch of all ranks together."""
    dense, labels = batch.dense, batch.labels
    if batch.actual_batch_size < batch.batch_size:
        missing = batch.batch_size - batch.actual_batch_size
        dense = F.pad(dense, (0, missing * (dense.numel() // batch.actual_batch_size)))
        labels = F.pad(labels, (0, missing))
    sizes = torch.tensor([batch.actual_batch_size], device=dense.device)
    return Batch(
        batch_size=batch.batch_size * dist.get_world_size(),
        actual_batch_size=int(gather_first_dim(sizes).sum().item()),
        width=batch.width,
        dense=gather_first_dim(dense),
        labels=gather_first_dim(labels),
    )
