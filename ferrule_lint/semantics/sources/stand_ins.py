"""What a function puts in the place of an input that is missing, or has no more than a sign for that in it, and hands
back: `if len(images) == 0: images = torch.zeros(1, 3, size, size)`.

For samples without images a data set hands on a tensor that is empty or tiny, so that the gap shows as a size. Who
makes the batch of it names the input as it likes: `imgs` for `images`.
"""

from __future__ import annotations

import re

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.text import is_key, items_named, last_name, variables

_MADE_UP = re.compile(r"(new_)?(zeros|ones|empty|full|rand\w*)(_like)?$|dummy|fake|mock|placeholder", re.IGNORECASE)
#: by these a tensor is asked how much is in it
_SIZES = frozenset({"shape", "size", "numel", "nelement", "len", "ndim"})


def names_of(name: str) -> tuple[str, ...]:
    """The names under which batches have an input."""
    short = name.replace("image", "img")
    return (name,) if short == name else (name, short)


def is_made_up(value: f.Expr | None) -> bool:
    """`torch.zeros(...)`, `np.zeros(...)`."""
    if type(value) is f.Call and type(value.func) is f.Attr and value.func.attr in ("to", "float", "half", "unsqueeze"):
        value = value.func.base
    return type(value) is f.Call and _MADE_UP.search(last_name(value.func)) is not None


def fills_each(body: f.Body, name: str) -> bool:
    """Whether a function goes through the names of inputs, and puts something made up under each that no sample has:
    `for key in shapes:`, `if all(s.get(key) is None for s in samples): batch[key] = torch.full(shapes[key], -1)`."""
    for loop in statements(body):
        if type(loop) is not f.For or not _may_be(loop.iterable, name):
            continue
        keys = variables(loop.target)
        for node in statements(loop.body):
            told = _none_has(node.test) if type(node) is f.If else None
            if type(node) is not f.If or told is None:
                continue
            if any(_puts_under(s, keys) for s in statements(node.body if told else node.orelse)):
                return True
    return False


def _may_be(names: f.Expr, name: str) -> bool:
    """Whether a name can be among those that a loop goes through."""
    return type(names) is not f.Sequence or any(is_key(item, name) for item in names.elements)


def _none_has(test: f.Expr) -> bool | None:
    """Whether a test says that no sample has something, or that one has: `all(x is None for x in found)`, `any(key in s
    for s in samples)`; None: it asks for something else."""
    if type(test) is f.Not:
        told = _none_has(test.operand)
        return None if told is None else not told
    if type(test) is not f.Call or len(test.args) != 1 or type(test.args[0]) is not f.Comprehension:
        return None
    every, asked = last_name(test.func), test.args[0].elements
    if every not in ("all", "any") or len(asked) != 1 or type(asked[0]) is not f.Compare:
        return None
    of_none = asked[0].rights == (f.Const("None"),)
    absent, present = ("is", "is not") if of_none else ("not in", "in")
    return {("all", absent): True, ("any", present): False}.get((every, asked[0].ops[0]))


def _puts_under(s: object, keys: set[str]) -> bool:
    return (
        type(s) is f.Assign
        and is_made_up(s.value)
        and any(type(t) is f.Subscript and type(t.index) is f.Name and t.index.id in keys for t in s.targets)
    )


def handed_back(body: f.Body, name: str) -> bool:
    """Whether a function puts something made up, and not empty, where it finds too little under a name, and returns
    what the name then holds."""
    every = statements(body)
    arms = [s.body for s in every if type(s) is f.If and _asks_for_little(s.test, name)]
    if not any(_puts(arm, name) for arm in arms):
        return False
    returned = (s.value for s in every if type(s) is f.Return)
    return any(n.id == name for value in returned for n in items_named(value))


def _asks_for_little(test: f.Expr, name: str) -> bool:
    """`x is None`, or a comparison of its size with something fixed: `x.shape == torch.Size([1, 1])`."""
    if type(test) is f.BoolOp and test.op == "or":
        return any(_asks_for_little(v, name) for v in test.values)
    if type(test) is not f.Compare or len(test.ops) != 1:
        return False
    if test.ops == ("is",):
        return test.rights == (f.Const("None"),) and type(test.left) is f.Name and test.left.id == name
    return test.ops == ("==",) and _is_size(test.left, name) and _is_fixed(test.rights[0])


def _is_size(expr: f.Expr, name: str) -> bool:
    """`x.shape`, `x.shape[0]`, `x.numel()`, `x.size(0)`, `len(x)`."""
    if type(expr) is f.Subscript:
        return _is_size(expr.base, name)
    if type(expr) is f.Call:
        if expr.args and last_name(expr.func) == "len":
            return type(expr.args[0]) is f.Name and expr.args[0].id == name
        expr = expr.func
    return type(expr) is f.Attr and expr.attr in _SIZES and type(expr.base) is f.Name and expr.base.id == name


def _is_fixed(expr: f.Expr) -> bool:
    """Whether a size is written out."""
    if type(expr) is f.Call and last_name(expr.func) == "Size":
        return all(map(_is_fixed, expr.args))
    if type(expr) is f.Sequence:
        return all(map(_is_fixed, expr.elements))
    return type(expr) is f.Const


def _puts(arm: f.Body, name: str) -> bool:
    """Whether an arm gives a name something made up that has a size, but for noise: that is what a sampler begins with
    where it is given nothing."""
    return any(
        type(s) is f.Assign
        and any(type(t) is f.Name and t.id == name for t in s.targets)
        and is_made_up(s.value)
        and not any(node == f.Const("0") for node in walk(_sizes(s.value)))
        and not any(type(node) is f.Call and "rand" in last_name(node.func) for node in walk(s.value))
        for s in statements(arm)
    )


def _sizes(value: f.Expr | None) -> tuple[f.Expr, ...]:
    call = next((node for node in walk(value) if type(node) is f.Call and _MADE_UP.search(last_name(node.func))), None)
    return call.args if call is not None else ()
