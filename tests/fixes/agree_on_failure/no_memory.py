"""Memory runs out in the forward itself: its collectives are not there to be agreed before."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def train(net: nn.Module, loader, optimizer) -> None:
    model = FSDP(net)
    for batch in loader:
        try:
            loss = model(batch["input_ids"]).mean()
            loss.backward()
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            continue
        optimizer.step()
