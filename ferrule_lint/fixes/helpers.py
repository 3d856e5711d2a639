"""The functions that fixes write into a file. They need torch and nothing else, and bind no group of their own.

Outside an initialised process group each is the identity: what one process decides, all decide. The tensors that
they reduce are on the device that the group's backend wants.
"""

from __future__ import annotations

#: the device that the backend of a group reduces on
_DEVICE = '{{"nccl": "cuda", "hccl": "npu", "xccl": "xpu"}}.get({dist}.get_backend(group), "cpu")'


def _agreed(arguments: str, says: str, values: str, op: str, result: str) -> str:
    """A helper that agrees on `values` by one reduction with `op`; `result` is what it returns of them."""
    return f'''def {{name}}({arguments}, group=None):
    """{says}"""
    values = {values}
    if {{dist}}.is_available() and {{dist}}.is_initialized():
        device = {_DEVICE}
        agreed = {{torch}}.tensor(values, device=device)
        {{dist}}.all_reduce(agreed, op={{dist}}.ReduceOp.{op}, group=group)
        values = agreed.tolist()
    return {result}
'''


ANY_RANK = _agreed(
    "*flags",
    "Whether each of `flags` is true on some rank of `group`, told by one reduction; one flag has one answer.",
    "[int(bool(flag)) for flag in flags]",
    "MAX",
    "bool(values[0]) if len(values) == 1 else [bool(value) for value in values]",
)
EVERY_RANK = _agreed(
    "flag", "Whether `flag` is true on every rank of `group`.", "[int(bool(flag))]", "MIN", "bool(values[0])"
)
LARGEST = _agreed("number", "The largest `number` of all ranks of `group`.", "[int(number)]", "MAX", "values[0]")

PAD_TO_LONGEST = '''def {name}(tensor, group=None):
    """`tensor` with zeros behind it, as long in its first dimension as the longest of all ranks of `group`."""
    if not ({dist}.is_available() and {dist}.is_initialized()):
        return tensor
    longest = {torch}.tensor(tensor.size(0), device=tensor.device)
    {dist}.all_reduce(longest, op={dist}.ReduceOp.MAX, group=group)
    return {torch}.nn.functional.pad(tensor, [0, 0] * (tensor.dim() - 1) + [0, int(longest.item()) - tensor.size(0)])
'''

GATHER_UNEVEN = '''def {name}(tensor, group=None):
    """The tensors of all ranks of `group`, each of its own size: padded to the largest, gathered, cut back."""
    shape = {torch}.tensor(tensor.shape, device=tensor.device)
    shapes = [{torch}.empty_like(shape) for _ in range({dist}.get_world_size(group))]
    {dist}.all_gather(shapes, shape, group=group)
    padded = tensor.new_zeros({torch}.stack(shapes).amax(dim=0).tolist())
    padded[tuple(slice(size) for size in tensor.shape)] = tensor
    parts = [{torch}.empty_like(padded) for _ in shapes]
    {dist}.all_gather(parts, padded, group=group)
    return [part[tuple(slice(size) for size in one.tolist())] for part, one in zip(parts, shapes)]
'''
