"""Keys that are written out, beside others that some ranks put into the same dict:

    if args.train_data:
        data["train"] = load(args.train_data)
    for name in mine(args.benchmarks):
        data[name] = load(name)

Another number of entries on each rank says nothing of whether `"train"` is among them: that is said where it is put in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.data.records import MOST_ENTRIES, with_entry
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_Entries = tuple[tuple[str, Value], ...]


def told(frame: Frame, target: f.Subscript, place: str, base: Value) -> _Entries:
    """The entries of a dict that gets one more under a key which is worked out, with those further up that are written
    out; what is put in by some ranks only is among them already."""
    if frame.light or frame.function is None or not base.container:
        return base.entries
    entries = base.entries
    known = {key for key, _ in entries}
    written = frame.analysis.bodies.once(_written, frame.function.body)
    new = dict.fromkeys(key for name, key, line in written if name == place and line < target.pos[0])
    for key in new:
        if key not in known:
            held = Value(data=base.data, shape=base.shape, types=base.element_types, external=base.holds)
            entries = with_entry(entries, key, held)
    return entries if len(entries) <= MOST_ENTRIES else base.entries


def _written(body: f.Body) -> tuple[tuple[str, str, int], ...]:
    """The places into which a body puts something under a text: the place, the text, the line."""
    return tuple(
        [
            (place_name(t.base), t.index.text, s.line)
            for s in statements(body)
            if type(s) is f.Assign
            for t in s.targets
            if type(t) is f.Subscript and type(t.index) is f.Const and t.index.text[:1] in ("'", '"')
        ]
    )
