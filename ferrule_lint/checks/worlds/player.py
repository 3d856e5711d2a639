"""What one rank of a world of known size sends and receives in a function, one after the other.

The function's facts are run as Python would, with numbers where the text tells them. Whatever else there is may be
anything, as long as no transfer hangs on it: then the function is given up (`Unclear`).
"""

from __future__ import annotations

from ferrule_lint.checks.worlds import numbers
from ferrule_lint.checks.worlds.expressions import Expressions
from ferrule_lint.checks.worlds.numbers import UNKNOWN
from ferrule_lint.checks.worlds.steps import Left, Player, Scope, Step, Unclear
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.domain.text import place_name


class _Returned(Exception):
    def __init__(self, value: object) -> None:
        self.value = value


class _Next(Exception):
    pass


class _Out(Exception):
    pass


def play(player: Player, body: f.Body, scope: Scope) -> list[Step]:
    """The steps of a rank. Raises `Unclear` and `Left`."""
    _Run(player, scope, {}).call(body)
    return player.steps


class _Run(Expressions):
    """A body that is run once, statement by statement."""

    def call(self, body: f.Body) -> object:
        try:
            self.block(body)
        except _Returned as returned:
            return returned.value
        except (_Next, _Out) as error:
            raise Unclear from error
        return None

    def block(self, body: f.Body) -> None:
        for s in body:
            self.player.one_more()
            self._statement(s)

    def _statement(self, s: f.Stmt) -> None:
        if type(s) is f.ExprStmt:
            self.value(s.value)
        elif type(s) is f.Assign:
            if s.value is not None:
                value = self.value(s.value)
                for target in s.targets:
                    self.bind(target, value)
        elif type(s) is f.AugAssign:
            self.bind(s.target, numbers.combined(s.op, [self.value(s.target), self.value(s.value)]))
        elif type(s) is f.If:
            self._if(s)
        elif type(s) is f.For:
            self._for(s)
        elif type(s) is f.While:
            self._while(s)
        elif type(s) is f.With:
            for context, name in s.items:
                value = self.value(context)
                if name is not None:
                    self.bind(name, value)
            self.block(s.body)
        elif type(s) is f.Try:
            self.block(s.body)
            self.block(s.orelse)
            self.block(s.final)
        elif type(s) is f.Return:
            raise _Returned(self.value(s.value) if s.value is not None else None)
        elif type(s) is f.Raise:
            raise Left
        elif type(s) is f.Assert:
            if self.holds(s.test) is False:
                raise Left
        elif type(s) is f.Break:
            raise _Out
        elif type(s) is f.Continue:
            raise _Next
        elif type(s) is f.Delete:
            for target in s.targets:
                self.bind(target, UNKNOWN)

    def _if(self, s: f.If) -> None:
        holds = self.holds(s.test)
        if holds is not None:
            self.block(s.body if holds else s.orelse)
            return
        for arm, other in ((s.body, s.orelse), (s.orelse, s.body)):
            if arm and type(arm[-1]) is f.Raise and not self.has_transfers(arm):
                self.block(other)  # what is wrong everywhere is not asked about
                return
        self._passed_over((*s.body, *s.orelse))

    def _for(self, s: f.For) -> None:
        items = self.value(s.iterable)
        if type(items) is not list:
            self._some_rounds(s, s.target)
            return
        for item in list(items):
            self.bind(s.target, item)
            if not self._round(s.body):
                return
        self.block(s.orelse)

    def _while(self, s: f.While) -> None:
        while (holds := self.holds(s.test)) is not False:
            if holds is None:
                self._some_rounds(s, None)
                return
            if not self._round(s.body):
                return
        self.block(s.orelse)

    def _round(self, body: f.Body) -> bool:
        """One round of a loop: whether another one may follow."""
        self.player.one_more()
        try:
            self.block(body)
        except _Next:
            return True
        except _Out:
            return False
        return True

    def _some_rounds(self, s: f.For | f.While, target: f.Expr | None) -> None:
        """A loop of which nobody knows how often it runs: with transfers in it, once stands for each time."""
        if not self.has_transfers(s.body):
            self._passed_over(s.body)
            return
        self.player.loops.append((self.scope.path, s.line))
        if target is not None:
            self.bind(target, UNKNOWN)
        self._forget(s.body)
        try:
            self.block(s.body)
        except (_Next, _Out) as error:
            raise Unclear from error
        self._forget(s.body)

    def _passed_over(self, body: f.Body) -> None:
        """What may run or not: nothing that matters, but that what it assigns is no longer known."""
        if self.has_transfers(body) or any(nodes(body, kind) for kind in (f.Return, f.Break, f.Continue, f.Yield)):
            raise Unclear
        self._forget(body)

    def _forget(self, body: f.Body) -> None:
        for s in statements(body):
            if type(s) is f.Assign:
                for target in s.targets:
                    self.bind(target, UNKNOWN)
            elif type(s) is f.AugAssign or type(s) is f.For:
                self.bind(s.target, UNKNOWN)
        for call in nodes(body, f.Call):
            if type(call.func) is f.Attr and place_name(call.func.base) in self.env:
                self.env[place_name(call.func.base)] = UNKNOWN
