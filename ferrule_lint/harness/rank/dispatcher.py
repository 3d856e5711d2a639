"""The one place that leans on torch's internals: a kernel in front of every `c10d` operation.

A kernel at the dispatch key `BackendSelect` sees what a patched `torch.distributed` cannot: what DDP's reducer issues
in C++, what DTensor issues within its dispatch, functional collectives, and names imported before. docs/harness.md
lists the private names that are needed. `check` issues one operation on a group that does nothing and says, with
torch's version, if it is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist

from ferrule_lint.harness.errors import HarnessError

#: tested, see docs/harness.md; others from the oldest on are tried, and refused by `check` if something is missing
TESTED = (
    "2.4.1",
    "2.5.1",
    "2.6.0",
    "2.7.1",
    "2.8.0",
    "2.9.1",
    "2.10.0",
    "2.11.0",
    "2.12.0",
    "2.13.0",
    "2.14.1",
    "2.15.0",
)
OLDEST = (2, 4)
#: the first in which the boxed reduce operation of an operation can be read
TELLS_REDUCE_OP = (2, 10)

#: called before each operation with its name and arguments by name; what it returns is called afterwards
OnOperation = Callable[[str, Mapping[str, Any]], Callable[[], None]]

_NOT_COLLECTIVE = {"check_for_nan"}
#: files in which the functions are that people call, and how many frames above the kernel they are at most
_ENTRIES = ("distributed_c10d.py", "_functional_collectives.py")
_NEAR = 12


def version() -> tuple[int, int]:
    words = torch.__version__.split("+")[0].split(".")
    return int(words[0]), int(words[1])


def operations() -> list[str]:
    """The names of all `c10d` operations of this torch, without namespace."""
    names = {name for name in torch._C._dispatch_get_all_op_names() if name.startswith("c10d::")}
    return sorted({name[len("c10d::") :].split(".")[0] for name in names} - _NOT_COLLECTIVE)


def install(on_operation: OnOperation) -> Any:
    """Put a kernel in front of every operation until the returned library is removed with `remove`."""
    after = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)
    library = torch.library.Library("c10d", "IMPL")
    for name in operations():
        library.impl(name, _kernel(name, after, on_operation), "BackendSelect", with_keyset=True)
    return library


def _kernel(name: str, after: Any, on_operation: OnOperation) -> Callable[..., Any]:
    operation = getattr(torch.ops.c10d, name).default
    names = [argument.name for argument in operation._schema.arguments]

    def kernel(keys: Any, *arguments: Any, **named: Any) -> Any:
        done = on_operation(name, {**dict(zip(names, arguments, strict=False)), **named})
        try:
            return operation.redispatch(keys & after, *arguments, **named)
        finally:
            done()

    return kernel


def remove(library: Any) -> None:
    library._destroy()


def process_group(arguments: Mapping[str, Any]) -> Any:
    return dist.ProcessGroup.unbox(arguments["process_group"])


def reduce_op(arguments: Mapping[str, Any], frame: FrameType | None = None) -> str:
    """`SUM`, `MAX`, ...; empty if the operation reduces nothing, or (before 2.10, below Python) torch does not tell."""
    boxed = arguments.get("reduce_op")
    if boxed is None:
        return ""
    if hasattr(boxed, "op"):
        return str(dist.ReduceOp.RedOpType(boxed.op()).name)
    asked = _asked(frame, "op", "reduceOp")
    return asked.upper() if isinstance(asked, str) else str(getattr(getattr(asked, "op", asked), "name", ""))


def is_async(arguments: Mapping[str, Any], frame: FrameType | None) -> bool:
    """Does the caller of this collective go on without waiting? Where nothing tells, it does."""
    if "wait_all_ranks" in arguments:
        return False
    for name in ("async_op", "asyncOp"):
        if name in arguments:
            return bool(arguments[name])
    asked = _asked(frame, "async_op")
    return True if asked is None else bool(asked)


def link(arguments: Mapping[str, Any], group: Any) -> str:
    """Over which communicator NCCL sends and receives: "pair", "group", or empty if it is not NCCL that does.

    A group has one for each two ranks, outside of batches, unless it was bound to a device
    (`init_process_group(device_id=...)`): then it has one for everything. (ProcessGroupNCCL::pointToPoint, torch 2.11)
    """
    try:
        backend = dist.get_backend(group)
    except (ValueError, RuntimeError):
        return ""  # a group that torch.distributed has not made
    if "nccl" not in backend or not any(map(_is_on_gpu, arguments.values())):
        return ""
    return "pair" if getattr(group, "bound_device_id", None) is None else "group"


def _is_on_gpu(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return bool(value.is_cuda)
    return isinstance(value, (list, tuple)) and any(map(_is_on_gpu, value))


def in_batch(group: Any) -> bool:
    """Within `_coalescing_manager`, which is what `batch_isend_irecv` does where the backend can."""
    return group in getattr(dist.distributed_c10d._world, "pg_coalesce_state", ())


def _asked(frame: FrameType | None, *names: str) -> Any:
    """What a function of torch.distributed was called with, where the operation below does not say."""
    for _ in range(_NEAR):
        if frame is None:
            break
        if frame.f_code.co_filename.endswith(_ENTRIES):
            for name in names:
                if frame.f_locals.get(name) is not None:
                    return frame.f_locals[name]
        frame = frame.f_back
    return None


def check() -> None:
    """Issue one operation on a fake group and see that it is seen, else HarnessError. Leaves nothing behind."""
    found = torch.__version__
    if not dist.is_available():
        raise HarnessError(f"torch {found} was built without torch.distributed")
    if version() < OLDEST:
        raise HarnessError(f"torch {found} is too old: the harness needs {OLDEST[0]}.{OLDEST[1]} or newer")
    try:
        seen = _probe()
    except Exception as error:
        raise HarnessError(_untested(found, f"{type(error).__name__}: {error}")) from error
    if seen != ("allreduce_", "MAX" if version() >= TELLS_REDUCE_OP else "", 1):
        raise HarnessError(_untested(found, f"an all_reduce was recorded as {seen}"))


def _untested(found: str, what: str) -> str:
    return f"the recorder does not work with torch {found} (tested: {TESTED[0]} to {TESTED[-1]}): {what}"


def _probe() -> Any:
    from torch._C._distributed_c10d import FakeProcessGroup

    seen: list[Any] = []

    def on_operation(name: str, arguments: Mapping[str, Any]) -> Callable[[], None]:
        group = process_group(arguments)
        seen.append((name, reduce_op(arguments), group.size()))
        return lambda: None

    make = getattr(FakeProcessGroup, "_create_internal", FakeProcessGroup)
    fake = make(0, 1)
    # before 2.6 a group had to be told the name of its backend
    named = (dist.ProcessGroup.Options("undefined"),) if version() < (2, 6) else ()
    group = dist.ProcessGroup(dist.HashStore(), 0, 1, *named)
    group._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.CUSTOM, fake)
    options = dist.AllreduceOptions()
    options.reduceOp = dist.ReduceOp.MAX
    library = install(on_operation)
    try:
        group.allreduce([torch.zeros(1)], options)
    finally:
        remove(library)
    group.allreduce([torch.zeros(1)], options)
    return seen[0] if len(seen) == 1 else seen
