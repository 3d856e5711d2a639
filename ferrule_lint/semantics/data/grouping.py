"""How many groups local data falls into: the distinct values of what is read from it, and the entries of a dict.

Ranks meet other values, so they have another number of groups, in whatever order these are walked. Keys that tell the
items themselves apart (`results[sample_id]`) make an entry of each item; of these there are as many on every rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
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
    elif type(index) is f.Name:
        index = next((s.iterable for s in _walks(frame) if place_name(s.target) == place_name(expr)), index)
    source = _of_data(key) if _is_shared(frame, index, key) else None
    if source is None:
        return None
    note = f"`{place}` has an entry for each value that this rank has met"
    return source.then(frame.step("flow", pos, note)).at_most(Confidence.MEDIUM)


def _walks(frame: Frame) -> Iterator[f.For]:
    """The loops around over the numbers in a tensor: `for label in labels.tolist()`."""
    for s in (r.statement for r in reversed(frame.rounds)):
        if type(s.iterable) is f.Call and last_name(s.iterable.func) == "tolist":
            yield s


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
    if values.data is None or values.length is not None:
        return None
    if type(made) is f.Name and not _is_filled_with_shared(frame, made):
        return None
    if type(made) is f.Subscript and not _is_shared(frame, made, values):
        return None
    if type(made) not in (f.Name, f.Comprehension, f.Call, f.Subscript):
        return None
    if type(made) is f.Call and last_name(made.func) in VIEWS:
        return None
    if type(made) is f.Comprehension and any(map(_tells_items_apart, made.elements)):
        return None
    note = "how many different ones there are is decided by the rank's own data"
    return values.data.then(frame.step("flow", pos, note)).at_most(Confidence.MEDIUM)


def of_update(frame: Frame, expr: f.Expr, place: str, items: Value, pos: f.Pos) -> Divergence | None:
    """The same of a set or `Counter` that gets several items at once: `seen.update(batch["task"])`."""
    if frame.function is None or _tells_items_apart(expr):
        return None
    made = frame.analysis.bodies.assigned(frame.function.body, place)
    if not made or not all(type(m) is f.SetDisplay or last_name(getattr(m, "func", None)) in _SETS for m in made):
        return None
    return of_member(frame, expr, place, items, pos) or of_distinct(frame, items, expr, pos)


#: what keeps one of several that are the same
_SETS = frozenset({"set", "Counter"})


def _is_filled_with_shared(frame: Frame, name: f.Name) -> bool:
    """Whether a list of this function gets what several samples may share, and nothing else: `found += [b["task"]]`."""
    if frame.function is None:
        return False
    put = frame.analysis.bodies.once(_put_in, frame.function.body, name.id)
    return bool(put) and all(_is_shared(frame, x, frame.ask(x)) for x in put)


def _put_in(body: f.Body, name: str) -> list[f.Expr]:
    """What a list gets, one by one or several at once."""
    calls = [c for c in nodes(body, f.Call) if type(c.func) is f.Attr and place_name(c.func.base) == name]
    return [c.args[0] for c in calls if c.func.attr in ("append", "extend") and len(c.args) == 1]  # type: ignore[union-attr]


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
    listed = type(expr) is f.Call and last_name(expr.func) == "tolist" and key.data is not None
    out_of_tensor = read is not expr and type(read) is f.Name and (key.divergence is not None or listed)
    return (written or out_of_tensor or type(read) is f.Attr) and not _tells_items_apart(expr)


def _tells_items_apart(expr: f.Expr) -> bool:
    if type(expr) is f.Const:
        return True
    if type(expr) is f.Subscript and type(expr.index) is f.Const:
        return bool(_OF_ITEM.search(expr.index.text.strip("'\""))) or _tells_items_apart(expr.base)
    if type(expr) is f.Subscript:  # an entry of a table: `class_names[label]`, `paths[index]`
        table = last_name(expr.base)
        return _tells_items_apart(expr.index) or (bool(_OF_ITEM.search(table)) and not _NAMES.search(table))
    if type(expr) is f.Call and type(expr.func) is f.Attr and all(type(a) is f.Const for a in expr.args):
        return _tells_items_apart(expr.func.base)  # `sample_id.item()`, `scores.argmax(-1)`
    if type(expr) is f.Call and len(expr.args) == 1:
        return _tells_items_apart(expr.args[0])  # `int(sample_id)`
    return bool(_OF_ITEM.search(last_name(expr)))


def _bound(target: f.Expr) -> set[str]:
    """The names that a loop gives to what tells its rounds apart: the item, or the key of `for k, v in d.items()`."""
    if type(target) is f.Sequence and target.elements:
        target = target.elements[0]
    name = place_name(target)
    return {name} if name else set()
