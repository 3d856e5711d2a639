"""Parts of one thing that are put together again: `cat([x[m], x[~m]])`, `cat([x[n:], x[:n]])`.

What a mask has left and what it has left out are as much as there was, in another order; so are the two sides of a cut,
wherever it lies, also with a fixed number of items missing or put in between (`cat([x[:i], x[i + 1 :]])`). Told by the
text, also of parts and masks that were given names which mean the same throughout the function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.bound_parts import bound_parts
from ferrule_lint.semantics.domain.dependences import FLOWS, only
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, root_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: methods, and operators with one operand that is a number, that leave as many items as there are
_ITEM_BY_ITEM = frozenset(
    "mul add sub div clone detach float half long int to cuda cpu contiguous squeeze view reshape flatten relu "
    "exp".split()
)
_ARITHMETIC = frozenset("Add Sub Mult Div USub".split())
_OPPOSITE = {"!=": "==", "<=": ">", "<": ">="}
_NOTS = frozenset({"logical_not", "bitwise_not"})
_NONE = f.Const("None")
_DEEPEST = 6


class _Share(NamedTuple):
    #: what is put together, by its text: a mask, or a thing that is cut
    of: str
    #: where the share begins and ends: of a mask "+" or "-", and ""
    start: str
    end: str
    #: what the share is of, for how much of it there is
    whole: f.Expr


def as_wholes(frame: Frame, display: f.Expr | None, value: Value) -> Value:
    """What is put together, with the size of the whole in place of its parts' where all of them are there."""
    if value.items is None or all(v.shape is None and not v.shape_deps for v in value.items):
        return value
    made = _followed(frame, display) if display is not None else None
    if type(made) is not f.Sequence or len(made.elements) != len(value.items) or len(made.elements) < 2:
        return value
    shares = [_share(frame, part) for part in made.elements]
    items = list(value.items)
    for places in _complete(shares):
        for i in places:
            if (share := shares[i]) is not None:
                whole = frame.ask(share.whole)
                items[i] = items[i]._replace(
                    shape=whole.shape, uneven_last=whole.uneven_last,
                    shape_deps=whole.shape_deps | only(whole.deps, FLOWS, FLOWS),
                )  # fmt: skip
    joined = join(items)
    return value._replace(items=tuple(items), shape=joined.shape, shape_deps=joined.shape_deps)


def _complete(shares: list[_Share | None]) -> Iterator[list[int]]:
    """The places of parts that are a whole together."""
    used: set[int] = set()
    for i, first in enumerate(shares):
        if first is None or first.start not in ("+", "None"):
            continue
        places, at = [i], "-" if first.start == "+" else first.end
        while at not in ("", "None"):
            following = (
                k for k, s in enumerate(shares) if s is not None and s.of == first.of and k not in (*places, *used)
            )
            k = next((k for k in following if _meets(at, shares[k])), None)
            if k is None or (share := shares[k]) is None:
                break
            places.append(k)
            at = share.end
        else:
            used.update(places)
            yield places


def _meets(at: str, share: _Share | None) -> bool:
    """Whether a share begins where another ends, or a written number of items behind."""
    if share is None:
        return False
    return share.start == at or (share.start.startswith(f"{at} + ") and share.start.removeprefix(f"{at} + ").isdigit())


def _share(frame: Frame, part: f.Expr) -> _Share | None:
    """Which share of something a part is, of whatever it was worked out from item by item."""
    for _ in range(_DEEPEST):
        if (piece := _piece(frame, part)) is not None:
            return piece
        part = _followed(frame, part)
        if type(part) is f.Op and part.kind in _ARITHMETIC:
            others = [o for o in part.operands if type(o) is not f.Const]
            if len(others) != 1:
                return None
            part = others[0]
        elif type(part) is f.Call and type(part.func) is f.Attr and part.func.attr in _ITEM_BY_ITEM:
            if any(type(a) is not f.Const for a in part.args) and part.func.attr in ("mul", "add", "sub", "div"):
                return None
            part = part.func.base
        else:
            break
    if type(part) is f.Subscript:
        first = part.index.elements[0] if type(part.index) is f.Sequence and part.index.elements else part.index
        return _side(frame, part) or _of_places(frame, part) or _chosen(frame, first, part.base)
    return _of_places(frame, part)


def _piece(frame: Frame, part: f.Expr) -> _Share | None:
    """`a` of `a, b = x.split(sizes)`."""
    if type(part) is not f.Name or frame.function is None:
        return None
    bound = frame.analysis.bodies.once(bound_parts, frame.function.body)
    (made, path), *others = bound.get(part.id) or [(_NONE, ())]
    if others or len(path) != 1 or type(made) is not f.Call or last_name(made.func) not in ("split", "tensor_split"):
        return None
    whole = made.args[0] if root_name(made.func) == "torch" and made.args else made.func
    last = max(k[0] for of in bound.values() for e, k in of if e is made and k)
    start, end = ("None" if k in (0, last + 1) else str(k) for k in (path[0], path[0] + 1))
    return _Share(f"split {made.pos}", start, end, whole.base if type(whole) is f.Attr else whole)


def _side(frame: Frame, part: f.Subscript) -> _Share | None:
    """`x[a:b]`, `x[:, a:b]`: a side of a cut in one dimension, or what is between two."""
    index = part.index.elements if type(part.index) is f.Sequence else (part.index,)
    cuts = [i for i, e in enumerate(index) if type(e) is f.Op and e.kind == "Slice" and e.operands != (_NONE,) * 3]
    if len(cuts) != 1:
        return None
    cut = index[cuts[0]]
    if type(cut) is not f.Op or cut.operands[2] != _NONE:
        return None
    rest = [frame.key(e) for i, e in enumerate(index) if i != cuts[0]]
    lower, upper = (frame.key(end) for end in cut.operands[:2])
    return _Share(f"{frame.key(part.base)}[{cuts[0]}]{rest}", "None" if lower == "0" else lower, upper, part.base)


def _chosen(frame: Frame, index: f.Expr, base: f.Expr) -> _Share | None:
    """`x[mask]`, or `x[places]` where these are the ones of a mask: what stands beside its opposite is one."""
    made = _followed(frame, index)
    places = _of_places(frame, made)
    if places is not None:
        return places._replace(whole=base)
    if type(made) in (f.Const, f.Sequence):
        return None
    key, positive = _told(frame, index)
    return _Share(key, "+" if positive else "-", "" if not positive else "-", base)


def _of_places(frame: Frame, made: f.Expr) -> _Share | None:
    """`where(mask)[0]`, `mask.nonzero().squeeze(1)`, `x.masked_select(mask)`: the places of a mask, or its items."""
    if type(made) is f.Subscript and type(made.index) is f.Const:
        made = made.base
        if type(made) is not f.Call or (last_name(made.func) != "where" and not made.keywords):
            return None
    while type(made) is f.Call and type(made.func) is f.Attr and made.func.attr in _ITEM_BY_ITEM:
        made = made.func.base
    if type(made) is not f.Call:
        return None
    name, args = last_name(made.func), list(made.args)
    if type(made.func) is f.Attr and root_name(made.func) not in ("torch", "np", "numpy"):
        args.insert(0, made.func.base)
    if (name in ("where", "nonzero") and len(args) == 1) or (name == "masked_select" and len(args) == 2):
        key, positive = _told(frame, args[-1])
        whole = args[0] if name == "masked_select" else _measured(frame, args[0])
        return _Share(key, "+" if positive else "-", "" if not positive else "-", whole)
    return None


def _measured(frame: Frame, mask: f.Expr) -> f.Expr:
    """What a mask was told of, which has as many items."""
    for _ in range(_DEEPEST):
        mask = _followed(frame, mask)
        if type(mask) is f.Compare:
            mask = mask.left
        elif type(mask) is f.Op and mask.kind == "Invert":
            mask = mask.operands[0]
        else:
            break
    return mask


def _told(frame: Frame, mask: f.Expr, depth: int = 0) -> tuple[str, bool]:
    """What a mask asks, and whether it holds where that is true: `~(x > 0)`, `x <= 0` and `m == 0` are turned round."""
    made = _followed(frame, mask)
    inner: f.Expr | None = None
    if type(made) is f.Op and made.kind == "Invert":
        inner = made.operands[0]
    elif type(made) is f.Call and last_name(made.func) in _NOTS:
        method = type(made.func) is f.Attr and root_name(made.func) != "torch"
        inner = made.func.base if method and type(made.func) is f.Attr else next(iter(made.args), None)
    elif type(made) is f.Compare and len(made.ops) == 1:
        written = made.rights[0].text if type(made.rights[0]) is f.Const else ""
        if made.ops[0] in ("==", "!=") and written in _TRUTHS and frame.ask(made.left).boolean:
            key, positive = _told(frame, made.left, depth + 1)
            return key, positive is (_TRUTHS[written] is (made.ops[0] == "=="))
        op = _OPPOSITE.get(made.ops[0], made.ops[0])
        return f"{frame.key(made.left)} {op} {frame.key(made.rights[0])}", op == made.ops[0]
    if inner is None or depth > _DEEPEST:
        return frame.key(made), True
    key, positive = _told(frame, inner, depth + 1)
    return key, not positive


_TRUTHS = {"True": True, "1": True, "False": False, "0": False}


def _followed(frame: Frame, expr: f.Expr) -> f.Expr:
    """What a name stands for, as long as all in it means the same throughout the function."""
    made = definition(frame, expr)
    if made is expr or frame.function is None:
        return expr
    bound = frame.analysis.bodies.once(bound_parts, frame.function.body)
    given = {p.name for p in frame.function.parameters}
    own = {n.id for generator in nodes(made, f.Generator) for n in nodes(generator.target, f.Name)}
    names = {n.id for n in nodes(made, f.Name)} - own
    return made if all(len(bound.get(name, ())) + (name in given) <= 1 for name in names) else expr


class _Filter(NamedTuple):
    """`[item for item in walked if test]`, or with `if not test`."""

    walked: f.Expr
    item: str
    test: str
    holds: bool


def of_both(frame: Frame, e: f.Op, value: Value) -> Value:
    """`[x for x in xs if test(x)] + [x for x in xs if not test(x)]`: as many as both have been chosen from."""
    first, second = (_filter(frame, operand) for operand in e.operands)
    if first is None or second is None or first.holds is second.holds:
        return value
    if (frame.key(first.walked), first.item, first.test) != (frame.key(second.walked), second.item, second.test):
        return value
    whole = frame.ask(first.walked)
    return value._replace(length=whole.length, length_deps=whole.length_deps)


def _filter(frame: Frame, expr: f.Expr) -> _Filter | None:
    made = _followed(frame, expr)
    if type(made) is not f.Comprehension or made.kind != "list" or len(made.generators) != 1:
        return None
    generator, taken = made.generators[0], made.elements[0]
    item = generator.target
    if type(item) is not f.Name or type(taken) is not f.Name or item.id != taken.id or len(generator.conditions) != 1:
        return None
    test, positive = generator.conditions[0], True
    while type(test) is f.Not:
        test, positive = test.operand, not positive
    key, holds = _told(frame, test)
    return _Filter(generator.iterable, item.id, key, holds is positive)
