"""Text generated for the log by one rank."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def train(net: nn.Module, loader, optimizer: torch.optim.Optimizer, prompt: torch.Tensor) -> None:
    model = FSDP(net, use_orig_params=True)
    for step, batch in enumerate(loader):
        model(batch["input_ids"]).mean().backward()
        optimizer.step()
        if step % 500 == 0:
            if dist.get_rank() == 0:
                print(model(prompt).argmax(-1))  # error: FER101
