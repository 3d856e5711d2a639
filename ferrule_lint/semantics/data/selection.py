"""Selections: items of a tensor that are chosen by the content of another, so that their number is the data's doing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import by_number, lengths, own_sizes
from ferrule_lint.semantics.data.batch_fields import is_uneven_later
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.data.ordering import numbers
from ferrule_lint.semantics.domain.dependences import DATA, FLOWS, ITEM, MADE, NO_DEPS, OBSERVED, SELECTS, Deps, only
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, root_name, shown, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: calls that make a mask of something
MASKS = frozenset(
    "bool logical_not logical_and logical_or logical_xor isfinite isnan isinf isin ne eq lt gt le ge not_equal "
    "greater less greater_equal less_equal bitwise_not".split()
)


#: how the step ends that says where a number of items has become the rank's own
KEEPS = "keeps a local number of items"
#: what selects by truth, or tells which places are left, by its name
_SELECTS = re.compile(r"mask|(^|_|')(valid|keep|kept)('|$)|(^|_|')is_valid", re.IGNORECASE)
#: the places of tokens within their sequences
_POSITIONS = re.compile(r"(^|_)(positions?|pos(ition)?_?ids?)(_|$)")


class Selected(NamedTuple):
    shape: Divergence | None
    shape_deps: Deps


def of_index(frame: Frame, e: f.Subscript, base: Value, index: Value) -> Selected | None:
    """The size of `base[index]` where a mask, or positions of a local number, select; None if neither does."""
    expr = e.index
    if type(expr) is f.Sequence and expr.elements:
        expr = expr.elements[0]
        index = frame.eval(expr)
    if type(expr) is f.Const or (type(expr) is f.Op and expr.kind == "Slice"):
        return None
    uneven = base.shape is not None or bool(base.shape_deps) or _is_uneven(index)
    if uneven and lengths.picks_in_full(frame, expr, e.pos):
        return Selected(None, NO_DEPS)
    selected = _of_items(frame, e, expr, base, index)
    return None if selected is not None and by_number.is_one(frame, expr, index) else selected


def _of_items(frame: Frame, e: f.Subscript, expr: f.Expr, base: Value, index: Value) -> Selected | None:
    """The same, as if `expr`, the index of the first dimension, were none that takes one row."""
    if index.length is not None and (index.container or type(definition(frame, expr)) is f.Comprehension):
        note = f"`{shown(e)}` keeps as many items as there are in `{shown(expr)}`"
        return Selected(index.length.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM), NO_DEPS)
    if index.shape is not None and index.length is None and (not index.uneven_last or _is_item_of_list(frame, expr)):
        return Selected(index.shape, index.shape_deps)
    if index.shape_deps:
        return Selected(None, index.shape_deps)
    if _begins_sequences(frame, expr):
        return None
    if not _is_mask(expr, index) or by_number.are_numbers(frame, expr):
        deps = only(index.deps, SELECTS, FLOWS) if type(_turned(expr)) is f.Name else NO_DEPS
        if not deps and base.shape is not None and not (base.uneven_last or base.container or base.items is not None):
            return Selected(None, NO_DEPS) if own_sizes.has_own_size(frame, expr) else None
        return Selected(None, deps) if deps else None
    if index.data is not None and base.data is not None:
        note = f"`{shown(e)}` {KEEPS}"
        return Selected(index.data.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM), NO_DEPS)
    if index.data is not None:
        note = f"`{shown(e)}` keeps as many items as the local data says"
        return Selected(index.data.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM), NO_DEPS)
    return Selected(None, by_content(index)) if index.deps else None


def _is_item_of_list(frame: Frame, expr: f.Expr) -> bool:
    """Whether positions are one item of a list that is made here, each of a number of its own: `places[0]`."""
    if type(expr) is not f.Subscript or _is_slice(expr.index):
        return False
    made = definition(frame, expr.base)
    return type(made) is f.Sequence or (type(made) is f.Comprehension and made.kind == "list")


def _is_uneven(index: Value) -> bool:
    """Whether an index may pick another number of items on each rank."""
    known = index.shape or index.length or index.divergence or index.data
    return known is not None or bool(index.shape_deps) or any(how in (SELECTS, OBSERVED) for _, how in index.deps)


def _turned(expr: f.Expr) -> f.Expr:
    """What `~mask` or `mask.flatten()` is made of: it selects if that does."""
    while True:
        if type(expr) is f.Op and expr.kind == "Invert":
            expr = expr.operands[0]
        elif type(expr) is f.Call and type(expr.func) is f.Attr and expr.func.attr in _FORMS:
            expr = expr.func.base
        else:
            return expr


#: methods that give the items of a tensor another layout
_FORMS = frozenset({"flatten", "ravel", "reshape", "view", "squeeze", "contiguous", "to", "cuda", "cpu"})


def drops_padding(frame: Frame, e: f.Subscript, base: Value) -> bool:
    """Whether an index chooses one place of a padded length, which the second dimension is: `hidden[:, -1, :]`,
    `hidden[torch.arange(n), last]`."""
    if not base.uneven_last or type(e.index) is not f.Sequence or len(e.index.elements) < 2:
        return False
    first, second = e.index.elements[:2]
    if type(second) is f.Const:
        return second.text.lstrip("-").isdigit() and first != f.Const("...")
    chosen = frame.eval(second)
    counted = type(first) is f.Call and last_name(first.func) in ("arange", "range")
    return counted and type(second) in (f.Name, f.Attr, f.Op) and not (chosen.boolean or _is_slice(second))


def is_one_row(frame: Frame, e: f.Subscript, base: Value) -> bool:
    """Whether an index chooses one place of the dimension in which a tensor is uneven, the first: `rows[i]`."""
    if (base.layout is None and not _is_selected(frame, e.base, base)) or is_uneven_later(base):
        return False
    first = e.index.elements[0] if type(e.index) is f.Sequence and e.index.elements else e.index
    if type(first) is f.Op and first.kind == "Slice":
        return False
    if type(first) is f.Name and any(_counts(r.statement, first.id) for r in frame.rounds):
        return True
    if base.layout is not None and type(first) in (f.Const, f.Name) and numbers(first, frame):
        return True
    return by_number.is_one(frame, first, frame.ask(first))


def _is_selected(frame: Frame, expr: f.Expr, value: Value) -> bool:
    """Whether something is what a mask or positions have left of a tensor, `kept = x[mask]`, and no list of such."""
    made = definition(frame, expr)
    if value.container or value.items is not None:
        return False
    if type(made) is f.Call:
        return last_name(made.func) in _SELECTING and not by_number.in_each_dimension(frame, made)
    if type(made) is not f.Subscript or type(made.index) is f.Const or _is_slice(made.index):
        return False
    if type(made.index) is f.Compare:
        return True
    if root_name(expr) in variables(made.index):
        return False  # asked of it as it is now, the index would ask for itself again: `kept = kept[kept.argsort()]`
    index = frame.ask(made.index)
    return index.boolean or index.shape is not None


#: what hands back as many items of a tensor as its content says, in a tensor
_SELECTING = frozenset("masked_select nonzero argwhere index_select".split())


def _counts(loop: f.For, name: str) -> bool:
    """Whether a name is the number of a round: `for name in range(n)`, `for name, x in enumerate(xs)`."""
    walked = last_name(loop.iterable.func) if type(loop.iterable) is f.Call else ""
    target = loop.target
    if walked == "enumerate" and type(target) is f.Sequence and target.elements:
        target = target.elements[0]
    return walked in ("range", "enumerate") and type(target) is f.Name and target.id == name


def deals(frame: Frame, expr: f.Expr, index: Value) -> bool:
    """Whether a mask deals items out by their numbers: `table[numbers % world_size == rank]`."""
    if index.divergence is None or index.divergence.kind != "rank":
        return False
    made = definition(frame, expr)
    if type(made) is not f.Compare or made.ops != ("==",):
        return False
    numbered = [s for s in (made.left, *made.rights) if type(s) is f.Op and s.kind == "Mod"]
    return len(numbered) == 1 and frame.eval(numbered[0]).divergence is None


def _begins_sequences(frame: Frame, expr: f.Expr) -> bool:
    """Whether a mask tells where positions begin anew, `position_ids == 0`: it keeps one item for each sequence that is
    laid end to end, and of how many there are it says nothing."""
    made = definition(frame, expr)
    if type(made) is not f.Compare or made.ops != ("==",) or made.rights != (f.Const("0"),):
        return False
    return _POSITIONS.search(last_name(made.left)) is not None


def _is_slice(expr: f.Expr) -> bool:
    return type(expr) is f.Op and expr.kind == "Slice"


def by_content(value: Value) -> Deps:
    """The parameters whose content, or what something unknown has made of it, decides how much a value selects."""
    return only(value.deps, OBSERVED, FLOWS, ITEM, OBSERVED) | only(value.deps, DATA, MADE, DATA)


def _is_mask(expr: f.Expr, value: Value) -> bool:
    """Whether an index selects by truth, which keeps a number of items that its content decides."""
    if value.boolean or type(expr) is f.Compare:
        return True
    if value.divergence is not None and value.data is not None:
        return True
    if type(expr) is f.Call:
        return last_name(expr.func) in MASKS
    key = expr.index.text if type(expr) is f.Subscript and type(expr.index) is f.Const else ""
    return _SELECTS.search(key or last_name(expr)) is not None and value.data is not None
