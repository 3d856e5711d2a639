"""What this rank picks from a table with an entry for each: `parts[rank]`, and whether there is anything in it.

That such entries differ is as good as certain, and says nothing yet: they may all have as many items. Who asks whether
there is anything in the own entry expects that some ranks have nothing, and so does who makes something empty instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.conditions import Formula, atoms
from ferrule_lint.semantics.domain.dependences import FLOWS, NO_DEPS, PICKED, Deps, only
from ferrule_lint.semantics.domain.lattice import Divergence, Value, worse
from ferrule_lint.semantics.domain.text import shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def emptiness(frame: Frame, expr: f.Expr, pos: f.Pos) -> tuple[Divergence | None, Deps]:
    """Why there may be nothing in what is counted, and the parameters by which it is picked."""
    entry = definition(frame, expr)
    if type(entry) is not f.Subscript or type(entry.index) not in (f.Name, f.Attr, f.Call):
        return None, NO_DEPS
    index = frame.ask(entry.index)
    found = through(index)
    if found is not None:
        found = found.then(frame.step("flow", pos, f"`{shown(entry)}` is this rank's entry, and may be empty"))
    return found, only(index.deps, PICKED, FLOWS)


def through(index: Value) -> Divergence | None:
    """Why what is picked by a value may be empty on some ranks."""
    own = index.divergence
    if own is None or own.kind != "rank":
        return None
    return own._replace(empty=True).at_most(Confidence.MEDIUM)


def has_nothing(value: Value) -> bool:
    """A tensor without rows, as it is written out: `torch.empty(0, size)`."""
    return value.layout is not None and value.layout.empty


def of_arms(joined: Value, a: Value, b: Value, divergence: Divergence) -> Value:
    """What two arms of a divergent test make, one of them without rows."""
    if has_nothing(a) is has_nothing(b) or "None" in (a.const, b.const):
        return joined
    return joined._replace(emptiness=worse(joined.emptiness, divergence._replace(empty=True)))


def of_returns(returned: Sequence[tuple[Value, tuple[Formula, ...]]], result: Value) -> Value:
    """The same of what a function returns at several places."""
    if all(has_nothing(value) for value, _ in returned):
        return result
    for value, conditions in returned:
        for atom in (a for c in conditions for a in atoms(c)) if has_nothing(value) else ():
            if atom.divergence is not None:
                own = atom.divergence._replace(empty=True)
                result = result._replace(emptiness=worse(result.emptiness, own))
            elif picked := only(atom.deps, PICKED, PICKED):
                result = result._replace(deps=result.deps | picked)
    return result
