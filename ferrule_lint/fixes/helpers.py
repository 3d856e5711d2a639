"""The functions that fixes write into a file. They need torch and nothing else, and bind no group of their own.

Outside an initialised process group each is the identity: what one process decides, all decide. The tensors that
they reduce are on the device that the group's backend wants.
"""

from __future__ import annotations

_DEVICE = '{{"nccl": "cuda", "hccl": "npu", "xccl": "xpu"}}.get({dist}.get_backend(group), "cpu")'

ANY_RANK = (
    '''def {name}(flag, group=None):
    """Whether `flag` is true on some rank of `group`: one answer for all of them."""
    if not ({dist}.is_available() and {dist}.is_initialized()):
        return bool(flag)
    device = '''
    + _DEVICE
    + """
    vote = {torch}.tensor(int(bool(flag)), device=device)
    {dist}.all_reduce(vote, op={dist}.ReduceOp.MAX, group=group)
    return bool(vote.item())
"""
)

ANY_RANK_EACH = (
    '''def {name}(*flags, group=None):
    """For each flag whether it is true on some rank of `group`: one reduction, one answer for all ranks."""
    if not ({dist}.is_available() and {dist}.is_initialized()):
        return [bool(flag) for flag in flags]
    device = '''
    + _DEVICE
    + """
    votes = {torch}.tensor([int(bool(flag)) for flag in flags], device=device)
    {dist}.all_reduce(votes, op={dist}.ReduceOp.MAX, group=group)
    return [bool(vote) for vote in votes.tolist()]
"""
)

EVERY_RANK = (
    '''def {name}(flag, group=None):
    """Whether `flag` is true on every rank of `group`: one answer for all of them."""
    if not ({dist}.is_available() and {dist}.is_initialized()):
        return bool(flag)
    device = '''
    + _DEVICE
    + """
    vote = {torch}.tensor(int(bool(flag)), device=device)
    {dist}.all_reduce(vote, op={dist}.ReduceOp.MIN, group=group)
    return bool(vote.item())
"""
)

LARGEST = (
    '''def {name}(number, group=None):
    """The largest `number` of all ranks of `group`."""
    if not ({dist}.is_available() and {dist}.is_initialized()):
        return int(number)
    device = '''
    + _DEVICE
    + """
    largest = {torch}.tensor(int(number), device=device)
    {dist}.all_reduce(largest, op={dist}.ReduceOp.MAX, group=group)
    return int(largest.item())
"""
)

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
