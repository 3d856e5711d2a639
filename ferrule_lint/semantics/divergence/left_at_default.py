"""Ways out that nobody opens: `def step(batch, strict=True)`, with `if strict: raise ...`, `return` behind it.

Where every call in the project leaves the argument at its default, all ranks that come there raise, and the job ends.
The way out is for other projects, if there are any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.divergence.reach import way_to
from ferrule_lint.semantics.domain.conditions import implied
from ferrule_lint.semantics.domain.trace import Choice, Exit, every_term
from ferrule_lint.semantics.project import options

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo

#: defaults, and how a test of the parameter alone comes out with them
_DEFAULTS = {f.Const("True"): True, f.Const("False"): False, f.Const("None"): False}
_WAYS_OUT = ("return", "break", "continue")


def leaves_nowhere(analysis: Analysis, function: FunctionInfo, choice: Choice) -> bool:
    """Whether each way out in the arms of a choice lies behind a test that the default of a parameter rules out, which
    no call gives anything else for."""
    exits = [term for term in every_term((choice,)) if type(term) is Exit and term.kind != "raise"]
    if not exits or any(way.kind not in _WAYS_OUT for way in exits):
        return False
    against = [set(_against_default(function, choice, way)) for way in exits]
    asked, defaults = sorted(set().union(*against)), tuple(_DEFAULTS)
    left = {name for name in asked if options.is_left_out(analysis, function, name, defaults, by_tests=False)}
    return all(not left.isdisjoint(names) for names in against)


def _against_default(function: FunctionInfo, choice: Choice, way: Exit) -> Iterator[str]:
    """The parameters that are something else than their defaults where a choice leads to a way out. The key of a test
    is a parameter's name as long as nothing has been assigned to it."""
    asked = way_to((choice,), way) or ()
    told = {key: outcome for formula in asked for key, outcome in implied(formula, True).items()}
    for parameter in function.parameters:
        default = _DEFAULTS.get(parameter.default) if type(parameter.default) is f.Const else None
        if default is not None and told.get(parameter.name, default) is not default:
            yield parameter.name
