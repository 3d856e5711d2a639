"""Dicts that get their keys as a rank meets them: `self.sums[name] += value`, `scores[task].append(score)`.

Who meets the keys in another order, or not all of them, walks the dict otherwise. Only attributes that are
named for what is measured count: buckets of parameters are filled in the same style, from what all ranks share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, told_parts, under_tests, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import written_keys
from ferrule_lint.semantics.data.ordering import VIEWS, numbers
from ferrule_lint.semantics.data.written_keys import LOSSES
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, shown, variables
from ferrule_lint.semantics.domain.trace import every_event
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.reads import Asked, Reads

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: names of what is measured on the way
MEASURES = re.compile(
    r"metric|score|stat(istic)?s?$|result|sum|count|total|mean|loss|logs?$|record|pred|sample|hist|meter|accum|average",
    re.IGNORECASE,
)
FILLS = frozenset("append extend add update".split())
#: methods that put entries into a dict
_ENTERS = frozenset({"update", "setdefault"})


class Accumulators:
    """The attributes of each file that are filled so, looked up when a file is first asked about."""

    def __init__(self, reads: Reads) -> None:
        self._known: Asked[dict[str, f.Subscript]] = Asked(reads, "accumulates")

    def filled_in(self, module: ModuleInfo) -> dict[str, f.Subscript]:
        """Names of attributes -> where a key of theirs is met."""
        return self._known.find(module.path, lambda: _all_filled(module), {})


def _all_filled(module: ModuleInfo) -> dict[str, f.Subscript]:
    met: list[f.Subscript] = []
    keyed: dict[str, bool] = {}
    begun_empty: set[str] = set()
    entered: set[str] = set()
    put_in: set[str] = set()
    there: set[f.Pos] = set()
    filled_at_first: set[str] = set()
    at_first = _run_at_first(module)
    for function in module.functions.values():
        terms: frozenset[str] | None = None
        there.update(_asked_for(function.body))
        for node in walk(function.body):
            if type(node) is f.Assign:
                for target in node.targets:
                    if type(target) is f.Attr and _is_empty(node.value):
                        begun_empty.add(target.attr)
                    elif type(target) is f.Attr:
                        keyed[target.attr] = keyed.get(target.attr, True) and has_keys(node.value)
                    elif type(target) is f.Subscript:
                        (filled_at_first if function.qualname in at_first else entered).add(last_name(target.base))
            if type(node) is f.Call and type(node.func) is f.Attr and node.func.attr in _ENTERS:
                put_in.add(last_name(node.func.base))
            place = _filled(node)
            if place is None:
                continue
            if terms is None:
                terms = _terms_of_losses(function)
            if terms.isdisjoint(variables(place.index)):
                met.append(place)
    known: dict[str, f.Subscript] = {}
    for place in met:
        name = last_name(place.base)
        # who begins with nothing has its keys from where it is made with them, if nobody else puts any in
        begun = keyed.get(name, name in begun_empty and name in filled_at_first)
        made = begun and not (name in begun_empty and name in entered | put_in)
        # under a test whether it is there no entry is made, unless some other statement makes it where it is not
        if not made and not (place.pos in there and name not in entered):
            known.setdefault(name, place)
    return known


def _run_at_first(module: ModuleInfo) -> set[str]:
    """The constructors of a file, and the methods that they call on the object they make."""
    constructors = [function for function in module.functions.values() if function.name == "__init__"]
    called = {
        f"{function.qualname.rpartition('.')[0]}.{node.func.attr}"
        for function in constructors
        for node in walk(function.body)
        if type(node) is f.Call and type(node.func) is f.Attr and shown(node.func.base) == "self"
    }
    return {function.qualname for function in constructors} | called


def _asked_for(body: f.Body) -> Iterator[f.Pos]:
    """Items that are read where a test says that they are there: `if name in self.sums: self.sums[name].update(x)`, and
    what comes behind `if name not in self.sums: continue`."""
    for s, tests in under_tests(body):
        places = {place for test in tests for place in _told_to_be_there(test)}
        for node in walk(s) if places else ():
            if type(node) is f.Subscript and f"{shown(node.base)}[{shown(node.index)}]" in places:
                yield node.pos


def _told_to_be_there(test: f.Expr) -> Iterator[str]:
    """The entries that are there where a test holds, as texts: `self.sums[name]`."""
    for part, told in told_parts(test, True):
        if type(part) is f.Compare and part.ops == (("in",) if told else ("not in",)):
            container = part.rights[0]
            if type(container) is f.Call and type(container.func) is f.Attr and container.func.attr == "keys":
                container = container.func.base
            yield f"{shown(container)}[{shown(part.left)}]"


#: classes that hold modules by their names, and have no more than they were given
_OF_MODULES = frozenset({"ModuleDict", "ParameterDict", "MetricCollection"})


def _is_empty(value: f.Expr | None) -> bool:
    """Whether something is nothing yet, or a plain dict without keys: to add to an entry fails."""
    if type(value) is f.Call:
        return last_name(value.func) == "dict" and not value.args and not value.keywords
    return value == f.Const("None") or (type(value) is f.DictDisplay and not value.keys)


def has_keys(value: f.Expr | None) -> bool:
    """Whether a dict is made with its keys, and fails where something is added to another entry: no `defaultdict`."""
    if type(value) is f.Call:
        return last_name(value.func) in _OF_MODULES
    return (type(value) is f.DictDisplay and bool(value.keys)) or (
        type(value) is f.Comprehension and value.kind == "dict"
    )


def _terms_of_losses(function: FunctionInfo) -> frozenset[str]:
    """What a function binds to the keys of a dict of losses that it was given."""
    given = {p.name for p in function.parameters if LOSSES.search(p.name)}
    loops = [s for s in statements(function.body) if type(s) is f.For] if given else []
    walked_here = [s.target for s in loops if variables(s.iterable) & given]
    keys = [t.elements[0] if type(t) is f.Sequence and t.elements else t for t in walked_here]
    return frozenset(name for key in keys for name in variables(key))


def _filled(node: object) -> f.Subscript | None:
    """The item that a statement or call adds to, whatever was there: `x.sums[key]`."""
    place: object = None
    if type(node) is f.AugAssign:
        place = node.target
    elif type(node) is f.Call and type(node.func) is f.Attr and node.func.attr in FILLS:
        place = node.func.base
    if type(place) is not f.Subscript or type(place.base) is not f.Attr or type(place.index) is f.Const:
        return None
    return place if MEASURES.search(place.base.attr) and not numbers(place.index) else None


def order(frame: Frame, iterable: Value, expr: f.Expr) -> Divergence | None:
    """Why ranks walk what an attribute holds in another order."""
    attribute = walked(expr)
    if attribute is None or frame.light or iterable.in_order or not MEASURES.search(attribute.attr):
        return None
    if expr is attribute and _may_be_list(frame, attribute):
        return None
    if iterable.uniform and iterable.agreed:
        return None  # one that is only made alike (`defaultdict(list)` in a constructor) is filled by each rank
    place = frame.analysis.accumulators.filled_in(frame.module).get(attribute.attr)
    owners = frame.module.classes.values() if frame.self_class is None else (frame.self_class,)
    if place is None or written_keys.by_callers(frame.analysis, owners, place):
        return None
    if _is_exchanged(frame, attribute):
        return None
    note = f"`{shown(place)}` gets its keys in the order in which this rank meets them"
    return frame.source(WORLD, "data", place.pos, note, Confidence.MEDIUM)


#: what leaves all ranks with the objects of all of them, or with those of one
_EXCHANGES = ("all_gather_object", "broadcast_object")


def _is_exchanged(frame: Frame, attribute: f.Attr) -> bool:
    """Whether the function has put something in the place of an attribute before, which a call makes of what ranks have
    told each other: `self.scores = merged(self.scores)`. A reduction of each value leaves the keys as they were met."""
    for s in statements(frame.function.body if frame.function is not None else ()):
        if type(s) is not f.Assign or type(s.value) is not f.Call or s.line >= attribute.pos[0]:
            continue
        if any(shown(target) == shown(attribute) for target in s.targets):
            with frame.recording() as terms:
                frame.eval(s.value)
            if any(event.op.startswith(_EXCHANGES) for event in every_event(tuple(terms))):
                return True
    return False


def _may_be_list(frame: Frame, attribute: f.Attr) -> bool:
    """Whether the function asks if it is a list what is walked here."""
    return any(
        type(node) is f.Call
        and last_name(node.func) == "isinstance"
        and len(node.args) == 2
        and shown(node.args[0]) == shown(attribute)
        and any(last_name(n) in ("list", "tuple") for n in walk((node.args[1],)) if type(n) is f.Name)
        for node in walk(frame.function.body if frame.function is not None else ())
    )


def walked(expr: f.Expr, ordered: bool = False) -> f.Attr | None:
    """The attribute of which the items or keys are walked; also in an order of their own, if `ordered`."""
    while type(expr) is f.Call:
        if (last_name(expr.func) in _WRAPPERS or (ordered and last_name(expr.func) == "sorted")) and expr.args:
            expr = expr.args[0]
        elif type(expr.func) is f.Attr and expr.func.attr in VIEWS and not expr.args:
            expr = expr.func.base
        else:
            return None
    return expr if type(expr) is f.Attr else None


_WRAPPERS = frozenset("list tuple enumerate tqdm iter".split())
