"""As much from each expert as it says, and back again."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def send_to_experts(loader: DataLoader, expert_group: dist.ProcessGroup) -> None:
    for batch in loader:
        counts = torch.bincount(batch["expert"], minlength=8)
        theirs = torch.empty_like(counts)
        dist.all_to_all_single(theirs, counts, group=expert_group)
        sent, taken = counts.tolist(), theirs.tolist()
        received = torch.empty(sum(taken))
        dist.all_to_all_single(received, batch["x"], taken, sent, group=expert_group)
        back = torch.empty(sum(sent))
        dist.all_to_all_single(back, received, sent, taken, group=expert_group)
