"""What one rank of a world of known size does in a function, step by step, and what it has to ask the project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ferrule_lint.facts import types as f

#: statements, expressions and rounds of one rank; transfers
_MOST_STEPS = 4000
_MOST_TRANSFERS = 200
#: expressions in each other
_MOST_NESTED = 200


class Unclear(Exception):
    """A transfer hangs on what cannot be told."""


class TooLong(Unclear):
    """A rank does more than is played."""


class Left(Exception):
    """The program refuses a world of this size."""


class Transfer(NamedTuple):
    """One end of a transfer: `kind` is "send" or "recv", `peer` the other end's rank."""

    kind: str
    peer: int
    tag: object
    #: whether the rank goes on only when the other end is there, too
    waits: bool
    #: the function that begins it
    name: str
    pos: f.Pos
    path: str
    #: the call in the function that is played, where another one begins it
    through: f.Call | None = None

    @property
    def of_objects(self) -> bool:
        return "object" in self.name


class Wait(NamedTuple):
    """Waiting for a transfer that was begun before, by its number among the steps."""

    begun: int


Step: TypeAlias = Transfer | Wait


class Handle(NamedTuple):
    """What `isend` and `irecv` hand back: the number of the step."""

    begun: int


class Operation(NamedTuple):
    """A `P2POp` that no batch has begun yet."""

    kind: str
    peer: object
    tag: object
    name: str
    pos: f.Pos


class Scope(NamedTuple):
    """What a player asks of the project: see `check`."""

    path: str
    #: (kind, expression of the peer, expression of the tag) of a call that is a transfer
    transfer: Callable[[f.Call], tuple[str, f.Expr | None, f.Expr | None] | None]
    #: "rank" or "size" with what group it is of, for a call, a name or an attribute
    number: Callable[[f.Expr], tuple[str, str] | None]
    #: what an attribute is assigned for good
    held: Callable[[f.Expr], f.Expr | None]
    #: a test of the rank's own data, by what it or its opposite is known as; "" for any other expression
    local: Callable[[f.Expr], str]
    #: the project's function that a call runs, if there are transfers in it, with the scope it stands in
    function: Callable[[f.Call], Callee | None]
    #: the same of one that does nothing but hand something back
    plain: Callable[[f.Call], Callee | None]


#: a function's body, its parameters, and the scope it stands in
Callee: TypeAlias = tuple[f.Body, tuple[f.Parameter, ...], Scope]


class Player:
    """One rank of a world."""

    def __init__(self, rank: int, size: int, outcome: bool = True) -> None:
        """`outcome`: of each test of the rank's own data."""
        self.rank = rank
        self.size = size
        self.outcome = outcome
        #: the first test of its own data that it has come to
        self.test = ""
        self.steps: list[Step] = []
        #: the groups in which ranks were asked for
        self.groups: set[str] = set()
        #: loops of which nobody knows how often they run, that hold transfers
        self.loops: list[tuple[str, int]] = []
        #: whether the number of ranks was asked for
        self.asked_size = False
        #: the call that it is in, of those in the function that is played
        self.through: f.Call | None = None
        self._left = _MOST_STEPS
        self._within = 0

    def enter(self) -> None:
        """One more expression, within those that it is a part of. Who fails below it is not asked for anything more."""
        self.one_more()
        self._within += 1
        if self._within > _MOST_NESTED:
            raise TooLong

    def leave(self) -> None:
        self._within -= 1

    def one_more(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooLong

    def asks(self, test: str) -> bool:
        """What comes of a test of the rank's own data. What it has received may have told it of the others'."""
        if self.steps:
            raise Unclear
        self.test = self.test or test
        return self.outcome

    def number(self, found: tuple[str, str]) -> int:
        what, group = found
        self.groups.add(group)
        if what == "size":
            self.asked_size = True
            return self.size
        return self.rank

    def begin(self, kind: str, peer: Any, tag: object, waits: bool, name: str, pos: f.Pos, path: str) -> int:
        """The number of the step."""
        if type(peer) is not int:
            raise Unclear
        if len(self.steps) >= _MOST_TRANSFERS:
            raise TooLong
        self.steps.append(Transfer(kind, peer, tag, waits, name, pos, path, self.through))
        return len(self.steps) - 1
