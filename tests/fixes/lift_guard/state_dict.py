"""A checkpoint: the full state dict is gathered from all ranks, one of them writes the file."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


def save(model: nn.Module, path: str) -> None:
    if dist.get_rank() == 0:  # only one writes
        print(f"saving to {path}")
        # on the CPU, or it does not fit
        options = StateDictOptions(
            full_state_dict=True,
            cpu_offload=True,
        )
        state = get_model_state_dict(model, options=options)  # gathers
        torch.save(state, path)
        print("saved")
