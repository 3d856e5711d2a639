"""What comments state of values, tests, rounds, results and calls: see `facts.stated`. Nothing that is worked out
weighs more than what somebody has written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.stated import DIVERGENT_RESULT, UNIFORM_RESULT, stated
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import Formula, with_atoms
from ferrule_lint.semantics.domain.dependences import NO_DEPS
from ferrule_lint.semantics.domain.lattice import UNIFORM, Value
from ferrule_lint.semantics.domain.text import position, shown
from ferrule_lint.semantics.domain.trace import Event

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame


def value_of(frame: Frame, e: f.Call) -> Value | None:
    """The value of an expression that a comment speaks of; None for any other call."""
    word, inner = stated(e)
    if not word:
        return None
    value = frame.eval(inner)
    if word == "collective":
        _issue(frame, inner, e.pos)
        return value
    return _uniform(value) if word == "uniform" else _divergent(frame, value, shown(inner), e.pos)


def result(frame: Frame, function: FunctionInfo, value: Value, pos: f.Pos) -> Value:
    """What a call of a function hands back, by what a comment at its `def` says."""
    if UNIFORM_RESULT in function.decorator_names:
        return _uniform(value)
    if DIVERGENT_RESULT in function.decorator_names:
        return _divergent(frame, value, f"{function.name}()", pos)
    return value


def same_for_all(formula: Formula) -> Formula:
    """A test whose outcome is the same on all ranks, whatever is known of what it asks."""
    return with_atoms(formula, lambda atom: atom._replace(divergence=None, deps=NO_DEPS))


def _uniform(value: Value) -> Value:
    """The same on all ranks; what it is (a module, an instance of a class, a constant) is as known as before."""
    return UNIFORM._replace(
        types=value.types, element_types=value.element_types, module=value.module, external=value.external,
        group=value.group, target=value.target, const=value.const, there=value.there, fields=value.fields,
        unwrapped=value.unwrapped, agreed=True,
    )  # fmt: skip


def _divergent(frame: Frame, value: Value, text: str, pos: f.Pos) -> Value:
    why = frame.source(WORLD, "rank", pos, f"`{text}` differs between ranks, as a comment says")
    # of a list or dict it may be meant as well that ranks have other things, and as many of them
    length = value.length or why.at_most(Confidence.MEDIUM)
    return value._replace(divergence=why, length=length, uniform=False, const=None, agreed=False)


def _issue(frame: Frame, inner: f.Expr, pos: f.Pos) -> None:
    """The collective that a call is, or that a function issues."""
    called = inner.operands[0] if type(inner) is f.Op and inner.operands else inner
    if type(inner) is f.Const:
        name = inner.text[1:-1]
    else:
        name = shown(called.func) if type(called) is f.Call else shown(inner)
    op = name.rpartition(".")[2]
    note = f"`{name}` is a collective, as a comment says"
    frame.emit(Event(op, WORLD, "", frame.module.path, position(inner) or pos, Confidence.HIGH, False, note))
