"""A stand-in for torch in one process, for what the fixed examples need: values, sizes, and collectives of one rank.

Tensors have one dimension, or none. `issued` lists the collectives that were called.
"""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

int32 = int64 = long = float32 = float64 = bool_ = "dtype"
issued: list[str] = []
ready = [True]


class Tensor:
    def __init__(self, data: Any) -> None:
        self.data = data
        self.device = "cpu"

    @property
    def scalar(self) -> bool:
        return not isinstance(self.data, list)

    @property
    def shape(self) -> tuple[int, ...]:
        return () if self.scalar else (len(self.data),)

    def _with(self, work: Callable[[Any], Any]) -> Tensor:
        return Tensor(work(self.data) if self.scalar else [work(one) for one in self.data])

    def _zip(self, other: Any, work: Callable[[Any, Any], Any]) -> Tensor:
        if isinstance(other, Tensor) and not other.scalar and not self.scalar:
            return Tensor([work(a, b) for a, b in zip(self.data, other.data, strict=True)])
        value = other.data if isinstance(other, Tensor) else other
        return self._with(lambda one: work(one, value))

    def __add__(self, other: Any) -> Tensor:
        return self._zip(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Tensor:
        return self._zip(other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Tensor:
        return self._zip(other, lambda a, b: a * b)

    def __gt__(self, other: Any) -> Tensor:
        return self._zip(other, lambda a, b: a > b)

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        return self._zip(other, lambda a, b: a == b)

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return self._zip(other, lambda a, b: a != b)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __iter__(self) -> Iterator[Tensor]:
        return (Tensor(one) for one in self.data)

    def __getitem__(self, index: Any) -> Tensor:
        if isinstance(index, tuple):
            (index,) = index
        if isinstance(index, Tensor):
            return Tensor([one for one, kept in zip(self.data, index.data, strict=True) if kept])
        return Tensor(self.data[index])

    def __setitem__(self, index: tuple[slice], value: Tensor) -> None:
        self.data[index[0]] = value.data

    def bool(self) -> Tensor:
        return self._with(lambda one: one != 0)

    def item(self) -> Any:
        return self.data if self.scalar else self.data[0]

    def tolist(self) -> Any:
        return self.data

    def numel(self) -> int:
        return 1 if self.scalar else len(self.data)

    def dim(self) -> int:
        return len(self.shape)

    def size(self, dim: int) -> int:
        return self.shape[dim]

    def any(self) -> Tensor:
        return Tensor(any(self.data))

    def sum(self) -> Tensor:
        return Tensor(sum(self.data))

    def max(self) -> Tensor:
        return Tensor(max(self.data))

    def norm(self) -> Tensor:
        return Tensor(math.sqrt(sum(one * one for one in self.data)))

    def amax(self, dim: int) -> Tensor:
        return Tensor([max(column) for column in zip(*self.data, strict=True)])

    def contiguous(self) -> Tensor:
        return self

    def new_zeros(self, *size: Any) -> Tensor:
        return zeros(*size)

    def new_empty(self, *size: Any) -> Tensor:
        return zeros(*size)


def tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    return Tensor(list(data) if isinstance(data, list | tuple) else data)


def zeros(*size: Any, dtype: Any = None, device: Any = None) -> Tensor:
    length = size[0] if isinstance(size[0], int) else size[0][0]
    return Tensor([0] * length)


empty = zeros


def zeros_like(other: Tensor) -> Tensor:
    return other._with(lambda one: 0)


empty_like = zeros_like


def stack(parts: list[Tensor]) -> Tensor:
    return Tensor([part.data for part in parts])


def cat(parts: list[Tensor]) -> Tensor:
    return Tensor([one for part in parts for one in part.data])


def isfinite(value: Tensor) -> Tensor:
    return value._with(math.isfinite)


def _pad(value: Tensor, amounts: Any) -> Tensor:
    before, after = amounts
    return Tensor([0] * before + value.data + [0] * after)


def _collective(name: str, work: Callable[..., None]) -> Callable[..., None]:
    def call(*args: Any, **options: Any) -> None:
        assert options.get("group") is None
        issued.append(name)
        work(*args)

    return call


def _into_list(out: list[Tensor], value: Tensor, *rest: Any) -> None:
    out[0].data = list(value.data)


def _into_tensor(out: Tensor, value: Tensor, *rest: Any) -> None:
    assert len(out.data) == len(value.data)
    out.data = list(value.data)


def _module(name: str, **content: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    for key, value in content.items():
        setattr(module, key, value)
    sys.modules[name] = module
    return module


_module("accelerate")
_module("accelerate.utils", gather_object=lambda value: list(value))
distributed = _module(
    "torch.distributed",
    ProcessGroup=object,
    ReduceOp=types.SimpleNamespace(MAX="max", MIN="min", SUM="sum", AVG="avg"),
    is_available=lambda: True,
    is_initialized=lambda: ready[0],
    get_rank=lambda group=None: 0,
    get_world_size=lambda group=None: 1,
    get_backend=lambda group=None: "gloo",
    get_backend_config=lambda group=None: "cpu:gloo,cuda:gloo",
    all_reduce=_collective("all_reduce", lambda value, *rest: None),
    barrier=_collective("barrier", lambda *rest: None),
    broadcast=_collective("broadcast", lambda value, *rest: None),
    group=types.SimpleNamespace(WORLD=None),
    new_group=lambda ranks=None, **options: tuple(ranks) if 0 in ranks else "not a member",
    get_process_group_ranks=lambda group=None: [0],
    destroy_process_group=lambda group=None: issued.append("destroy_process_group"),
    all_gather=_collective("all_gather", _into_list),
    all_gather_into_tensor=_collective("all_gather_into_tensor", _into_tensor),
)
nn = _module("torch.nn", Module=object)
nn.functional = _module("torch.nn.functional", pad=_pad)  # type: ignore[attr-defined]
utils = _module("torch.utils")
utils.data = _module("torch.utils.data", DataLoader=object)  # type: ignore[attr-defined]
