"""Parameters that FSDP shards: of their values and gradients each rank has a part, so what it reads there is its own.

`torch.nn.utils.clip_grad_norm_` of them is a norm of the rank's part, which is why the class has a method of that name.
What `fully_shard` leaves are DTensors, whose reductions are over all parts.

https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.FullyShardedDataParallel.clip_grad_norm_
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_CLASS = "FullyShardedDataParallel"
_METHODS = frozenset({"parameters", "named_parameters"})
#: what gathers the parts, or says that there is one for all
_WHOLE = frozenset({"summon_full_params", "NO_SHARD"})


def of_method(frame: Frame, name: str, receiver: Value, e: f.Call) -> Value | None:
    """`model.parameters()`, where the model is sharded so."""
    if name not in _METHODS or frame.light or (receiver.external or "").rpartition(".")[2] != _CLASS:
        return None
    if frame.function is not None and any(
        (type(node) is f.Name or type(node) is f.Attr) and last_name(node) in _WHOLE
        for node in walk(frame.function.body)
    ):
        return None
    model = shown(e.func.base) if type(e.func) is f.Attr else "the model"
    note = f"`{model}` is sharded: of its parameters and gradients each rank has a part"
    return Value(data=frame.source(DP, "data", e.pos, note, Confidence.MEDIUM), there=True)
