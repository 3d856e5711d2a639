"""What the project's own collator makes of samples: `DataLoader(data, collate_fn=collate)`.

Tensors that it pads to the longest sample, or joins, have another size in each rank's batches. The loader carries its
collator, as an entry of its own, to the loops that walk it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.calls.arguments import Arguments
from ferrule_lint.semantics.calls.callbacks import is_callback, run
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import position

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: the entry of a loader under which its collator lies, which is no name of anything
_COLLATOR = "<collator>"
#: where `DataLoader` takes it
_KEYWORD, _PLACE = "collate_fn", 6


def carried(arguments: Arguments) -> tuple[tuple[str, Value], ...]:
    """The entry of a loader for its collator, where that is the project's."""
    collator = arguments.keywords.get(_KEYWORD)
    if collator is None and len(arguments.positional) > _PLACE and not arguments.is_open:
        collator = arguments.positional[_PLACE]
    if collator is None or not (is_callback(collator) or collator.types):
        return ()
    return ((_COLLATOR, collator),)


def batch(frame: Frame, loader: Value, expr: f.Expr, made: Value) -> Value:
    """A batch of a loader, `made` as any loader makes it, with the local sizes that its collator gives to tensors."""
    collator = next((value for key, value in loader.entries if key == _COLLATOR), None)
    if collator is None or frame.light:
        return made
    pos = position(expr) or (frame.line, 1, frame.line, 1)
    call = f.Call(f.Name(_COLLATOR, pos), (f.Name("<samples>", pos),), (), pos)
    samples = Value(data=made.data, there=True)
    with frame.aside():
        collated = run(frame, collator, Arguments(call, (samples,), {}))
    if collated.items is not None and any(map(_is_uneven, collated.items)):
        return made._replace(items=tuple([_item(made, value) for value in collated.items]))
    if told := tuple([(key, _item(made, value)) for key, value in collated.entries if _is_uneven(value)]):
        return made._replace(entries=told)
    return _item(made, collated) if _is_uneven(collated) else made


def _is_uneven(value: Value) -> bool:
    """Whether a tensor has a local size; how many samples there are is the same everywhere."""
    return value.shape is not None


def _item(batch: Value, value: Value) -> Value:
    """A tensor of a batch; of one whose size is not known to differ there is nothing more to say."""
    if not _is_uneven(value):
        return Value(data=batch.data)
    return Value(data=batch.data, shape=value.shape, uneven_last=value.uneven_last, there=True)
