"""Which backend the ranks use, why, and what of the environment gets in the way."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from ferrule_lint.harness.errors import HarnessError
from ferrule_lint.harness.forks import forks_can_start_cuda

BACKENDS = ("auto", "nccl", "gloo")
#: what a default process group gets that the harness starts where nobody asked for NCCL: tensors of both kinds work
MIXED = "cpu:gloo,cuda:nccl"
#: the first NCCL that takes several ranks on one GPU
SHARED_GPU = (2, 30)
_SHARED_GPU_ENVIRONMENT = {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_MAX_CTAS": "2"}
_HIDDEN_GPUS = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}

#: (setting, its value, what it does to a run, whether only with GPUs); torch's own words are in its documentation of
#: environment variables of ProcessGroupNCCL
_IN_THE_WAY = (
    ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", "torch compares by itself before each collective, and may end ranks", False),
    ("TORCH_NCCL_BLOCKING_WAIT", "1", "a rank that waits raises at the timeout, as if it were to blame", True),
    ("NCCL_BLOCKING_WAIT", "1", "a rank that waits raises at the timeout, as if it were to blame", True),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", "a rank that hangs in NCCL is never ended by torch", True),
    ("NCCL_ASYNC_ERROR_HANDLING", "0", "a rank that hangs in NCCL is never ended by torch", True),
    ("TORCH_NCCL_USE_COMM_NONBLOCKING", "1", "where a rank waits for a communicator, it seems to work", True),
    ("TORCH_NCCL_NAN_CHECK", "1", "a rank with a NaN ends in the collective instead of parting from the others", True),
    ("CUDA_LAUNCH_BLOCKING", "1", "a rank waits in each kernel, also in asynchronous sends and receives", True),
)


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the machine and torch offer; nothing here has touched a GPU."""

    gpus: int = 0
    #: (0, 0) without NCCL
    nccl: tuple[int, int] = (0, 0)
    cuda_initialised: bool = False
    gloo: bool = True


@dataclass(frozen=True, slots=True)
class Choice:
    """`why` says in one sentence how it came to this; `environment` is for the ranks."""

    backend: str
    why: str
    environment: Mapping[str, str] = field(default_factory=dict)
    #: for a default process group that the harness starts itself
    default_group: str = "gloo"


def hardware() -> Hardware:
    """Ask torch, without starting CUDA: forks of a process that has started it cannot use it."""
    import torch
    import torch.distributed as dist

    gloo = dist.is_gloo_available()
    started = torch.cuda.is_initialized()
    if not torch.cuda._is_compiled():
        return Hardware(cuda_initialised=started, gloo=gloo)
    nccl = _nccl_version() if dist.is_nccl_available() else (0, 0)
    return Hardware(torch.cuda.device_count(), nccl, started, gloo)


def _nccl_version() -> tuple[int, int]:
    """Of the library that is loaded, which may be newer than the one that torch was built with."""
    import torch

    try:
        loaded = ctypes.CDLL("libnccl.so.2", mode=os.RTLD_NOLOAD)
        number = ctypes.c_int()
        if loaded.ncclGetVersion(ctypes.byref(number)) == 0 and number.value >= 10000:
            return number.value // 10000, number.value // 100 % 100
    except (OSError, AttributeError):
        # linked into torch
        pass
    version = torch.cuda.nccl.version()
    return version[0], version[1]


def choose(wanted: str, ranks: int, found: Hardware) -> Choice:
    """NCCL with a GPU for each rank, NCCL with shared GPUs where it allows that, else gloo on the CPU."""
    if wanted not in BACKENDS:
        raise HarnessError(f"unknown backend {wanted!r}: expected {', '.join(BACKENDS)}")
    if wanted == "gloo":
        return _gloo("gloo was asked for", found)
    reason, group = "", "nccl" if wanted == "nccl" else MIXED
    if not found.gpus:
        reason = "there is no GPU, or torch was built without CUDA"
    elif found.nccl == (0, 0):
        reason = "this torch has no NCCL"
    elif found.gpus >= ranks:
        return Choice("nccl", f"{found.gpus} GPUs for {ranks} ranks", default_group=group)
    elif found.nccl >= SHARED_GPU:
        why = f"{ranks} ranks share {found.gpus} GPUs, which NCCL {_version(found.nccl)} allows"
        return Choice("nccl", why, _SHARED_GPU_ENVIRONMENT, group)
    else:
        reason = f"{found.gpus} GPUs for {ranks} ranks, and NCCL {_version(found.nccl)} does not share one"
    if wanted == "nccl":
        raise HarnessError(f"NCCL cannot be used: {reason}")
    return _gloo(f"on the CPU: {reason}", found)


def _gloo(why: str, found: Hardware) -> Choice:
    if not found.gloo:
        raise HarnessError("this torch has no gloo: only `simulate` runs ranks without communication")
    # what asks for the device of its rank would find too few; a program that looks for GPUs takes the CPU
    return Choice("gloo", why, _HIDDEN_GPUS if found.gpus else {})


def needs_fresh(choice: Choice, found: Hardware) -> bool:
    """Whether forks of this process could not run as ranks: it has started CUDA, or asked CUDA for its devices."""
    return found.cuda_initialised or (choice.backend == "nccl" and not forks_can_start_cuda())


def ranks_per_host(choice: Choice, ranks: int, found: Hardware) -> int:
    """How many ranks a host of the run has: where ranks share GPUs, each set of GPUs passes for a host of its own.

    So `LOCAL_RANK` names a GPU on every rank, as programs expect.
    """
    return min(ranks, found.gpus) if choice.backend == "nccl" else ranks


def in_the_way(environment: Mapping[str, str] = os.environ, *, gpus: bool = True) -> list[str]:
    """Settings of the environment that change how hangs show, as `NAME=value: what it does`."""
    return [
        f"{name}={environment[name]}: {effect}"
        for name, value, effect, on_gpus in _IN_THE_WAY
        if environment.get(name, "").upper() == value and (gpus or not on_gpus)
    ]


def _version(numbers: tuple[int, int]) -> str:
    return f"{numbers[0]}.{numbers[1]}"
