"""A mask loss over what was matched, and an empty tensor where nothing was."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def wrap(module: nn.Module) -> nn.Module:
    return DistributedDataParallel(module)


class Criterion(nn.Module):
    def loss_masks(self, outputs, targets, indices):
        features = outputs["masks"]["features"]
        chosen = torch.cat([source for source, _ in indices])
        if chosen.numel() == 0:
            masks = torch.tensor([], device=features.device)  # error: FER304
        else:
            masks = features[chosen]
        return {"loss_mask": (masks - targets).mean()}
