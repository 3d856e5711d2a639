"""Whether forks of this process can use GPUs.

A process that has started CUDA, or has only asked it for its devices, has forks that cannot. That is what
`torch.cuda.is_available()` does, in many a test module while it is imported. Where a setting says so, torch asks the
driver's library instead (PyTorch, *Multiprocessing best practices*, on poisoned forks).
"""

from __future__ import annotations

import os

_ASK_THE_DRIVER = "PYTORCH_NVML_BASED_CUDA_CHECK"


def keep_forks_able() -> None:
    """From now on `torch.cuda.is_available()` leaves forks able to start CUDA, unless the user has settled it."""
    os.environ.setdefault(_ASK_THE_DRIVER, "1")


def forks_can_start_cuda() -> bool:
    """Ask one: torch tells in the fork only."""
    import torch

    child = os.fork()
    if not child:
        os._exit(int(torch.cuda._is_in_bad_fork()))
    return os.waitpid(child, 0)[1] == 0
