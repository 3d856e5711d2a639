"""The order in which a container yields its items: which containers have none that ranks share.

A set of strings is walked in another order by every process, for strings hash differently in each; so is a set of
objects, which hash by address. Integers hash to themselves: a set of ranks or indices that was built alike is walked
alike. What is filled while such a container is walked takes its order over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.data.number_attributes import NUMBER_TYPES, is_declared
from ferrule_lint.semantics.domain.assigned import assigning
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.dependences import (
    COUNTED,
    FLOWS,
    ITEM,
    ITERATED,
    NOTHING,
    OBSERVED,
    Deps,
    only,
    recast,
)
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, place_name, position, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: names of things that are whole numbers, and of containers of these
_NUMBERS = re.compile(
    r"(?i)(^|_)(rank|id|idx|index|indice|num|number|size|len|length|step|stage|port|dim|dimension|offset|count|int|epoch|"
    r"gpu|shard|position|degree|seed|bit|axis|axe|width|height|resolution|i|j|top_?k)(e?s)?"
    r"(_(train|eval|test|val|min|max|list))?$"
)
_ARITHMETIC = frozenset("Add Sub Mult FloorDiv Mod LShift RShift USub UAdd Invert".split())
_OF_NUMBERS = frozenset("int len range ord round hash numel size get_rank get_world_size".split())
_SETS = frozenset("set Set frozenset FrozenSet AbstractSet MutableSet".split())
#: methods of a dict that yield what is in it
VIEWS = frozenset("items keys values".split())
_WRAPPERS = frozenset("zip enumerate list tuple tqdm iter".split())
#: operators that make a set of two sets, or of two views of keys
SET_OPERATORS = frozenset("Sub BitAnd BitOr BitXor".split())
SET_METHODS = frozenset("union intersection difference symmetric_difference".split())


def numbers(expr: f.Expr | None, frame: Frame | None = None) -> bool:
    """Whether an expression is a number or a container of numbers, as far as its text tells, and what variables were
    set to."""
    if type(expr) is f.Const:
        return expr.text[:1].isdigit() or expr.text[:1] == "-"
    if type(expr) in (f.Name, f.Attr):
        made = definition(frame, expr) if frame is not None and type(expr) is f.Name else expr
        return bool(_NUMBERS.search(last_name(expr))) or (made is not expr and numbers(made))
    if type(expr) is f.Starred:
        return numbers(expr.value, frame)
    if type(expr) is f.Subscript:
        return numbers(expr.base, frame) or numbers(expr.index)
    if type(expr) is f.Op:
        return expr.kind in _ARITHMETIC and any(numbers(o, frame) for o in expr.operands)
    if type(expr) is f.Call:
        name = last_name(expr.func)
        if name in _OF_NUMBERS or bool(_NUMBERS.search(name)):
            return True
        return any(numbers(a, frame) for a in expr.args)
    if type(expr) is f.Comprehension:
        return _of_generator(expr, frame)
    if type(expr) in (f.Sequence, f.SetDisplay):
        return bool(expr.elements) and all(numbers(e, frame) or is_declared(frame, e) for e in expr.elements)  # type: ignore[union-attr]
    return False


def _of_generator(expr: f.Comprehension, frame: Frame | None) -> bool:
    element = expr.elements[0] if expr.elements else None
    if type(element) is f.Sequence:
        return all(numbers(e) or is_declared(frame, e) for e in element.elements)
    for generator in expr.generators:
        if type(element) is f.Name and type(generator.target) is f.Name and element.id == generator.target.id:
            return numbers(element) or numbers(generator.iterable)
    return numbers(element) or is_declared(frame, element)


def dicts_walked(expr: f.Expr) -> frozenset[str]:
    """The dicts whose views are walked, side by side if it is a `zip`; nothing if something else is walked."""
    if type(expr) is f.Call and last_name(expr.func) in _WRAPPERS and expr.args:
        arguments = expr.args if last_name(expr.func) == "zip" else expr.args[:1]
        walked = [dicts_walked(a) for a in arguments]
        return NOTHING.union(*walked) if all(walked) else NOTHING
    if type(expr) is f.Call and type(expr.func) is f.Attr and expr.func.attr in VIEWS and not expr.args:
        place = place_name(expr.func.base)
        return frozenset([place]) if place else NOTHING
    return NOTHING


def no_order(frame: Frame, pos: f.Pos | None, what: str = "a set has no order that processes share") -> Divergence:
    """The order of a set: strings and objects hash differently in every process."""
    return frame.source(WORLD, "host", pos, what, Confidence.MEDIUM)


def made_set(frame: Frame, value: Value, items: f.Expr | None, pos: f.Pos) -> Value:
    """A set of the items of `value`, which `items` is the text of."""
    unordered = None if numbers(items, frame) else no_order(frame, pos)
    return value._replace(unordered=unordered, items=None, const=None, target=None, in_order=False)


def is_set(annotation: f.Expr | None) -> bool:
    """Whether an annotation says that something is a set of something else than numbers."""
    if type(annotation) in (f.Name, f.Attr):
        return last_name(annotation) in _SETS
    if type(annotation) is f.Subscript:
        name = last_name(annotation.base)
        if name in _SETS:
            return last_name(annotation.index) not in NUMBER_TYPES
        return name in ("Optional", "ClassVar", "Final", "Annotated") and is_set(annotation.index)
    if type(annotation) is f.Op and annotation.kind == "BitOr":
        return any(is_set(o) for o in annotation.operands)
    return False


def of_operator(frame: Frame, expr: f.Op, values: list[Value]) -> Divergence | None:
    """The order of `a - b`, `a & b`: that of a set if one of them is a set, or a view of keys."""
    if expr.kind not in SET_OPERATORS:
        return None
    for operand, value in zip(expr.operands, values, strict=True):
        if value.unordered is not None:
            return value.unordered
        if type(operand) is f.Call and type(operand.func) is f.Attr and operand.func.attr == "keys":
            return no_order(frame, position(operand), "an operation on views of keys makes a set, which has no order")
    return None


def leaves_ties(frame: Frame, key: f.Expr | None) -> bool:
    """Whether a key for sorting takes so few values that items share them: a test, one of two constants, a length."""
    if type(key) is not f.Lambda:
        return type(key) is f.Name and key.id in ("len", "bool")
    value = _returned(frame, key)
    if type(value) is f.IfExp:
        return type(value.body) is f.Const and type(value.orelse) is f.Const
    if type(value) is f.Call:
        return last_name(value.func) in ("len", "bool", "startswith", "endswith", "isinstance", "hasattr")
    return type(value) in (f.Compare, f.BoolOp, f.Not)


def own_number(frame: Frame, key: f.Expr | None) -> str:
    """The function by whose numbers a key sorts, if every process has others: `id`, `hash`; "" if it does not."""
    made = _returned(frame, key) if type(key) is f.Lambda else key
    if type(made) is f.Call and (len(made.args) != 1 or numbers(made.args[0])):
        return ""
    name = last_name(made.func if type(made) is f.Call else made)
    return name if name in ("id", "hash") else ""


def _returned(frame: Frame, made: f.Lambda) -> f.Expr | None:
    function = frame.module.functions.get(made.qualname)
    last = function.body[-1] if function is not None and function.body else None
    return last.value if type(last) is f.Return else None


def sorted_value(value: Value) -> Value:
    """The items of a value in an order that depends on nothing else."""
    return value._replace(unordered=None, items=None, const=None, target=None, in_order=True)


def length_deps(value: Value) -> Deps:
    """How the parameters decide what iterating a value does: how often, and in which order. Of a tensor the content of
    a parameter may decide how many rows it has (`ids[ids > 0]`); `rounds_of` says which of its dimensions count."""
    deps = value.length_deps
    if value.shape_deps and not (value.uneven_last or value.container):
        deps = deps | only(value.shape_deps, OBSERVED, OBSERVED)
    if value.deps and (iterated := only(value.deps, ITERATED, FLOWS)):
        deps = deps | iterated if deps else iterated
    if value.in_order:
        return recast(deps, COUNTED, ITERATED)
    return deps


def of_parts(values: list[Value]) -> list[Value]:
    """Lists of which one is made (`sorted(names) + extra`): those in an order of their own keep it in there, whatever
    that of the others is."""
    return [
        v._replace(deps=recast(v.deps, ITEM, FLOWS), length_deps=length_deps(v)) if v.in_order else v for v in values
    ]


def stored_order(frame: Frame, target: f.Subscript, place: str, base: Value, index: Value) -> Divergence | None:
    """The order of a dict after `place[index] = ...`."""
    if (
        (base.data is None and base.shape is None)
        and (keyed := _keyed_by_data(frame, target, index, place)) is not None
        and (base.container or base.slots is not None or is_dict(frame, target.base))
    ):
        return keyed
    return round_order(frame, target.pos, place) if base.container else None


_DICTS = frozenset("dict Dict defaultdict DefaultDict OrderedDict Counter Mapping MutableMapping".split())


def is_dict(frame: Frame, expr: f.Expr, made: bool = False) -> bool:
    """Whether a place is a dict by what is assigned to it, in this function or for an attribute in any method of the
    class, or by its annotation (not that if it has to be `made` there). A tensor whose items are set has no keys."""
    place, function = place_name(expr), frame.function
    if not place or function is None:
        return False
    bodies: tuple[f.Body, ...] = (function.body,)
    if frame.self_name and frame.self_class is not None and place.startswith(frame.self_name + "."):
        bodies = tuple(method.body for method in frame.self_class.methods.values())
    annotations = [p.annotation for p in function.parameters if p.name == place]
    found = [s for body in bodies for s in assigning(body, place)]
    said = not made and any(_says_dict(a) for a in (*annotations, *(s.annotation for s in found)))
    return said or any(_makes_dict(s.value) for s in found)


def _makes_dict(expr: f.Expr | None) -> bool:
    if type(expr) is f.Call:
        return last_name(expr.func) in _DICTS
    return type(expr) is f.DictDisplay or (type(expr) is f.Comprehension and expr.kind == "dict")


def _says_dict(annotation: f.Expr | None) -> bool:
    expr = annotation.base if type(annotation) is f.Subscript else annotation
    return type(expr) in (f.Name, f.Attr) and last_name(expr) in _DICTS


def _keyed_by_data(frame: Frame, target: f.Subscript, index: Value, place: str) -> Divergence | None:
    """The order of a dict whose keys are read from the local data: that in which this rank has seen them."""
    source = index.data or (index.divergence if index.divergence and index.divergence.kind == "data" else None)
    if source is None or type(target.index) is f.Const or numbers(target.index) or _is_term(frame, target.index):
        return None
    if _is_of_written_keys(frame, target.index):
        return None
    note = f"`{place}` gets its keys from the rank's own data"
    return source.then(frame.step("flow", target.pos, note)).at_most(Confidence.MEDIUM)


def _is_term(frame: Frame, key: f.Expr) -> bool:
    """Whether a key is one that a dict made here has (`for name in self.sums.keys()`), whatever is kept under it: in
    which order that has got its keys is said of the rounds. Or it is one of those of a dict of losses (`for name in
    loss:`), or of one of several (`for loss in losses: for name in loss:`): the code has written them, one for each
    term."""
    if type(key) is not f.Name:
        return False
    for loop in frame.rounds:
        walked, target = loop.statement.iterable, loop.statement.target
        view = type(walked) is f.Call and type(walked.func) is f.Attr and walked.func.attr in ("keys", "items")
        of = walked.func.base if view and type(walked) is f.Call and type(walked.func) is f.Attr else walked
        first = target.elements[0] if type(target) is f.Sequence and target.elements else target
        if (
            type(first) is f.Name
            and first.id == key.id
            and ((view and is_dict(frame, of, made=True)) or _holds_terms(frame, of))
        ):
            return True
    return False


def _is_of_written_keys(frame: Frame, index: f.Expr) -> bool:
    """Whether all that a key has of local data are keys of dicts that loops around go through: of such as are filled in
    the project, whose order is followed, or of what a model puts out, which has one for each of its heads."""
    keys = {key: of for loop in frame.rounds for key, of in _keys_walked(loop.statement)}
    own = variables(index) & keys.keys()
    others = (frame.read(name) for name in variables(index) - own)
    if not own or any(value is not None and (value.data or value.divergence) for value in others):
        return False
    return all(_is_filled_here(frame, keys[key]) or _is_output(frame, keys[key]) for key in own)


def _keys_walked(loop: f.For) -> Iterator[tuple[str, f.Expr]]:
    """The name of the keys that a loop goes through, and the dict: `for k, v in d.items()`, `for k in d: ... d[k]`."""
    walked, target = loop.iterable, loop.target
    while type(walked) is f.Call and last_name(walked.func) in ("list", "tuple") and len(walked.args) == 1:
        walked = walked.args[0]
    view = walked.func.attr if type(walked) is f.Call and type(walked.func) is f.Attr and not walked.args else ""
    if view in ("keys", "items") and type(walked) is f.Call and type(walked.func) is f.Attr:
        first = target.elements[0] if type(target) is f.Sequence and target.elements else target
        if type(first) is f.Name and (view == "keys" or first is not target):
            yield first.id, walked.func.base
    elif type(target) is f.Name and (place := place_name(walked)):
        asked = nodes(loop.body, f.Subscript)
        if any(place_name(e.base) == place and place_name(e.index) == target.id for e in asked):
            yield target.id, walked


def _is_filled_here(frame: Frame, expr: f.Expr) -> bool:
    """Whether something is a container that the project fills, in an order that is known to be no rank's own."""
    value = frame.read(place_name(expr))
    return value is not None and value.container and value.unordered is None


def _is_output(frame: Frame, expr: f.Expr) -> bool:
    """Whether something is what a model puts out, or one of several such, by its name or by what it is made by."""
    expr = expr.base if type(expr) is f.Subscript else expr
    made = definition(frame, expr)
    called = last_name(made.func) if type(made) is f.Call else ""
    by_model = bool(called) and frame.models.convention("module", called) is not None
    return by_model or _OUTPUTS.fullmatch(last_name(expr)) is not None


_OUTPUTS = re.compile(r"(\w+_)?(logits|outputs?)(_dict)?")


def _holds_terms(frame: Frame, walked: f.Expr) -> bool:
    """Whether a dict is one of losses by its name, or by that of the list which it is an item of."""
    if _LOSSES.search(last_name(walked)):
        return True
    if type(walked) is not f.Name:
        return False
    return any(
        type(loop.statement.target) is f.Name
        and loop.statement.target.id == walked.id
        and _LOSSES.search(last_name(loop.statement.iterable)) is not None
        for loop in frame.rounds
    )


_LOSSES = re.compile(r"(^|_)loss(es)?(_(dicts?|terms?))?$")


def round_order(frame: Frame, pos: f.Pos | None, place: str) -> Divergence | None:
    """The order that something takes over which is filled in the rounds of the enclosing loops."""
    for loop in frame.rounds:
        if loop.walked.unordered is not None:
            return loop.walked.unordered.then(frame.step("flow", pos, f"`{place}` is filled in that order"))
    return None
