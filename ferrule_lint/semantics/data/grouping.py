"""How many groups local data falls into: the distinct values of what is read from it, and the entries of a dict.

Ranks meet other values, so they have another number of groups, in whatever order these are walked. Keys that tell the
items themselves apart (`results[sample_id]`) make an entry of each item; of these there are as many on every rank.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import looked_up
from ferrule_lint.semantics.data.accumulators import MEASURES
from ferrule_lint.semantics.data.fields import read_from
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.data.ordering import VIEWS, length_deps
from ferrule_lint.semantics.domain.dependences import NO_DEPS, Deps
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value, rounds_of
from ferrule_lint.semantics.domain.text import last_name, place_name, render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: names of what tells items apart
_OF_ITEM = re.compile(r"(?i)(^|_)(u?u?id|idx|index|indice|i|j|key|name|path|file|filename|url|hash|rank)s?$")

#: tables of names mostly hold those of classes, tasks, data sets
_NAMES = re.compile(r"(?i)(^|_)names?$")


def of_entry(frame: Frame, target: f.Subscript, place: str, key: Value, grouped: bool) -> Divergence | None:
    """Why the number of entries of a dict differs once it has had `place[key] = value` in the rounds of a loop."""
    if grouped and (met := of_member(frame, target.index, place, key, target.pos)) is not None:
        return met
    walked = frame.rounds[-1].walked if _in_each_round(frame, target) else UNKNOWN
    rounds = rounds_of(walked)
    if rounds is None or (walked.data is not None and walked.data.why == rounds.why):
        return None  # that samples have lengths of their own says nothing of a dict's keys
    return rounds.then(frame.step("flow", target.pos, f"`{place}` gets an entry in each round"))


def of_member(frame: Frame, expr: f.Expr, place: str, key: Value, pos: f.Pos) -> Divergence | None:
    """The same of what several samples may share, once it has been put into a set: `seen.add(b["task"][0])`."""
    index = definition(frame, expr)
    if type(index) is f.Name and (field := read_from(frame, index)) is not None:
        index = field  # of the item of a loop over it
    source = _of_data(key) if _is_shared(frame, index, key) else None
    if source is None:
        return None
    note = f"`{place}` has an entry for each value that this rank has met"
    return source.then(frame.step("flow", pos, note)).at_most(Confidence.MEDIUM)


def adds_to(target: f.Subscript, source: f.Expr | None) -> bool:
    """`d[k] = d.get(k, 0) + x`, `d[k] = d[k] + x`: what `d[k] += x` does."""
    if type(source) is not f.Op or source.kind not in ("Add", "Sub"):
        return False
    place, key = render(target.base), render(target.index)
    return any(_is_entry(operand, place, key) for operand in source.operands)


def _is_entry(expr: f.Expr, place: str, key: str) -> bool:
    if type(expr) is f.Subscript:
        return (render(expr.base), render(expr.index)) == (place, key)
    if type(expr) is not f.Call or type(expr.func) is not f.Attr or expr.func.attr != "get" or not expr.args:
        return False
    return (render(expr.func.base), render(expr.args[0])) == (place, key)


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


def _is_shared(frame: Frame, expr: f.Expr, key: Value) -> bool:
    """Whether a key is one that several samples share: read from a sample (`sample["task"]`, `int(sample.kind)`) or out
    of a tensor (`label.item()`), or looked up by such a one (`tasks[label]`)."""
    read = expr
    while type(read) is f.Call and (type(read.func) is f.Attr or len(read.args) == 1):
        read = read.args[0] if read.args else read.func.base  # type: ignore[union-attr]
    written = type(read) is f.Subscript and (type(read.index) is f.Const or looked_up.is_entry(frame, read))
    out_of_tensor = read is not expr and type(read) is f.Name and key.divergence is not None
    return (written or out_of_tensor or type(read) is f.Attr) and not _tells_items_apart(expr)


def _tells_items_apart(expr: f.Expr) -> bool:
    if type(expr) is f.Const:
        return True
    if type(expr) is f.Subscript and type(expr.index) is f.Const:
        return bool(_OF_ITEM.search(expr.index.text.strip("'\""))) or _tells_items_apart(expr.base)
    if type(expr) is f.Subscript:  # an entry of a table: `class_names[label]`, `paths[index]`
        table = last_name(expr.base)
        return _tells_items_apart(expr.index) or (bool(_OF_ITEM.search(table)) and not _NAMES.search(table))
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
