"""The functions that fixes write into a file. They need torch and nothing else, and bind no group of their own.

Outside an initialised process group each is the identity: what one process decides, all decide. The tensors that
they reduce are on the device that the group's backend wants.
"""

from __future__ import annotations

#: two lines: the device that a group reduces on, the CPU if it can. The configuration lists the backends by device
#: ("cpu:gloo,cuda:nccl"), also where `init_process_group` was told no backend or that of one device
_DEVICE = """devices = {dist}.get_backend_config(group)
{indent}device = "cpu" if "cpu:" in devices else devices.partition(":")[0]"""


def _device(indent: int) -> str:
    """`_DEVICE` in a block; the helpers' own placeholders stay."""
    return _DEVICE.replace("{indent}", " " * indent)


def _agreed(arguments: str, says: str, values: str, op: str, result: str) -> str:
    """A helper that agrees on `values` by one reduction with `op`; `result` is what it returns of them."""
    return f'''def {{name}}({arguments}, group=None):
    """{says}"""
    values = {values}
    if {{dist}}.is_available() and {{dist}}.is_initialized():
        {_device(8)}
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

AVERAGE = f'''def {{name}}(number, group=None):
    """The mean of `number` over the ranks of `group`."""
    if {{dist}}.is_available() and {{dist}}.is_initialized():
        {_device(8)}
        total = {{torch}}.tensor(float(number), dtype={{torch}}.float64, device=device)
        {{dist}}.all_reduce(total, group=group)
        number = total.item() / {{dist}}.get_world_size(group)
    return number
'''

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
    if not ({dist}.is_available() and {dist}.is_initialized()):
        return [tensor]
    shape = {torch}.tensor(tensor.shape, device=tensor.device)
    shapes = [{torch}.empty_like(shape) for _ in range({dist}.get_world_size(group))]
    {dist}.all_gather(shapes, shape, group=group)
    padded = tensor.new_zeros({torch}.stack(shapes).amax(dim=0).tolist())
    padded[tuple(slice(size) for size in tensor.shape)] = tensor
    parts = [{torch}.empty_like(padded) for _ in shapes]
    {dist}.all_gather(parts, padded, group=group)
    return [part[tuple(slice(size) for size in one.tolist())] for part, one in zip(parts, shapes)]
'''

INPUTS_OF_ANY_RANK = f'''def {{name}}(here, *inputs, group=None):
    """`inputs` where they are `here`, on the other ranks of `group` what stands in for them; None if no rank has any.

    Tensors of floating-point numbers come as zeros of the same shape, all else (sizes, say) as it is on the
    first rank that has any.
    """
    if not ({{dist}}.is_available() and {{dist}}.is_initialized()):
        return list(inputs) if here else None
    {_device(4)}
    rank, size = {{dist}}.get_rank(group), {{dist}}.get_world_size(group)
    agreed = {{torch}}.tensor([rank if here else size, int(here)], device=device)
    {{dist}}.all_reduce(agreed, op={{dist}}.ReduceOp.MIN, group=group)
    first, all_here = agreed.tolist()
    if first == size:
        return None
    if all_here:
        return list(inputs)
    kinds = [one.device.type if {{torch}}.is_tensor(one) else "" for one in inputs]
    shapes = [one.to("meta") if kind and one.is_floating_point() else one for kind, one in zip(kinds, inputs)]
    box = [kinds, [one.cpu() if {{torch}}.is_tensor(one) and not one.is_meta else one for one in shapes]]
    source = first if group is None else {{dist}}.get_global_rank(group, first)
    {{dist}}.broadcast_object_list(box, src=source, group=group)
    if here:
        return list(inputs)
    made = [{{torch}}.zeros_like(one, device=kind) if kind and one.is_meta else one for kind, one in zip(*box)]
    return [one.to(kind) if kind else one for kind, one in zip(box[0], made)]
'''

SUM_OF = '''def {name}(outputs):
    """The sum of all tensors in `outputs`, which may be nested: times zero it keeps them in the graph."""
    if isinstance(outputs, {torch}.Tensor):
        return outputs.sum()
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    return sum({name}(one) for one in outputs) if isinstance(outputs, (list, tuple)) else 0
'''

END_TOGETHER = f'''def {{name}}(batches, ended, group=None):
    """The items of `batches` while every rank of `group` has one; then all of them get the exception `ended`."""
    while True:
        batch, left = None, True
        try:
            batch = next(batches)
        except (StopIteration, ended):
            left = False
        if {{dist}}.is_available() and {{dist}}.is_initialized():
            {_device(12)}
            agreed = {{torch}}.tensor(int(left), device=device)
            {{dist}}.all_reduce(agreed, op={{dist}}.ReduceOp.MIN, group=group)
            left = bool(agreed.item())
        if not left:
            raise ended
        yield batch
'''
