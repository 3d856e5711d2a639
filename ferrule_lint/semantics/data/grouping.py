"""How many groups local data falls into: the distinct values of what is read from it, and the entries of a dict.

Ranks meet other values, so they have another number of groups, in whatever order these are walked. Keys that tell the
items themselves apart (`results[sample_id]`) make an entry of each item; of these there are as many on every rank.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data.accumulators import MEASURES
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.data.ordering import VIEWS, length_deps
from ferrule_lint.semantics.domain.dependences import NO_DEPS, Deps
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value, rounds_of
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: names of what tells items apart
_OF_ITEM = re.compile(r"(?i)(^|_)(u?u?id|idx|index|indice|i|j|key|name|path|file|filename|url|hash|rank)s?$")


def of_entry(frame: Frame, target: f.Subscript, place: str, key: Value, grouped: bool) -> Divergence | None:
    """Why the number of entries of a dict differs once it has had `place[key] = value` in the rounds of a loop."""
    source = _of_data(key) if grouped and _is_field(definition(frame, target.index)) else None
    if source is not None:
        note = f"`{place}` has an entry for each value that this rank has met"
        return source.then(frame.step("flow", target.pos, note)).at_most(Confidence.MEDIUM)
    walked = frame.rounds[-1].walked if _in_each_round(frame, target) else UNKNOWN
    rounds = rounds_of(walked)
    if rounds is None or (walked.data is not None and walked.data.why == rounds.why):
        return None  # that samples have lengths of their own says nothing of a dict's keys
    return rounds.then(frame.step("flow", target.pos, f"`{place}` gets an entry in each round"))


def deps_of_entry(frame: Frame, target: f.Subscript, place: str) -> Deps:
    """The parameters that decide in how many rounds a dict gets an entry. Only dicts of what is measured count: batches
    and weights are copied in the same style, and have the same keys everywhere."""
    measured = _in_each_round(frame, target) and MEASURES.search(place)
    return length_deps(frame.rounds[-1].walked) if measured else NO_DEPS


def _in_each_round(frame: Frame, target: f.Subscript) -> bool:
    """Whether an entry is put under what tells the rounds of the innermost loop apart."""
    return (
        bool(frame.rounds)
        and type(target.index) is f.Name
        and target.index.id in _bound(frame.rounds[-1].statement.target)
    )


def of_distinct(frame: Frame, values: Value, expr: f.Expr | None, pos: f.Pos) -> Divergence | None:
    """Why the number of distinct items of local data differs: `set(s["task"] for s in batch)`."""
    made = definition(frame, expr) if expr is not None else None
    if values.data is None or values.length is not None or type(made) not in (f.Comprehension, f.Call):
        return None
    if type(made) is f.Call and last_name(made.func) in VIEWS:
        return None
    if type(made) is f.Comprehension and any(map(_tells_items_apart, made.elements)):
        return None
    note = "how many different ones there are is decided by the rank's own data"
    return values.data.then(frame.step("flow", pos, note)).at_most(Confidence.MEDIUM)


def _of_data(key: Value) -> Divergence | None:
    if key.divergence is not None:
        return key.divergence if key.divergence.kind == "data" else None
    return key.data


def _is_field(expr: f.Expr) -> bool:
    """Whether a key is read from a sample, as one that several samples share: `sample["task"]`, `int(sample.kind)`."""
    read = expr
    while type(read) is f.Call and (type(read.func) is f.Attr or len(read.args) == 1):
        read = read.args[0] if read.args else read.func.base  # type: ignore[union-attr]
    written = type(read) is f.Subscript and type(read.index) is f.Const
    return (written or type(read) is f.Attr) and not _tells_items_apart(expr)


def _tells_items_apart(expr: f.Expr) -> bool:
    if type(expr) is f.Const:
        return True
    if type(expr) is f.Subscript and type(expr.index) is f.Const:
        return bool(_OF_ITEM.search(expr.index.text.strip("'\""))) or _tells_items_apart(expr.base)
    if type(expr) is f.Call and type(expr.func) is f.Attr and not expr.args:
        return _tells_items_apart(expr.func.base)  # `sample_id.item()`
    if type(expr) is f.Call and len(expr.args) == 1:
        return _tells_items_apart(expr.args[0])  # `int(sample_id)`
    return bool(_OF_ITEM.search(last_name(expr)))


def _bound(target: f.Expr) -> set[str]:
    """The names that a loop gives to what tells its rounds apart: the item, or the key of `for k, v in d.items()`."""
    if type(target) is f.Sequence and target.elements:
        target = target.elements[0]
    name = place_name(target)
    return {name} if name else set()
