"""On which lane the programs and the proof of the rule book run: gloo on the CPU, or NCCL on GPUs.

`FERRULE_LANE=nccl pytest tests/harness/test_proof.py` on a machine with GPUs; several ranks share one where NCCL allows
that (2.30 and newer). What the programs allocate is then on the rank's GPU, unless they say otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

LANE = os.environ.get("FERRULE_LANE", "gloo")
DEVICE = "cuda" if LANE == "nccl" else "cpu"


def on_lane(body: Callable[..., Any], *arguments: Any) -> Any:
    """Call `body` with the lane's device as the default for tensors, unless it has to run on gloo."""
    if DEVICE != "cpu" and not (dist.is_initialized() and dist.get_backend() == "gloo"):
        torch.set_default_device(DEVICE)
    return body(*arguments)
