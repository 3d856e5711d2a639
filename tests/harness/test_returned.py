"""What a rank returns reaches the process that started it, without starting CUDA there.

No GPU is here: doubles stand for tensors of a GPU, and `cpu()` makes them floats. `test_lanes.py` asks on a GPU.
"""

from __future__ import annotations

import base64
import pickle
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from ferrule_lint.harness.rank import returned  # noqa: E402


def sent(value: Any) -> Any:
    text = returned.packed(value)
    return pickle.loads(base64.b64decode(text)) if text else text


@pytest.fixture
def doubles_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returned, "_needs_a_driver", lambda tensor: tensor.dtype == torch.float64)
    monkeypatch.setattr(torch.Tensor, "cpu", torch.Tensor.float)


@pytest.mark.usefixtures("doubles_on_a_gpu")
def test_tensors_of_a_gpu_come_back_on_the_cpu() -> None:
    loss = torch.ones(2, dtype=torch.float64, requires_grad=True)
    found = sent({"loss": [loss], "weight": torch.nn.Parameter(torch.ones(1, dtype=torch.float64)), "step": 3})
    assert found["loss"][0].dtype == found["weight"].dtype == torch.float32
    assert found["loss"][0].requires_grad and isinstance(found["weight"], torch.nn.Parameter)
    assert found["loss"][0].tolist() == [1.0, 1.0] and found["step"] == 3


def test_tensors_of_the_cpu_stay_as_they_are() -> None:
    shared = torch.ones(2, dtype=torch.float64)
    first, second = sent([shared, shared])
    assert first is second and first.dtype == torch.float64


def test_what_cannot_be_sent_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sent(lambda: 1) == "" and sent(None) == ""
    monkeypatch.setattr(returned, "LARGEST_VALUE", 1000)
    assert sent(bytes(2000)) == ""
