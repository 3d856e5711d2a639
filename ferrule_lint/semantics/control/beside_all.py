"""A rank's own answer beside that of all ranks: `if bad or anywhere_bad`, where the one was reduced to the other.

    anywhere = bad.clone()
    all_reduce(anywhere, op=MAX)
    if bad or anywhere > 0:
        continue

Where one rank has it all of them know, so that who asks for both asks for the latter: with `or` where the most was
taken, or any; with `and` where the least was, or all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.conditions import Atom, Formula, divergence_of
from ferrule_lint.semantics.domain.dependences import NO_DEPS
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: operations and functions by which one that has it, or one that has it not, tells for all
_TELLS = {
    "or": (frozenset({"MAX", "SUM", "BOR", ""}), frozenset({"any", "max", "sum"})),
    "and": (frozenset({"MIN", "PRODUCT", "BAND"}), frozenset({"all", "min"})),
}


def told_by_all(
    frame: Frame, e: f.BoolOp, formulas: Sequence[Formula], values: Sequence[Value]
) -> tuple[list[Formula], list[Value]]:
    """The parts of a test, with what all ranks have in place of a rank's own answer that another part tells of all."""
    kept_formulas, kept_values = list(formulas), list(values)
    own = [i for i, formula in enumerate(formulas) if divergence_of(formula) is not None and _name(e.values[i])]
    agreed = [part for part, formula in zip(e.values, formulas, strict=False) if divergence_of(formula) is None]
    if not own or not agreed or frame.function is None:
        return kept_formulas, kept_values
    for i in own:
        op = e.op if type(e.values[i]) is not f.Not else "and" if e.op == "or" else "or"
        if any(_name(e.values[i]) in _reduced_to(frame, frame.function, op, part) for part in agreed):
            kept_formulas[i], kept_values[i] = Atom("=of all:" + frame.key(e), None, NO_DEPS), Value(uniform=True)
    return kept_formulas, kept_values


def _name(part: f.Expr) -> str:
    """The variable that a part asks, as it is or negated."""
    asked = part.operand if type(part) is f.Not else part
    return asked.id if type(asked) is f.Name else ""


def _reduced_to(frame: Frame, function: FunctionInfo, op: str, agreed: f.Expr) -> Iterator[str]:
    """The variables whose values on all ranks a part of a test tells."""
    operations, functions = _TELLS[op]
    names = variables(agreed)
    for call in function.calls:
        given = [place_name(a) for a in call.args]
        name = last_name(call.func)
        if name.startswith("all_reduce") and given and given[0] in names and _operation(call) in operations:
            for made in frame.analysis.bodies.assigned(function.body, given[0]):
                yield from variables(made)
        elif name.startswith("all_gather") and len(given) > 1 and given[0] in names and _asks(agreed) in functions:
            yield given[1]


def _operation(call: f.Call) -> str:
    """The last name of the operation of a reduction; "" for want of one."""
    given = next((v for k, v in call.keywords if k == "op"), call.args[1] if len(call.args) > 1 else None)
    return last_name(given) if given is not None else ""


def _asks(test: f.Expr) -> str:
    """The function that a test asks for all of a list: `any(votes)`."""
    asked = test.operand if type(test) is f.Not else test
    return last_name(asked.func) if type(asked) is f.Call else ""
