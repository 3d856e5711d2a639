"""Indices that are as long as they were made, whatever they choose from: `kept[torch.randint(len(kept), (16,))]`.

What is drawn with replacement, spread over all there is (`linspace(0, len(kept) - 1, 16)`), or written out has as many
items on each rank as the text says; where there are too few to draw from without replacement, torch and numpy raise. An
order of what there is (`randperm`, `argsort`), and what is cut from one, is none of these: it is as long, or shorter.
https://docs.pytorch.org/docs/stable/generated/torch.multinomial.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.text import argument_of, last_name, root_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: what makes a tensor of a size that it is told: whether that differs is known of the tensor
_OF_SIZE = frozenset(
    "randint rand randn zeros ones full empty arange randint_like rand_like zeros_like ones_like full_like".split()
)
#: what makes as many as an argument says: its name, and its place in a call of a module's function
_AS_MANY = {
    "multinomial": ("num_samples", 1),
    "linspace": ("num", 2),
    "choice": ("size", 1),
    "choices": ("k", 2),
    "sample": ("k", 1),
}
_NUMPY = ("np", "numpy")
_MODULES = ("torch", "random", *_NUMPY)
#: what works on each item by itself
_ITEM_BY_ITEM = frozenset(
    "long int short to type astype cpu cuda numpy round floor ceil trunc clamp clamp_ clip mul add sub remainder fmod "
    "abs as_tensor tensor asarray array from_numpy LongTensor sorted list".split()
)
_ARITHMETIC = frozenset("Add Sub Mult Mod FloorDiv Div".split())
_DEEPEST = 8


def has_own_size(frame: Frame, expr: f.Expr, depth: int = 0) -> bool:
    """Whether an index is as long as it was made, as far as the text tells."""
    made = definition(frame, expr)
    if depth > _DEEPEST:
        return False
    if type(made) is f.Sequence:
        return bool(made.elements) and all(type(e) is not f.Starred for e in made.elements)
    if type(made) is f.Comprehension:
        return len(made.generators) == 1 and not made.generators[0].conditions and _is_count(frame, made.generators[0])
    if type(made) is f.Op:
        parts = [has_own_size(frame, operand, depth + 1) for operand in made.operands]
        return made.kind in _ARITHMETIC and any(parts)
    return type(made) is f.Call and _of_call(frame, made, depth)


def _of_call(frame: Frame, call: f.Call, depth: int) -> bool:
    name = last_name(call.func)
    if name in _AS_MANY or (name == "randint" and root_name(call.func) in _NUMPY):
        return _is_as_many(frame, call, name)
    if name in _OF_SIZE:
        made = call.args[0] if name.endswith("_like") and call.args else call
        return frame.ask(made).shape is None
    if name in ("argmax", "argmin"):  # of each row
        return bool(call.keywords) or len(call.args) > (root_name(call.func) in _MODULES)
    if name not in _ITEM_BY_ITEM:
        return False
    if type(call.func) is f.Attr and (_is_method(call) or root_name(call.func) not in _MODULES):
        whole: f.Expr | None = call.func.base
    else:
        whole = call.args[0] if call.args else None
    return whole is not None and has_own_size(frame, whole, depth + 1)


def _is_method(call: f.Call) -> bool:
    """Whether something is called on what another call has made: `torch.rand(16).mul(n)`."""
    return type(call.func) is f.Attr and type(call.func.base) not in (f.Name, f.Attr)


def _is_as_many(frame: Frame, call: f.Call, name: str) -> bool:
    if name == "linspace" and root_name(call.func) == "torch":
        return frame.ask(call).shape is None
    keyword, place = _AS_MANY.get(name, ("size", 2))
    if root_name(call.func) not in _MODULES or _is_method(call):
        place -= 1  # of a tensor, or a generator
    if name in ("choice", "randint") and root_name(call.func) not in _MODULES:
        return False
    count = argument_of(call, keyword, place)
    if count is None:
        return False
    value = frame.ask(count)
    return not (value.divergence or value.data or value.shape or value.length)


def _is_count(frame: Frame, walked: f.Generator) -> bool:
    """Whether the rounds of a comprehension are a number of them."""
    iterable = walked.iterable
    if type(iterable) is not f.Call or last_name(iterable.func) != "range":
        return False
    return all(not (v.divergence or v.data) for v in map(frame.ask, iterable.args))
