"""Names that torch had elsewhere before they were public."""

from __future__ import annotations

try:
    from torch.distributed.fsdp import fully_shard
except ImportError:  # before 2.6
    from torch.distributed._composable.fsdp import fully_shard

try:
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh
except ImportError:  # before 2.5
    from torch.distributed._tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh

__all__ = ["DTensor", "Replicate", "Shard", "distribute_tensor", "fully_shard", "init_device_mesh"]
