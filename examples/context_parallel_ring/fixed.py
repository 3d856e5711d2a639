"""Key and value blocks passed round a ring, with metadata where any block has some."""

from __future__ import annotations

import torch
import torch.distributed as dist


class Ring:
    """The ranks that share a sequence: each sends to the next and receives from the one before."""

    def __init__(self, cp_group: dist.ProcessGroup) -> None:
        self.cp_group = cp_group
        self.size = dist.get_world_size(cp_group)
        rank = dist.get_rank(cp_group)
        self.next = dist.get_global_rank(cp_group, (rank + 1) % self.size)
        self.previous = dist.get_global_rank(cp_group, (rank - 1) % self.size)

    def exchange(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        received = [torch.empty_like(tensor) for tensor in tensors]
        operations = [dist.P2POp(dist.isend, tensor, self.next, self.cp_group) for tensor in tensors]
        operations += [dist.P2POp(dist.irecv, tensor, self.previous, self.cp_group) for tensor in received]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        return received

    def any_rank(self, flag: bool, device: torch.device) -> bool:
        vote = torch.tensor([int(flag)], device=device)
        dist.all_reduce(vote, op=dist.ReduceOp.MAX, group=self.cp_group)
        return bool(vote.item())


def attend(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.softmax(query @ keys.transpose(-1, -2) + bias, dim=-1) @ values


def ring_attention(ring: Ring, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Attention over all blocks. `segments` marks packed samples; a block that is one sample has none."""
    query, keys, values = batch["query"], batch["keys"], batch["values"]
    packed = batch["segments"][batch["segments"] > 0]
    bias = torch.zeros(keys.size(-2), device=keys.device)
    has_metadata = ring.any_rank(packed.numel() > 0, keys.device)
    out = attend(query, keys, values, bias)
    for _ in range(ring.size - 1):
        keys, values = ring.exchange([keys, values])
        if has_metadata:
            (bias,) = ring.exchange([bias])
        out = out + attend(query, keys, values, bias)
    return out
