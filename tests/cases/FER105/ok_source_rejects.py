"""The source of a broadcast raises before it, and that ends the job."""

import logging

import torch
import torch.distributed as dist

log = logging.getLogger(__name__)


def apply(weight: torch.Tensor, state: dict[str, torch.Tensor]) -> None:
    if dist.get_rank() == 0:
        update = state.get("update")
        if update is None:
            raise ValueError("a state without an update")
        weight.add_(update)
    dist.broadcast(weight, src=0)


def apply_all(weight: torch.Tensor, states: list[dict[str, torch.Tensor]]) -> None:
    for state in states:
        try:
            apply(weight, state)
        except ValueError as error:
            log.warning("left out: %s", error)
            raise
