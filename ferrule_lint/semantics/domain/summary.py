"""What a caller has to know of a function."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ferrule_lint.facts.types import Pos
from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.dependences import Deps
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value
from ferrule_lint.semantics.domain.trace import CallTerm, Event, Trace

if TYPE_CHECKING:
    from ferrule_lint.semantics.control.exceptions import Escape
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.project.reads import Input


@dataclass(frozen=True, slots=True)
class Latent:
    """A finding that comes true when a divergent argument is passed.

    `needs` is "condition", "trips", "order", "shape" or "argument".
    """

    code: str
    needs: str
    deps: Deps
    path: str
    pos: Pos
    text: str
    event: Event
    #: the call in that function which leads to the event, if it is not its own
    call: CallTerm | None = None
    depth: int = 0
    #: the argument's element type counts: "tensor" is it, "number" is what a tensor is made of, and of a
    #: "type" nothing else counts
    typed: str = ""
    #: of a loop: each round issues it, whatever the round is about
    each: bool = False
    #: `text` is a test as it is written, and nothing that stands in for one
    is_test: bool = False


@dataclass(slots=True)
class Summary:
    """A function's trace, its result in terms of its parameters, and what it leaves to its callers.

    Mutable only while it is being computed; `busy` until then, and a busy summary says nothing.
    """

    function: FunctionInfo | None
    trace: Trace = ()
    result: Value = UNKNOWN
    latents: tuple[Latent, ...] = ()
    #: divergences that only this context's callables bring: (divergence, latent)
    in_context: tuple[tuple[Divergence, Latent], ...] = ()
    #: parameter -> axes along which it holds the same value afterwards
    made_uniform: dict[str, Axes] = field(default_factory=dict)
    #: attributes of the instance that a method sets: what depends on its parameters, or differs
    self_writes: dict[str, Value] = field(default_factory=dict)
    #: attributes of the instance -> axes along which they hold the same value afterwards
    self_uniform: dict[str, Axes] = field(default_factory=dict)
    #: what it leaves in what it is given; see `walk.given`
    left_in: dict[str, Value] = field(default_factory=dict)
    #: those of them that it leaves there on every way
    surely: frozenset[str] = frozenset()
    #: fields of parameters that its result, its findings or what it leaves depend on
    fields: frozenset[str] = frozenset()
    #: the parameter that it hands back as it was passed, on every way
    hands_back: str = ""
    #: parameters that something in here may shard
    wraps: frozenset[str] = frozenset()
    #: parameters that it shards in place, and what they are instances of then
    sharded: tuple[tuple[str, str], ...] = ()
    #: parameters that are paths: those which it writes to under a rank guard, and those to which whoever calls it does
    written: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    #: an item of each kind of event that the function may issue, itself or through calls
    events: tuple[Event, ...] = ()
    #: exceptions that leave the function on some ranks
    escapes: tuple[Escape, ...] = ()
    #: why work in it may fail on one rank, and how many calls further in that is
    fallible: tuple[Divergence, int] | None = None
    #: what it does to gradients; see `gradient_order`
    gradient_kinds: tuple[str, ...] = ()
    busy: bool = True
    #: what was asked to which this is the answer, where that can be written; see `project.reads`
    question: Input | None = None
    #: whether an earlier run has found it
    recalled: bool = False
    #: signatures for callers, by axes and least confidence
    signatures: dict[tuple[object, ...], tuple[object, ...]] = field(default_factory=dict)
    #: the same where modules are in evaluation mode, once that has been asked for; see `divergence.inference`
    evaluated: Summary | None = None
    #: the same called from what only generates; see `divergence.guessed`
    guessed: Summary | None = None

    def with_trace(self, trace: Trace, events: tuple[Event, ...]) -> Summary:
        """The same function with other events: what was worked out from those that it had is worked out anew."""
        return replace(self, trace=trace, events=events, signatures={}, question=None, evaluated=None, guessed=None)

    @property
    def origin(self) -> FunctionInfo | None:
        """The function, as it is written."""
        return self.function.origin if self.function is not None else None

    @property
    def display(self) -> str:
        return self.function.qualname if self.function else "<module>"
