"""Every rank's share starts elsewhere and is as long as the others'."""

import torch
import torch.distributed as dist


def positions(seq_len: int, cp_size: int, cp_rank: int, cp_group: dist.ProcessGroup) -> list[torch.Tensor]:
    n = seq_len // 2
    last = 2 * cp_size - 1 - cp_rank
    own = torch.cat((torch.arange(cp_rank * n, (cp_rank + 1) * n), torch.arange(last * n, (last + 1) * n)))
    gathered = [torch.empty_like(own) for _ in range(cp_size)]
    dist.all_gather(gathered, own, group=cp_group)
    return gathered
