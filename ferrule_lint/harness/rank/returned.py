"""What a rank's function returned, on its way to the process that started the ranks.

Tensors of a GPU come back on the CPU: to rebuild one as it was would start CUDA in the parent, whose later forks could
then not use it (PyTorch, *Multiprocessing best practices*, on poisoned forks).
"""

from __future__ import annotations

import base64
import io
import pickle
from typing import Any

import torch

#: bytes of a result that a rank sends back
LARGEST_VALUE = 16 << 20


def packed(value: Any) -> str:
    """As text; empty if there is nothing, or nothing that can be sent."""
    if value is None:
        return ""
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    except Exception:
        return ""
    return base64.b64encode(buffer.getvalue()).decode() if buffer.tell() <= LARGEST_VALUE else ""


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if type(value) is torch.Tensor and _needs_a_driver(value):
            return value.detach().cpu().requires_grad_(value.requires_grad).__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return NotImplemented


def _needs_a_driver(tensor: torch.Tensor) -> bool:
    return tensor.device.type not in ("cpu", "meta")
