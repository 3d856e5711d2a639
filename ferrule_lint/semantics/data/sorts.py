"""What sort of thing two arms of a test make, where ranks part at it: a tensor made by hand on those that have nothing
to run a model on, and whatever the model hands back on the others. `isinstance(x, tuple)` then says one thing here and
another there.

Of one arm the text has to tell the sort. Of a call it need not: who asks for a sort expects both answers, and what is
made by hand gives one of them. Where that one is yes, the question may be for other callers: a guess.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of
from ferrule_lint.semantics.domain.text import last_name, render

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.domain.lattice import Divergence, Value
    from ferrule_lint.semantics.walk.frame import Frame

TENSOR, ITEMS, KEYS, NUMBER, TEXT, NOTHING = "tensor", "items", "keys", "number", "text", "nothing"

#: classes by their last names -> the sort of their instances
_CLASSES = {
    "Tensor": TENSOR, "int": NUMBER, "float": NUMBER, "bool": NUMBER, "Number": NUMBER, "str": TEXT, "bytes": TEXT,
    "dict": KEYS, "Mapping": KEYS, "MutableMapping": KEYS, "NoneType": NOTHING,
}  # fmt: skip
#: of these it is not told apart which is written out
_OF_ITEMS = frozenset({"list", "tuple", "Sequence", "List", "Tuple", "set"})
#: more than one sort has them as a base
_WIDE = frozenset("Iterable Collection Sized Container Hashable Reversible object Any Parameter Callable".split())
#: attributes of tensors
_OF_TENSORS = frozenset("data device dtype grad grad_fn is_cuda ndim requires_grad shape T".split())


#: classes of which None is an instance
OF_NOTHING = re.compile(r"\b(None|NoneType|Optional|object)\b")


class Apart(NamedTuple):
    """On some ranks something is of one sort, on others of another ("": nothing tells)."""

    one: str
    other: str
    divergence: Divergence


def sort_of(value: Value) -> str:
    if value.const is not None:
        first = value.const[:1]
        if value.const == "None":
            return NOTHING
        return TEXT if first in "'\"b" else NUMBER if first.isdigit() or value.is_flag or first == "-" else ""
    if value.layout is not None:
        return TENSOR
    if value.items:
        return ITEMS
    return KEYS if value.slots and any(slot[:1] in "'\"" for slot in value.slots) else ""


def apart(a: Value, b: Value, divergence: Divergence) -> Apart | None:
    """What two arms of a divergent test, or two returns, make of different sorts."""
    one, other = sort_of(a), sort_of(b)
    if not one:
        one, other = other, one
    if not one or one == other:
        return None
    return Apart(one, other, divergence)


def of_returns(returned: Sequence[tuple[Value, tuple[Formula, ...]]]) -> Apart | None:
    """The same of what a function returns at two places, of which ranks come to one each."""
    for value, conditions in returned:
        found = next((d for c in conditions if (d := divergence_of(c)) is not None), None)
        for other, _ in returned if found is not None else ():
            if found is not None and (parted := apart(value, other, found)) is not None:
                return parted
    return None


def where_there(parted: Apart | None) -> Apart | None:
    """What is left of a difference in arms where it has been asked for None."""
    return None if parted is None or NOTHING in parted[:2] else parted


def asked(frame: Frame, arguments: Arguments) -> Divergence | None:
    """Why `isinstance(x, C)`, `torch.is_tensor(x)` or `hasattr(x, "logits")` says another thing on some ranks."""
    parted = arguments.positional[0].apart if arguments.positional else None
    names = _named(arguments) if parted is not None else None
    if parted is None or names is None:
        return None
    one, other = _is_one(parted.one, names), _is_one(parted.other, names)
    if one is other:
        return None
    surely = None not in (one, other) or False in (one, other)
    text = render(arguments.expr.args[0])
    note = f"what `{text}` is differs between ranks: some have made {_WORDS[parted.one]}"
    found = parted.divergence.then(frame.step("flow", arguments.expr.pos, note))
    return found.at_most(Confidence.MEDIUM if surely else Confidence.LOW)


def _named(arguments: Arguments) -> list[str] | None:
    """The classes of which something is to be an instance, by their last names; what has an attribute of its own is of
    none of those that are written out."""
    asks, args = last_name(arguments.expr.func), arguments.expr.args
    if asks == "is_tensor":
        return ["Tensor"] if len(args) == 1 else None
    if len(args) != 2:
        return None
    if asks == "hasattr":
        own = type(args[1]) is f.Const and args[1].text.strip("'\"") not in _OF_TENSORS
        return [""] if own else None
    return [last_name(c) for c in (args[1].elements if type(args[1]) is f.Sequence else (args[1],))]


_WORDS = {
    TENSOR: "a tensor", ITEMS: "a list or tuple", KEYS: "a dict", NUMBER: "a number", TEXT: "a text", NOTHING: "nothing"
}  # fmt: skip


def _is_one(sort: str, names: list[str]) -> bool | None:
    """Whether something of a sort is an instance of one of several classes; None: nothing tells."""
    if not sort or not _WIDE.isdisjoint(names):
        return None
    if sort == NOTHING:
        return "NoneType" in names
    if any(_CLASSES.get(name) == sort for name in names):
        return True
    return None if sort == ITEMS and not _OF_ITEMS.isdisjoint(names) else False
