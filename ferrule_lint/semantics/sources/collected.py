"""Entries that a batch has only where some of its samples bring something for them.

`if len(found["states"]) > 0: batch["states"] = torch.cat(found["states"])`: who makes batches so has samples without
states, and a rank whose batch is of these alone has no such entry. A module's optional input of that name is missing
there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Step
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

_OF_DATA = re.compile(r"(?i)dataset|collat")
#: what makes one tensor of what samples have brought
_PUTS_TOGETHER = frozenset(
    "cat concat concatenate stack vstack hstack tensor as_tensor Tensor LongTensor FloatTensor pad_sequence".split()
)
_THERE = ((">", f.Const("0")), ("!=", f.Const("0")), (">=", f.Const("1")))


def note_of_entry(name: str) -> str:
    """What is noted of an optional input that has such an entry."""
    return f"the optional input `{name}` is in a batch only where some sample brings it"


def is_of_entry(step: Step) -> bool:
    """Whether this is the note of such an input."""
    return _NOTE.fullmatch(step.note) is not None


_NOTE = re.compile(note_of_entry(r"\w+"))


def is_collected(analysis: Analysis, name: str) -> bool:
    """Whether something in the project that makes batches makes an entry of a name so."""
    return name in analysis.collected.find("", lambda: entries(analysis), ())


def entries(analysis: Analysis) -> tuple[str, ...]:
    """The names of all entries that are made so, in the files that have to do with data sets."""
    analysis.names.reads.ask("of data sets", "")
    found: set[str] = set()
    for path in speaking(analysis):
        for function in analysis.names.modules[path].functions.values():
            names = {name for s in statements(function.body) if type(s) is f.If for name in _collected(s)}
            written = Counter(_written(function.body) if names else ())
            found.update(name for name in names if written[name] == 1)
    return tuple(sorted(found))


def _written(body: f.Body) -> Iterator[str]:
    """The keys under which a function puts something: what it puts elsewhere may be there instead."""
    for node in walk(body):
        if type(node) is f.Assign and node.value != f.Const("None"):
            yield from (_key(target) for target in node.targets if type(target) is f.Subscript)
        elif type(node) is f.DictDisplay:
            pairs = zip(node.keys, node.values, strict=True)
            yield from (k.text.strip("'\"") for k, v in pairs if type(k) is f.Const and v != f.Const("None"))


def speaking(analysis: Analysis) -> list[str]:
    """The files, other than tests, that make or use data sets and put tensors together."""
    modules = analysis.names.modules
    with analysis.names.reads.apart():
        return sorted(
            path
            for path, module in modules.items()
            if not is_test(path) and module.mentions_like(_OF_DATA) and module.mentions_any(_PUTS_TOGETHER)
        )


def _collected(s: f.If) -> Iterator[str]:
    """The entries for which an arm makes one tensor of a list that has items there."""
    listed = _asked_for_items(s.test)
    key = _key(listed) if listed is not None else ""
    if not key:
        return
    own = {key}
    for inner in s.body:
        if type(inner) is not f.Assign or inner.value is None:
            continue
        target, value = inner.targets[0], inner.value
        if type(target) is f.Name and key in _words(value):
            own.add(target.id)  # `states = found.pop("states")`
        elif type(target) is f.Subscript and type(target.index) is f.Const:
            given = value.args[:1] if type(value) is f.Call and last_name(value.func) in _PUTS_TOGETHER else ()
            if any(_key(one) in own for one in given):
                yield target.index.text.strip("'\"")


def _asked_for_items(test: f.Expr) -> f.Expr | None:
    """The list of which a test asks whether anything is in it: `len(xs) > 0`."""
    if type(test) is not f.Compare or len(test.ops) != 1 or (test.ops[0], test.rights[0]) not in _THERE:
        return None
    counted = test.left
    return counted.args[0] if type(counted) is f.Call and last_name(counted.func) == "len" and counted.args else None


def _key(expr: f.Expr) -> str:
    """What a list is called: its name, or the key that it is kept under."""
    if type(expr) is f.Subscript:
        return expr.index.text.strip("'\"") if type(expr.index) is f.Const else ""
    return last_name(expr)


def _words(value: f.Expr) -> Iterator[str]:
    for node in walk(value):
        if type(node) is f.Const:
            yield node.text.strip("'\"")
        elif type(node) is f.Name:
            yield node.id
