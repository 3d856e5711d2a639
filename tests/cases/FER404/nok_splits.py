"""As much from each expert as goes there."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def send_to_experts(loader: DataLoader, expert_group: dist.ProcessGroup) -> None:
    for batch in loader:
        counts = torch.bincount(batch["expert"], minlength=8).tolist()
        received = torch.empty(sum(counts))
        dist.all_to_all_single(received, batch["x"], counts, counts, group=expert_group)  # error: FER404
