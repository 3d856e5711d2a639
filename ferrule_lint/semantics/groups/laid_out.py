"""Groups that a file lays out by a size: of ranks in a row, and of ranks at that distance from each other.

```python
rows = [new_group([n * size + i for i in range(size)]) for n in range(world_size // size)]
columns = [new_group(range(i, world_size, size)) for i in range(size)]
```

All ranks of a row have one quotient by the size (`rank // size`; `rank < size` in the first), and all of a column leave
one rest (`rank % size`): a test of that asks which of the groups is this rank's, and is the same for all its members.
Where a file makes both, either may be asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.arithmetic import factors
from ferrule_lint.semantics.domain.text import last_name, render, variables
from ferrule_lint.semantics.groups.strides import counts_on_node, is_place_on_node

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_MAKES = "new_group"
_IN_A_ROW, _APART = "FloorDiv", "Mod"
#: what a process is told by the one that starts it: how many there are on its node
_ON_NODE = "LOCAL_WORLD_SIZE"


def asks_for_own(frame: Frame, op: str, left: f.Expr, right: f.Expr) -> bool:
    """Whether a comparison by `==`, `!=`, `<` or `>=` asks which of the groups of its file is this rank's."""
    sizes = _sizes(frame) if frame.module.mentions_any(frozenset({_MAKES})) else frozenset()
    if not sizes:
        return False
    if op in ("<", ">="):  # in the first row, or behind it
        return (_IN_A_ROW, render(right)) in sizes
    return any(_is_place(frame, asked, sizes) for asked in (left, right))


def _is_place(frame: Frame, asked: f.Expr, sizes: frozenset[tuple[str, str]]) -> bool:
    meant = _meaning(frame, asked)
    if type(meant) is f.Op and meant.kind in (_IN_A_ROW, _APART) and len(meant.operands) == 2:
        return (meant.kind, render(meant.operands[1])) in sizes
    if not is_place_on_node(asked, meant):
        return False
    counted = [size for kind, size in sizes if kind == _APART]
    return any(counts_on_node(_named(size)) or _ON_NODE in render(_meaning(frame, _named(size))) for size in counted)


def _named(size: str) -> f.Expr:
    return f.Const(size) if size.isdigit() else f.Name(size, (0, 0, 0, 0))


def _meaning(frame: Frame, expr: f.Expr) -> f.Expr:
    """What a name or an attribute of the instance stands for, if only one thing is assigned to it."""
    meant = definition(frame, expr)
    if type(meant) is f.Attr and frame.self_class is not None:
        methods = frame.self_class.methods.values()
        given = [one for method in methods for one in frame.analysis.bodies.given(method.body, render(meant))]
        return given[0] if len(given) == 1 else meant
    if type(meant) is f.Name:
        given = frame.analysis.bodies.assigned(frame.module.body, meant.id)
        return given[0] if len(given) == 1 else meant
    return meant


def _sizes(frame: Frame) -> frozenset[tuple[str, str]]:
    """By which sizes the file makes groups, each with the kind of group."""
    makers = [frame.module.body if maker is None else maker.body for maker, _ in frame.module.calls_named(_MAKES)]
    return frozenset().union(*[frame.analysis.bodies.once(_laid_out, body) for body in makers])


def _laid_out(body: f.Body) -> frozenset[tuple[str, str]]:
    found = {size for call in nodes(body, f.Call) if last_name(call.func) == "range" for size in _of_range(call)}
    for listed in nodes(body, f.Comprehension):
        found.update(_of_comprehension(listed))
    for made in (call for call in nodes(body, f.Call) if last_name(call.func) == _MAKES):
        for ranks in nodes(made, f.Call):  # the first ones: `new_group(list(range(size)))`
            if last_name(ranks.func) == "range" and len(ranks.args) == 1:
                found.add((_IN_A_ROW, render(ranks.args[0])))
    return frozenset(found)


def _of_range(call: f.Call) -> Iterator[tuple[str, str]]:
    """`range(first, end, size)` from any first one; `range(n * size, ...)`, and `range(start, start + size)`."""
    if len(call.args) == 3 and type(call.args[0]) is not f.Const:
        yield _APART, render(call.args[2])
    if len(call.args) != 2:
        return
    first, end = call.args
    if type(first) is f.Op and first.kind == "Mult":
        yield from ((_IN_A_ROW, render(factor)) for factor in factors(first))
    elif type(first) is f.Name and type(end) is f.Op and end.kind == "Add":
        parts = [render(part) for part in end.operands]
        yield from ((_IN_A_ROW, part) for part in parts if first.id in parts and part != first.id)


def _of_comprehension(listed: f.Comprehension) -> Iterator[tuple[str, str]]:
    """`n * size + i for i in range(size)` and `i + n * size for n in range(k)`; `r for r in ranks if r % size == i`."""
    own = variables(tuple(generator.target for generator in listed.generators))
    sums = [element.operands for element in listed.elements if type(element) is f.Op and element.kind == "Add"]
    for term in (term for operands in sums for term in operands):
        if type(term) is f.Op and term.kind == "Mult":
            kind = _APART if variables(term) & own else _IN_A_ROW
            yield from ((kind, render(x)) for x in term.operands if not variables(x) & own)
    tests = [test for generator in listed.generators for test in generator.conditions]
    for test in tests:
        of_any = type(test) is f.Compare and test.ops == ("==",) and type(test.rights[0]) is not f.Const
        side = test.left if type(test) is f.Compare and of_any else None
        if type(side) is f.Op and side.kind in (_IN_A_ROW, _APART) and len(side.operands) == 2:
            yield side.kind, render(side.operands[1])
