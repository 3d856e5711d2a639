"""Tensors that are certainly in one piece: what a rank has made itself or loaded, and its own part of one in parts.

`full_tensor(x)` of a helper that asks `isinstance(x, DTensor)` issues nothing for these: `item(to_local(counts))`.
Tensors in parts and others do not mix, so what is computed of one in one piece is in one piece. The state of a model
that is put in parts further below is not in parts yet, and what is loaded from a path is not either.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.assigned import assigning
from ferrule_lint.semantics.domain.text import dotted_name, last_name, place_name, render, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: what takes a rank's own part, all of it, or numbers out of a tensor, by its name
_TAKES_OUT = frozenset({"to_local", "full_tensor", "item", "tolist", "numpy"})
#: what makes a tensor of the rank's own
_MAKES = frozenset(f"torch.{name}" for name in "tensor as_tensor arange linspace eye from_numpy randperm".split())
#: what puts tensors in parts, of those that it is called on
_IN_PARTS = frozenset({"redistribute", "distribute", "shard"})
#: operators that take tensors, on either side
_OF_TENSORS = frozenset("Add Sub Mult Div FloorDiv Mod Pow BitAnd BitOr BitXor MatMult".split())


def all_are(frame: Frame, call: f.Call, function: FunctionInfo, asked: frozenset[str]) -> bool:
    """Whether all that a call is given, at least one thing, is in one piece; `asked`: the parameters that matter, if
    these are told."""
    named = [p.name for p in function.parameters]
    if function.owner is not None and not function.is_static:
        named = named[1:]
    told = bool(asked) and all(type(e) is not f.Starred for e in call.args) and all(k for k, _ in call.keywords)
    given = [*zip(named, call.args, strict=False), *call.keywords] if told else []
    parts = [e for name, e in given if name in asked] if told else [*call.args, *(value for _, value in call.keywords)]
    parts = [e for e in parts if not _is_no_tensor(e)]
    return bool(parts) and all(_is_one(frame, e, frozenset()) for e in parts)


def _is_no_tensor(e: f.Expr) -> bool:
    """A constant, or what torch calls a type or a layout: `torch.float32`, `torch.channels_last`."""
    return type(e) is f.Const or (type(e) is f.Attr and type(e.base) is f.Name and e.base.id == "torch")


def _is_one(frame: Frame, e: f.Expr, asked: frozenset[str]) -> bool:
    if type(e) is f.Name:
        return e.id in asked or _is_bound_to_one(frame, e.id, asked | {e.id})
    if type(e) is f.Call:
        if last_name(e.func) in _TAKES_OUT or dotted_name(e.func) in _MAKES:
            return True
        if _is_loaded(frame, e) or (last_name(e.func) in _STATES and _is_put_in_parts_below(frame, e.func)):
            return True
        return type(e.func) is f.Attr and e.func.attr not in _IN_PARTS and _is_one(frame, e.func.base, asked)
    if type(e) is f.Subscript:
        return _is_one(frame, e.base, asked)
    if type(e) is f.Comprehension:
        items = variables(tuple(g.target for g in e.generators))
        return variables(e.elements) <= items and all(_is_one(frame, g.iterable, asked) for g in e.generators)
    if type(e) is f.Compare:
        return any(_is_one(frame, x, asked) for x in (e.left, *e.rights))
    return type(e) is f.Op and e.kind in _OF_TENSORS and any(_is_one(frame, x, asked) for x in e.operands)


def _is_bound_to_one(frame: Frame, name: str, asked: frozenset[str]) -> bool:
    """Whether all that a function assigns to a name, and nothing else binds it, is in one piece; what is added to that
    leaves it so."""
    function = frame.function
    if function is None or any(p.name == name for p in function.parameters):
        return False
    values: list[f.Expr] = []
    for s in statements(function.body):
        if type(s) is f.Assign and s.value is not None and all(type(t) is f.Name for t in s.targets):
            values += [s.value for t in s.targets if type(t) is f.Name and t.id == name]
        elif type(s) is not f.AugAssign and name in variables(_binds(s)):
            return False
    return bool(values) and all(_is_one(frame, value, asked) for value in values)


def _is_loaded(frame: Frame, call: f.Call) -> bool:
    """Whether a call is given a path and settings, nothing else, and hands back by its name what it finds there."""
    root = dotted_name(call.func).split(".")[0]
    name = last_name(call.func)
    if not root or root in frame.env or root == frame.self_name or not _LOADS.search(name) or _NOT_WHOLE.search(name):
        return False
    given = [*((last_name(e), e) for e in call.args), *((word or "", e) for word, e in call.keywords)]
    kinds = [_kind(frame, word, e) for word, e in given]
    return "path" in kinds and all(kinds)


#: what hands back a state by its name, and what may be a model, or in parts
_LOADS = re.compile(
    r"(^|_)(load|read|ckpt|checkpoint|state_?dict|weights|safetensors|merged?)(_|$)|^load", re.IGNORECASE
)
_NOT_WHOLE = re.compile(
    r"model|module|engine|trainer|shard|fsdp|dtensor|distribut|parallel|deepspeed|zero", re.IGNORECASE
)
_PATH = re.compile(r"(path|dir|directory|file|folder|filename|ckpt|checkpoint|uri|url)s?$", re.IGNORECASE)
_SETTINGS = re.compile(r"^(args|config|cfg|conf|options|opt|hparams|settings|self)$")


def _kind(frame: Frame, word: str, e: f.Expr) -> str:
    """Whether what a call is given is a path or a setting, or neither: ""."""
    if _PATH.search(word) or (type(e) is f.Call and last_name(e.func) in ("join", "Path", "abspath", "expanduser")):
        return "path"
    if type(e) is f.Const or (type(e) is f.Name and _is_told_to_be_plain(frame, e.id)):
        return "setting"
    root = dotted_name(e).split(".")[0] if type(e) is f.Attr else ""
    return "setting" if _SETTINGS.match(root) and not _NOT_WHOLE.search(last_name(e)) else ""


def _is_told_to_be_plain(frame: Frame, name: str) -> bool:
    """Whether a parameter is a text, a number or a flag by its annotation."""
    parameters = frame.function.parameters if frame.function is not None else ()
    told = next((render(p.annotation) for p in parameters if p.name == name and p.annotation is not None), "")
    return bool(told) and _PLAIN.issuperset(re.findall(r"\w+", told))


_PLAIN = frozenset("str int float bool Optional Union None PathLike Path os pathlib dtype torch".split())


#: methods that hand back what a module consists of
_STATES = frozenset("state_dict parameters named_parameters".split())
_PUTS_IN_PARTS = re.compile(
    r"fsdp|fully_?shard|shard_model|parallelize|distribute|(^|_)prepare($|_)|deepspeed", re.IGNORECASE
)


def _is_put_in_parts_below(frame: Frame, method: f.Expr) -> bool:
    """`model.state_dict` of a variable that the function makes, and hands only below this line to what shards it."""
    function, base = frame.function, method.base if type(method) is f.Attr else None
    if function is None or type(base) is not f.Name or frame.loop_depth:
        return False
    if any(p.name == base.id for p in function.parameters):
        return False
    lines = [
        call.pos[0]
        for call in walk(function.body)
        if type(call) is f.Call
        and _PUTS_IN_PARTS.search(dotted_name(call.func))
        and base.id in variables((call.args, call.keywords))
    ]
    return bool(lines) and min(lines) > frame.line


def _binds(s: f.Stmt) -> tuple[object, ...]:
    """The parts of a statement that bind names, but for assignments to single names."""
    if type(s) is f.Assign:
        return s.targets
    if type(s) is f.For:
        return (s.target,)
    if type(s) is f.With:
        return tuple(target for _, target in s.items if target is not None)
    return (s.targets,) if type(s) is f.Delete else ()


def has_left_in_parts(frame: Frame, e: f.Expr) -> bool:
    """Whether what a name stands for is in one piece here, since the function has left where it is a DTensor:
    `if isinstance(x, DTensor): ...; return whole`."""
    name = place_name(e)
    if frame.function is None or not name:
        return False
    asked = frame.analysis.bodies.once(_left_in_parts, frame.function.body)
    before = [line for place, line in asked if place == name and line < frame.line]
    set_again = (s.line for s in assigning(frame.function.body, name))
    return bool(before) and not any(max(before) < line <= frame.line for line in set_again)


def _left_in_parts(body: f.Body) -> list[tuple[str, int]]:
    """The places that a function asks whether they hold a DTensor, and leaves if they do, with the last lines there."""
    tests = [s for s in statements(body) if type(s) is f.If and s.body and type(s.body[-1]) in (f.Return, f.Raise)]
    return [
        (place_name(s.test.args[0]), max(inner.line for inner in statements(s.body)))  # type: ignore[union-attr]
        for s in tests
        if _asks_for_parts(s.test)
    ]


def _asks_for_parts(test: f.Expr) -> bool:
    is_asked = type(test) is f.Call and last_name(test.func) == "isinstance" and len(test.args) == 2
    return is_asked and last_name(test.args[1]) == "DTensor"  # type: ignore[union-attr]
