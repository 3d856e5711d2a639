"""Which backend the ranks use, why, and what of the environment gets in the way."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from ferrule_lint.harness.errors import HarnessError

BACKENDS = ("auto", "nccl", "gloo")
#: the first NCCL that takes several ranks on one GPU
SHARED_GPU = (2, 30)
_SHARED_GPU_ENVIRONMENT = {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_MAX_CTAS": "2"}

#: settings under which a hang is not seen as one, or a healthy run is ended
_IN_THE_WAY = {
    "TORCH_NCCL_BLOCKING_WAIT": "1",
    "CUDA_LAUNCH_BLOCKING": "1",
    "TORCH_DISTRIBUTED_DEBUG": "DETAIL",
}


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the machine and torch offer; nothing here has touched a GPU."""

    gpus: int = 0
    #: (0, 0) without NCCL
    nccl: tuple[int, int] = (0, 0)
    cuda_initialised: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """`why` says in one sentence how it came to this; `environment` is for the ranks."""

    backend: str
    why: str
    environment: Mapping[str, str] = field(default_factory=dict)


def hardware() -> Hardware:
    """Ask torch, without starting CUDA: forks of a process that has started it cannot use it."""
    import torch
    import torch.distributed as dist

    if not torch.cuda._is_compiled():
        return Hardware()
    nccl = (0, 0)
    if dist.is_nccl_available():
        version = torch.cuda.nccl.version()
        nccl = (version[0], version[1])
    return Hardware(torch.cuda.device_count(), nccl, torch.cuda.is_initialized())


def choose(wanted: str, ranks: int, found: Hardware) -> Choice:
    """NCCL with a GPU for each rank, NCCL with shared GPUs where it allows that, else gloo on the CPU."""
    if wanted not in BACKENDS:
        raise HarnessError(f"unknown backend {wanted!r}: expected {', '.join(BACKENDS)}")
    if wanted == "gloo":
        return Choice("gloo", "gloo was asked for")
    reason = ""
    if not found.gpus:
        reason = "there is no GPU, or torch was built without CUDA"
    elif found.nccl == (0, 0):
        reason = "this torch has no NCCL"
    elif found.gpus >= ranks:
        return Choice("nccl", f"{found.gpus} GPUs for {ranks} ranks")
    elif found.nccl >= SHARED_GPU:
        why = f"{ranks} ranks share {found.gpus} GPUs, which NCCL {_version(found.nccl)} allows"
        return Choice("nccl", why, _SHARED_GPU_ENVIRONMENT)
    else:
        reason = f"{found.gpus} GPUs for {ranks} ranks, and NCCL {_version(found.nccl)} does not share one"
    if wanted == "nccl":
        raise HarnessError(f"NCCL cannot be used: {reason}")
    return Choice("gloo", f"on the CPU: {reason}")


def in_the_way(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Settings of the environment that change how hangs show, as `NAME=value`."""
    return [f"{name}={value}" for name, value in _IN_THE_WAY.items() if environment.get(name) == value]


def _version(numbers: tuple[int, int]) -> str:
    return f"{numbers[0]}.{numbers[1]}"
