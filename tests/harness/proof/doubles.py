"""Minimal stand-ins, so that examples run unchanged without GPUs: each does with gloo what the real one does with NCCL.

* `accelerate`: `Accelerator.gather`, `gather_for_metrics`, `pad_across_processes`, `num_processes` and
  `is_main_process` (the library is not installed)
* `megatron.core.parallel_state`: tensor-parallel group and pipeline stage over a mesh of 3 stages x 2 ranks
* `megatron.core.pipeline_parallel`: a schedule that is one all-reduce
* devices: `"cuda"` in an example means the CPU, unless the lane is NCCL's
* a file system that lists files in another order on another machine (in the scene of `merge`)
* FSDP1 without a GPU wants to be told its device
"""

from __future__ import annotations

import sys
import types
from typing import Any

import torch
import torch.distributed as dist
from programs.lane import DEVICE
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.tensor import init_device_mesh


class Accelerator:
    @property
    def is_main_process(self) -> bool:
        return dist.get_rank() == 0

    @property
    def num_processes(self) -> int:
        return dist.get_world_size()

    def gather(self, tensor: torch.Tensor) -> torch.Tensor:
        tensor = torch.atleast_1d(tensor)
        out = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
        dist.all_gather(out, tensor)
        return torch.cat(out)

    gather_for_metrics = gather

    def pad_across_processes(self, tensor: torch.Tensor, dim: int = 0, pad_index: int = 0) -> torch.Tensor:
        longest = torch.tensor(tensor.size(dim))
        dist.all_reduce(longest, op=dist.ReduceOp.MAX)
        size = list(tensor.shape)
        size[dim] = int(longest.item())
        padded = tensor.new_full(size, pad_index)
        padded.narrow(dim, 0, tensor.size(dim)).copy_(tensor)
        return padded


def gather_object(items: list[Any]) -> list[Any]:
    """`accelerate.utils.gather_object`: the lists of all ranks, joined."""
    found: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, items)
    return [item for one in found for item in one]


class Stages:
    """`megatron.core.parallel_state` for stages of two tensor-parallel ranks each."""

    def __init__(self) -> None:
        self.mesh = init_device_mesh(DEVICE, (dist.get_world_size() // 2, 2), mesh_dim_names=("pp", "tp"))

    def get_tensor_model_parallel_group(self) -> dist.ProcessGroup:
        return self.mesh.get_group("tp")

    def get_tensor_model_parallel_rank(self) -> int:
        return self.mesh.get_local_rank("tp")

    def get_tensor_model_parallel_src_rank(self) -> int:
        return dist.get_global_rank(self.mesh.get_group("tp"), 0)

    def get_pipeline_model_parallel_world_size(self) -> int:
        return self.mesh.size(0)

    def is_pipeline_first_stage(self) -> bool:
        return self.mesh.get_local_rank("pp") == 0

    def is_pipeline_last_stage(self) -> bool:
        return self.mesh.get_local_rank("pp") == self.mesh.size(0) - 1


class _OnCpu(types.ModuleType):
    """`torch`, but for devices: what asks for a GPU gets the CPU."""

    def __init__(self) -> None:
        super().__init__("torch")
        self.cuda = types.SimpleNamespace(
            current_device=lambda: 0,
            empty_cache=lambda: None,
            memory_summary=lambda: "",
            OutOfMemoryError=torch.OutOfMemoryError,
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    @staticmethod
    def zeros(*size: Any, device: Any = None, **named: Any) -> torch.Tensor:
        return torch.zeros(*size, **named)

    @staticmethod
    def device(*_: Any) -> torch.device:
        return torch.device("cpu")


def _schedule(data_iterator: Any, **_: Any) -> list[float]:
    """A pipeline schedule in one collective, in which all stages take part."""
    total = torch.tensor(float(next(data_iterator)))
    dist.all_reduce(total)
    return [float(total)]


def load(source: str, name: str) -> types.ModuleType:
    """The example as a module, with stand-ins where it needs them."""
    for double, attributes in (
        ("accelerate", {"Accelerator": Accelerator}),
        ("accelerate.utils", {"gather_object": gather_object}),
        ("megatron", {}),
        ("megatron.core", {"parallel_state": None}),
        ("megatron.core.pipeline_parallel", {"get_forward_backward_func": lambda: _schedule}),
    ):
        if double.split(".")[0] in source:
            stand_in = types.ModuleType(double)
            stand_in.__dict__.update(attributes)
            sys.modules[double] = stand_in
    if "megatron" in source:
        sys.modules["megatron.core"].parallel_state = Stages()
    module = types.ModuleType(name)
    # a file of its own, so that reports name lines of the example
    sys.modules[name] = module
    exec(compile(source, f"{name}.py", "exec"), module.__dict__)
    module.__dict__["SOURCE"] = source
    if "torch.cuda." in source and DEVICE == "cpu":
        module.torch = _OnCpu()
    if "init_device_mesh" in module.__dict__:
        module.init_device_mesh = lambda device, *rest, **named: init_device_mesh(DEVICE, *rest, **named)
    if "FSDP" in module.__dict__:
        module.FSDP = lambda net: FullyShardedDataParallel(net, device_id=torch.device(DEVICE))
    return module
