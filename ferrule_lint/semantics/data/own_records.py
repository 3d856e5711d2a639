"""What a function has put itself under a key of the records that it collects, and puts together key by key:
`rows.append({"ids": ids, "scores": scores})`, and `rows = {k: torch.cat([row[k] for row in rows]) for k in rows[0]}`.

What an entry is called says what it mostly is, where a loader has made the batch. What the function has made, it knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.domain.assigned import by_place, walks
from ferrule_lint.semantics.domain.text import is_key, last_name, root_name, shown
from ferrule_lint.semantics.sources import tokenizers

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: a container of the same items
_SAME_ITEMS = frozenset({"list", "tuple", "reversed", "sorted", "enumerate", "tqdm"})
#: what puts more into a list or dict than its call shows
_FILLS = frozenset({"extend", "insert", "update", "setdefault"})


def is_of_one_size(frame: Frame, asked: f.Subscript, key: str) -> bool:
    """Whether all that a function has put under a key of its own records has a size that is known to be the same on
    every rank."""
    function = frame.function
    if function is None or frame.models.convention("ragged", key) is None:
        return False
    made = _put(frame, function, _root(asked.base), key)
    return bool(made) and all(_is_even(frame, function.body, value, asked.pos[0]) for value in made)


def is_own_flag(frame: Frame, asked: f.Subscript) -> bool:
    """Whether a function sets an entry to a constant itself, once it is done: `if batch[DONE]: return batch`, and
    `batch[DONE] = True`. What it is given again, it is given again on all ranks."""
    body = frame.function.body if frame.function is not None else ()
    return (root_name(asked.base), shown(asked.index)) in frame.analysis.bodies.once(_flags, body)


def _flags(body: f.Body) -> frozenset[tuple[str, str]]:
    """The entries that a body sets to True or False."""
    return frozenset(
        (root_name(target.base), shown(target.index))
        for s in statements(body)
        if type(s) is f.Assign and s.value in (f.Const("True"), f.Const("False"))
        for target in s.targets
        if type(target) is f.Subscript
    )


def _is_even(frame: Frame, body: f.Body, expr: f.Expr, line: int) -> bool:
    known = frame.read(expr.id) if type(expr) is f.Name else None
    if known is not None and (known.shape is not None or known.padded is not None or known.shape_deps):
        return False
    return _is_filled_and_cut(body, expr, line, frozenset())


def _is_filled_and_cut(body: f.Body, expr: f.Expr | None, line: int, seen: frozenset[str]) -> bool:
    """Whether an expression is of tokens that are filled up and cut to one size, by what is written above a line."""
    while (inner := _of_the_same(expr)) is not None:
        expr = inner
    if type(expr) is f.Call:
        return tokenizers.makes_one_size(expr)
    if type(expr) is not f.Name or expr.id in seen:
        return False
    name = expr.id
    made = [
        s.value
        for s in statements(body)
        if type(s) is f.Assign and s.line < line and any(type(t) is f.Name and t.id == name for t in s.targets)
    ]
    return bool(made) and all(_is_filled_and_cut(body, value, line, seen | {name}) for value in made)


def _of_the_same(expr: f.Expr | None) -> f.Expr | None:
    """`x` of `x.input_ids`, `x["input_ids"]` and `x.to(device)`."""
    if type(expr) is f.Attr or (type(expr) is f.Subscript and type(expr.index) is f.Const):
        return expr.base
    return expr.func.base if type(expr) is f.Call and type(expr.func) is f.Attr and _moves(expr.func) else None


def _moves(func: f.Attr) -> bool:
    return func.attr in ("to", "cuda", "cpu", "long", "int", "clone", "detach")


def _put(frame: Frame, function: FunctionInfo, name: str, key: str) -> list[f.Expr]:
    """What the function puts under a key of the records that a name holds; nothing where not all of it is seen."""
    if not name:
        return []
    given = {parameter.name for parameter in function.parameters}
    known = frame.analysis.bodies.once(_sources, function.body)
    names, found = [name], list[f.Expr]()
    for one in names:  # grows
        sources = known.get(one, [])
        if one in given or not sources:
            return []
        for source in sources:
            if source is None or not _take(source, key, found, names):
                return []
    assigned = (target for s in statements(function.body) if type(s) is f.Assign for target in s.targets)
    stored = (target for target in assigned if type(target) is f.Subscript)
    return [] if any(is_key(target.index, key) for target in stored) else found


def _root(base: f.Expr) -> str:
    """`rows` of `rows` and `rows[0]`."""
    while type(base) is f.Subscript and not (type(base.index) is f.Const and base.index.text[:1] in "'\""):
        base = base.base
    return base.id if type(base) is f.Name else ""


def _sources(body: f.Body) -> dict[str, list[f.Expr | None]]:
    """What each name is bound to and what is appended to it; None for what cannot be told."""
    return by_place((*_assigned(body), *_walked(body), *_filled_in(body)))


def _assigned(body: f.Body) -> Iterator[tuple[str, f.Expr | None]]:
    for s in nodes(body, f.Assign):
        for target in s.targets:
            if type(target) is f.Name:
                yield target.id, s.value
            elif type(target) is f.Sequence:
                yield from ((name, None) for name in {*map(root_name, target.elements)})


def _walked(body: f.Body) -> Iterator[tuple[str, f.Expr | None]]:
    for target, iterable in walks(body):
        if type(target) is f.Name:
            yield target.id, iterable
        elif type(target) is f.Sequence and target.elements:
            numbered = type(iterable) is f.Call and last_name(iterable.func) == "enumerate"
            for name in {*map(root_name, target.elements)}:
                yield name, iterable if numbered and root_name(target.elements[-1]) == name else None


def _filled_in(body: f.Body) -> Iterator[tuple[str, f.Expr | None]]:
    for call in nodes(body, f.Call):
        if type(call.func) is f.Attr and type(call.func.base) is f.Name:
            if call.func.attr == "append":
                yield call.func.base.id, call.args[0] if len(call.args) == 1 else None
            elif call.func.attr in _FILLS:
                yield call.func.base.id, None


def _take(source: f.Expr, key: str, found: list[f.Expr], names: list[str]) -> bool:
    """Add what a source has under a key, or the name that it takes its records from; False if neither can be told."""
    if type(source) is f.Call and last_name(source.func) in _SAME_ITEMS and source.args:
        return _take(source.args[0], key, found, names)
    if type(source) is f.Sequence:
        return all(_take(item, key, found, names) for item in source.elements)
    if type(source) is f.DictDisplay:
        entry = next((v for k, v in zip(source.keys, source.values, strict=True) if is_key(k, key)), None)
        if entry is not None:
            found.append(entry)
        return (entry is not None or not source.keys) and None not in source.keys
    if type(source) is f.Comprehension:
        if type(source.elements[0]) is f.DictDisplay:
            return _take(source.elements[0], key, found, names)
        source = _by_item(source.generators[0].iterable)
    name = _root(source)
    if name and name not in names:
        names.append(name)
    return bool(name)


def _by_item(walked: f.Expr) -> f.Expr:
    """`rows` of `rows.items()` and `rows.keys()`."""
    if type(walked) is f.Call and type(walked.func) is f.Attr and walked.func.attr in ("keys", "items"):
        return walked.func.base
    return walked
