"""Lists that a gather writes into, with a place of the right size for what each rank brings.

`torch.distributed.all_gather(tensor_list, tensor)` takes tensors of different sizes if each place of the list has the
size of what its rank brings (https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_gather). That
is so where the sizes were gathered before, and where the list is written out with places that are made differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.text import called_name, last_name, render, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: methods and functions that cut a buffer into parts of given sizes
_CUTS = frozenset({"split", "split_with_sizes", "tensor_split"})


def sized_by_rank(frame: Frame, buffers: f.Expr | None) -> bool:
    """Whether a list has places of a size for each rank."""
    if buffers is None or frame.light:
        return False
    if type(buffers) is f.Name and _filled_by_size(frame, buffers):
        return True
    made = _made(frame, buffers)
    if type(made) is f.Call and last_name(made.func) in ("list", "tuple") and len(made.args) == 1:
        made = made.args[0]
    if type(made) is f.Comprehension:
        return any(_by_size(frame, g.target, g.iterable, made.elements) for g in made.generators)
    if type(made) is f.Call and last_name(made.func) in _CUTS:
        return any(frame.eval(a).agreed or _counts_with_rank(a) for a in made.args)
    return len({render(place) for place in _places(made)}) > 1


def _made(frame: Frame, buffers: f.Expr) -> f.Expr:
    """What a list was made as, whatever has been put into its places since."""
    if type(buffers) is not f.Name or frame.function is None:
        return buffers
    made = _all_made(frame, buffers)
    return made[0] if len(made) == 1 else definition(frame, buffers)


def _all_made(frame: Frame, buffers: f.Name) -> list[f.Expr]:
    """What a list is made as, wherever it is."""
    assert frame.function is not None
    return frame.analysis.bodies.assigned(frame.function.body, buffers.id)


def _by_size(frame: Frame, target: f.Expr, walked: f.Expr, elements: tuple[f.Expr, ...]) -> bool:
    """Whether what is made for each item of something that the ranks have gathered, or of which nothing is known, is
    made by that item: `torch.empty(n) for n in sizes`, `torch.empty(sizes[i]) for i in range(len(sizes))`."""
    names = variables(target)
    used = [n for element in elements for n in walk(element)]
    if not any(type(n) is f.Name and n.id in names for n in used):
        return False
    sizes = frame.eval(walked)
    if (sizes.agreed or sizes.observed is None) and called_name(walked) not in ("range", "enumerate"):
        return True
    return any(
        type(n) is f.Subscript and type(n.index) is f.Name and n.index.id in names and _are_sizes(frame, n.base)
        for n in used
    )


def _counts_with_rank(sizes: f.Expr) -> bool:
    """Whether sizes are worked out from the number of the rank that brings as much: `[r + 1 for r in range(size)]`."""
    if type(sizes) is not f.Comprehension or len(sizes.generators) != 1:
        return False
    names = variables(sizes.generators[0].target)
    used = [n for element in sizes.elements for n in walk(element)]
    counted = called_name(sizes.generators[0].iterable) == "range"
    return counted and any(type(n) is f.Name and n.id in names for n in used)


def _are_sizes(frame: Frame, expr: f.Expr) -> bool:
    """Whether what has a place for each rank holds sizes that the ranks agreed on, or that the caller hands over for
    them (`split_sizes`): who makes each buffer by it knows that they differ."""
    value = frame.eval(expr)
    if value.agreed or type(expr) is not f.Name or frame.function is None:
        return value.agreed
    given = any(p.name == expr.id for p in frame.function.parameters) and not frame.version(expr.id)
    return given and value.observed is None and value.const != "None"


def _filled_by_size(frame: Frame, buffers: f.Name) -> bool:
    """The same for a list to which a loop appends, where it is made without places: the rest is its other way."""
    if frame.function is None or not any(type(m) is f.Sequence and not m.elements for m in _all_made(frame, buffers)):
        return False
    for loop in statements(frame.function.body):
        if type(loop) is not f.For:
            continue
        for s in loop.body:
            call = s.value if type(s) is f.ExprStmt else None
            if type(call) is f.Call and type(call.func) is f.Attr and call.func.attr == "append":
                base = call.func.base
                if type(base) is f.Name and base.id == buffers.id:
                    return _by_size(frame, loop.target, loop.iterable, (*call.args, *_set_for(loop, call.args)))
    return False


def _set_for(loop: f.For, elements: tuple[f.Expr, ...]) -> list[f.Expr]:
    """What a round puts into the shape by which it makes a place: `shape[0] = sizes[i]`."""
    used = {name for element in elements for name in variables(element)}
    return [
        s.value
        for s in loop.body
        if type(s) is f.Assign and s.value is not None
        if any(last_name(t.base if type(t) is f.Subscript else t) in used for t in s.targets)
    ]


def _places(made: f.Expr) -> list[f.Expr]:
    """The places of a list as they are written: `[a, b]`, `[a] + [b] * (n - 1)`, `[a] + [b for _ in range(n - 1)]`."""
    if type(made) is f.Sequence:
        return list(made.elements)
    if type(made) is f.Comprehension:
        return list(made.elements)
    if type(made) is f.Op and made.kind == "Add":
        return [place for operand in made.operands for place in _places(operand)]
    if type(made) is f.Op and made.kind == "Mult":
        return [place for operand in made.operands if type(operand) is f.Sequence for place in operand.elements]
    return []
