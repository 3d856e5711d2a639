"""What an expression comes to for one rank, and the transfers that its calls begin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

from ferrule_lint.checks.worlds import numbers
from ferrule_lint.checks.worlds.numbers import UNKNOWN
from ferrule_lint.checks.worlds.steps import Handle, Operation, Player, Scope, Unclear, Wait
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.domain.text import last_name, place_name

#: calls of the project's own functions in each other
_DEEPEST = 4
#: from a place in a group to a rank of the job and back; all that is played is one group
_CONVERSIONS = ("get_global_rank", "get_group_rank")


class Expressions(ABC):
    """A body that one rank runs once: what is in its places."""

    def __init__(self, player: Player, scope: Scope, env: dict[str, Any], depth: int = 0) -> None:
        self.player = player
        self.scope = scope
        self.env = env
        self.depth = depth

    @abstractmethod
    def call(self, body: f.Body) -> object:
        """What a function's body hands back."""

    def inner(self, env: dict[str, Any], scope: Scope | None = None, deeper: int = 1) -> Self:
        """Another body of the same rank."""
        return type(self)(self.player, scope or self.scope, env, self.depth + deeper)

    def value(self, e: f.Expr) -> Any:
        self.player.enter()
        found = self._value(e)
        self.player.leave()
        if found is UNKNOWN and (test := self.scope.local(e)):
            found = self.player.asks(test)
        if type(found) is list and len(found) > numbers.LONGEST:
            raise Unclear
        return found

    def holds(self, test: f.Expr) -> bool | None:
        """Whether a test holds; None: cannot be told."""
        return numbers.truth(self.value(test))

    def _value(self, e: f.Expr) -> Any:
        if type(e) is f.Const:
            return numbers.constant(e)
        if type(e) is f.Name or type(e) is f.Attr:
            return self._place(e)
        if type(e) is f.Call:
            return self._called(e)
        if type(e) is f.Not:
            holds = self.holds(e.operand)
            return UNKNOWN if holds is None else not holds
        if type(e) is f.BoolOp:
            return self._bool_op(e)
        if type(e) is f.Compare:
            return numbers.compared(self.value(e.left), e.ops, [self.value(right) for right in e.rights])
        if type(e) is f.Op:
            return self._operator(e)
        if type(e) is f.Sequence:
            return self._sequence(e)
        if type(e) is f.Subscript:
            base, index = self.value(e.base), self.value(e.index)
            return numbers.item(base, index)
        if type(e) is f.IfExp:
            holds = self.holds(e.test)
            if holds is None:
                self._nothing_in(e.body, e.orelse)
                return UNKNOWN
            return self.value(e.body if holds else e.orelse)
        if type(e) is f.Comprehension:
            return self._comprehension(e)
        if type(e) is f.Walrus:
            value = self.value(e.value)
            self.env[e.name] = value
            return value
        self._nothing_in(e)
        return UNKNOWN

    def _nothing_in(self, *parts: f.Expr) -> None:
        """What is not run for what it comes to has no transfers in it."""
        if self.has_transfers(tuple(f.ExprStmt(0, part) for part in parts)):
            raise Unclear

    def _place(self, e: f.Name | f.Attr) -> Any:
        place = place_name(e)
        if place in self.env:
            return self.env[place]
        if (number := self.scope.number(e)) is not None:
            return self.player.number(number)
        if (value := self.scope.held(e)) is not None and self.depth < _DEEPEST:
            return self.inner({}).value(value)
        return UNKNOWN

    def _bool_op(self, e: f.BoolOp) -> Any:
        known, last = True, UNKNOWN
        for part in e.values:
            if not known:
                self._nothing_in(part)
            last = self.value(part)
            holds = numbers.truth(last)
            if holds is None:
                known = False
            elif holds is (e.op == "or"):
                return last if known else holds
        return last if known else UNKNOWN

    def _operator(self, e: f.Op) -> Any:
        values = [self.value(operand) for operand in e.operands]
        if e.kind == "Await":
            return values[0]
        if e.kind == "Slice":
            return slice(*values) if numbers.known(*values) else UNKNOWN
        if len(values) > 2:
            found = values[0]
            for value in values[1:]:
                found = numbers.combined(e.kind, [found, value])
            return found
        return numbers.combined(e.kind, values)

    def _sequence(self, e: f.Sequence) -> Any:
        found: list[Any] = []
        for part in e.elements:
            if type(part) is f.Starred:
                more = self.value(part.value)
                if type(more) is not list:
                    return UNKNOWN
                found += more
            else:
                found.append(self.value(part))
        return found

    def _comprehension(self, e: f.Comprehension) -> Any:
        found: list[Any] = []
        inner = self.inner(dict(self.env), deeper=0)
        if e.kind == "dict" or not all(inner._rounds(e.generators, e.elements[0], found)):
            inner._nothing_in(*e.elements)
            return UNKNOWN
        return found

    def _rounds(self, generators: tuple[f.Generator, ...], element: f.Expr, found: list[Any]) -> Iterator[bool]:
        """Whether each part of a comprehension can be told; the items go to `found`."""
        if not generators:
            found.append(self.value(element))
            yield True
            return
        first, *rest = generators
        items = self.value(first.iterable)
        if type(items) is not list:
            yield False
            return
        for item in items:
            self.bind(first.target, item)
            tests = [self.holds(test) for test in first.conditions]
            if None in tests:
                yield False
                return
            if all(tests):
                yield from self._rounds(tuple(rest), element, found)

    # ------------------------------------------------------------------ places
    def has_transfers(self, body: f.Body) -> bool:
        return any(
            self.scope.transfer(call) is not None
            or last_name(call.func) in ("P2POp", "batch_isend_irecv")
            or self.scope.function(call) is not None
            for call in nodes(body, f.Call)
        )

    def bind(self, target: f.Expr, value: Any) -> None:
        if place := place_name(target):
            self.env[place] = value
        elif type(target) is f.Sequence:
            fits = type(value) is list and len(value) == len(target.elements)
            fits = fits and not any(type(part) is f.Starred for part in target.elements)
            for i, part in enumerate(target.elements):
                self.bind(part.value if type(part) is f.Starred else part, value[i] if fits else UNKNOWN)
        elif type(target) is f.Subscript and (place := place_name(target.base)) in self.env:
            self.env[place] = UNKNOWN

    # ------------------------------------------------------------------ calls
    def _called(self, e: f.Call) -> Any:
        name = last_name(e.func)
        if name in _CONVERSIONS and len(e.args) == 2:
            return self.value(e.args[1])
        if (number := self.scope.number(e)) is not None:
            return self.player.number(number)
        if (transfer := self.scope.transfer(e)) is not None:
            return self._transfer(e, name, *transfer)
        if name == "P2POp":
            return self._operation(e)
        given = [self.value(a.value if type(a) is f.Starred else a) for a in e.args]
        named = {k: self.value(v) for k, v in e.keywords}
        if name == "batch_isend_irecv":
            return self._batch(given, named)
        if name == "get_process_group_ranks":
            return list(range(self.player.size))
        if type(e.func) is f.Attr:
            return self._method(e, name, given, named)
        if numbers.is_builtin(name) and type(e.func) is f.Name and name not in self.env:
            is_open = bool(named) or any(type(a) is f.Starred for a in e.args)
            return UNKNOWN if is_open else numbers.called(name, given)
        return self._own(e, given, named)

    def _method(self, e: f.Call, name: str, given: list[Any], named: dict[str | None, Any]) -> Any:
        assert type(e.func) is f.Attr
        is_module = type(e.func.base) is f.Name and e.func.base.id not in self.env
        base = UNKNOWN if is_module else self.value(e.func.base)
        if type(base) is Handle and name == "wait":
            self.player.steps.append(Wait(base.begun))
            return UNKNOWN
        if type(base) is list:
            if name == "append" and len(given) == 1:
                base.append(given[0])
                return None
            if name == "extend" and len(given) == 1 and type(given[0]) is list:
                base += given[0]
                return None
            if name not in ("index", "count", "copy"):
                self._lost(e.func.base)
            return UNKNOWN
        return self._own(e, given, named)

    def _own(self, e: f.Call, given: list[Any], named: dict[str | None, Any]) -> Any:
        """A function of the project with transfers in it; of any other nobody knows what it does with lists."""
        found = self.scope.function(e) or self.scope.plain(e)
        if found is None:
            for arg in e.args:
                if type(self.env.get(place_name(arg))) is list:
                    self._lost(arg)
            return UNKNOWN
        if self.depth >= _DEEPEST or None in named or any(type(a) is f.Starred for a in e.args):
            raise Unclear
        body, parameters, scope = found
        names = [p.name for p in parameters if p.kind == "normal"]
        if type(e.func) is f.Attr and names[:1] in (["self"], ["cls"]):
            names = names[1:]
        env = {p.name: numbers.constant(p.default) if type(p.default) is f.Const else UNKNOWN for p in parameters}
        env = {k: v for k, v in self.env.items() if type(e.func) is f.Lambda or k.startswith("self.")} | env
        env.update(zip(names, given, strict=False))
        env.update((k, v) for k, v in named.items() if k is not None)
        if self.depth:
            return self.inner(env, scope).call(body)
        self.player.through = e
        handed = self.inner(env, scope).call(body)
        self.player.through = None
        return handed

    def _lost(self, e: f.Expr) -> None:
        if place := place_name(e):
            self.env[place] = UNKNOWN

    def _transfer(self, e: f.Call, name: str, kind: str, peer: f.Expr | None, tag: f.Expr | None) -> Any:
        for arg in e.args:
            if arg is not peer and arg is not tag:
                self.value(arg)
        to = self.value(peer) if peer is not None else UNKNOWN
        waits = name not in ("isend", "irecv")
        at = self.player.begin(kind, to, self._tag(tag), waits, name, e.pos, self.scope.path)
        return None if waits else Handle(at)

    def _tag(self, tag: f.Expr | None) -> Any:
        return self.value(tag) if tag is not None else 0

    def _operation(self, e: f.Call) -> Any:
        given = dict(zip(("op", "tensor", "peer", "group", "tag"), e.args, strict=False))
        given |= {k: v for k, v in e.keywords if k is not None}
        name = last_name(given.get("op"))
        peer = given.get("peer", given.get("group_peer"))
        if name not in ("isend", "irecv") or peer is None:
            return UNKNOWN
        return Operation(name[1:], self.value(peer), self._tag(given.get("tag")), name, e.pos)

    def _batch(self, given: list[Any], named: dict[str | None, Any]) -> Any:
        operations = given[0] if given else named.get("p2p_op_list", UNKNOWN)
        if type(operations) is not list or any(type(one) is not Operation for one in operations):
            raise Unclear
        begin = self.player.begin
        return [
            Handle(begin(one.kind, one.peer, one.tag, False, one.name, one.pos, self.scope.path)) for one in operations
        ]
