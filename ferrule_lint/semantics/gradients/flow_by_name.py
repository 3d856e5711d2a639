"""Whether the result of a call comes to a backward pass, or is handed back, by the names that it is bound to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks
from ferrule_lint.semantics.domain.text import called_name, last_name, root_name

#: what no gradient comes through
_CUTS = frozenset(
    "detach detach_ item tolist numpy argmax argmin argsort size numel dim any all isnan isinf isfinite bool long int "
    "zeros_like ones_like float round len isinstance".split()
)
_CUT_ATTRIBUTES = frozenset("shape dtype device ndim data".split())
_KINDS = frozenset(f.NODES)
#: blocks in which no gradient is kept
_WITHOUT = re.compile(r"no_grad|inference_mode|set_grad_enabled")
_FILLS = frozenset({"append", "extend", "update", "add"})


class _Flow:
    """The names that hold what a call gave, as the statements of a body bind them one after the other."""

    def __init__(self, at: f.Pos) -> None:
        self._at = at
        self._names: set[str] = set()
        self.backward: f.Pos | None = None
        self.is_returned = False

    def through(self, body: f.Body) -> None:
        for s in body:
            if type(s) is f.With and any(_WITHOUT.search(called_name(item)) for item, _ in s.items):
                continue
            self._statement(s)
            for block in blocks(s):
                self.through(block)

    def _statement(self, s: f.Stmt) -> None:
        if type(s) is f.Assign and s.value is not None:
            bound = {root_name(part) for target in s.targets for part in _parts(target)}
            if self._carries(s.value):
                self._names |= bound
            elif all(type(target) is f.Name for target in s.targets):
                self._names -= bound
        elif type(s) is f.AugAssign and self._carries(s.value):
            self._names.add(root_name(s.target))
        elif type(s) is f.Return and s.value is not None and self._carries(s.value):
            self.is_returned = True
        elif type(s) is f.ExprStmt and type(s.value) is f.Call:
            self._call(s.value)

    def _call(self, call: f.Call) -> None:
        func = call.func
        if type(func) is not f.Attr:
            return
        given = any(map(self._carries, (*call.args, *(value for _, value in call.keywords))))
        if func.attr == "backward" and (given or self._carries(func.base)):
            self.backward = self.backward or call.pos
        elif func.attr in _FILLS and given:
            self._names.add(root_name(func.base))

    def _carries(self, e: f.Expr) -> bool:
        """Whether an expression is made of what the call gave, with its gradient."""
        if type(e) is f.Name:
            return e.id in self._names
        if type(e) is f.Attr:
            return e.attr not in _CUT_ATTRIBUTES and self._carries(e.base)
        if type(e) is f.Call:
            if e.pos == self._at:
                return True
            if last_name(e.func) in _CUTS:
                return False
            return any(map(self._carries, (e.func, *e.args, *(value for _, value in e.keywords))))
        if type(e) is f.Compare or type(e) is f.Not:
            return False
        return any(map(self._carries, _below(e)))


def _below(e: object) -> Iterator[f.Expr]:
    """The expressions that one is made of, whatever lies between."""
    for part in e if isinstance(e, tuple) else ():
        if type(part) is tuple:
            yield from _below(part)
        elif type(part) in _KINDS:
            yield part


def _parts(target: f.Expr) -> tuple[f.Expr, ...]:
    if type(target) is f.Sequence:
        return tuple(part for element in target.elements for part in _parts(element))
    return (target.value,) if type(target) is f.Starred else (target,)


def to_backward(body: f.Body, at: f.Pos) -> f.Pos | None:
    """The backward pass to which the result of the call at a place comes."""
    return _followed(body, at).backward


def to_return(body: f.Body, at: f.Pos) -> bool:
    """Whether a function hands back something that is made of the result of the call at a place."""
    return _followed(body, at).is_returned


def _followed(body: f.Body, at: f.Pos) -> _Flow:
    flow = _Flow(at)
    flow.through(body)
    return flow
