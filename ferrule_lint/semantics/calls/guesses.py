"""What the name of a parameter says of a function's result, at a call that knows what is passed.

Inside the function `input_ids` is local data. Whether it is, the caller may know: where local data is passed, the guess
was right; where nothing is known of what is passed, it may be the whole data set, which all ranks read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import whole_loaders
from ferrule_lint.semantics.data.loaders import yields_own
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.project.entities import by_id

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: what of a value a parameter's name may have told, and the sizes that may follow from it
_TOLD = ("data", "divergence", "length", "presence")
_SIZES = ("shape", "padded", "emptiness")


def without(frame: Frame, result: Value, summary: Summary, bound: Mapping[str, Value], pos: f.Pos) -> Value:
    """A result whose divergence, or size, rests on the name of a parameter: what is passed should know of it, too."""
    told = (result.data, result.divergence, result.length, result.presence)
    if any(d is not None for d in told) and (whole := _given_data_sets(frame, summary, bound, pos)):
        begun: dict[str, Any] = {
            facet: d.at_most(Confidence.LOW)
            for facet, d in zip(_TOLD, told, strict=True)
            if d is not None and d.why and d.why[0].note in whole
        }
        result = result._replace(**begun)
        told = (result.data, result.divergence, result.length, result.presence)
    sizes = (result.shape, result.padded, result.emptiness)
    if not any(d is not None and d.assumed for d in told + sizes):
        return result
    found = [(facet, d) for facet, d in zip(_TOLD, told, strict=True) if d is not None and d.assumed]
    found += [(k, d) for k, d in zip(_SIZES, sizes, strict=True) if d is not None and d.assumed and _of(summary, d)]
    passed = [d for v in bound.values() for d in (v.data, v.divergence, v.length) if d is not None]
    passed = [d for d in passed if d.confidence > Confidence.LOW]
    if passed and all(d.assumed for d in passed):
        return result  # what is passed may be such a guess itself, come back in the next round of a loop
    if not passed and _hands_on_inputs(frame, pos):
        return result
    step = frame.step("call", pos, f"returned by `{summary.display}`")
    changed: dict[str, Any] = {
        facet: _confirmed(d) if passed else d.at_most(Confidence.LOW).then(step) for facet, d in found
    }
    return result._replace(**changed)


def _given_data_sets(frame: Frame, summary: Summary, bound: Mapping[str, Value], pos: f.Pos) -> set[str]:
    """What a function says of parameters that it walks as loaders of the rank's own batches, where a whole data set of
    the project is passed, or a loader of all of it."""
    function = summary.function
    return {
        yields_own(parameter.name)
        for parameter in (() if function is None else function.parameters)
        if (given := bound.get(parameter.name)) is not None
        and (_is_data_set(frame, given) or (function and whole_loaders.is_passed(frame, function, parameter.name, pos)))
    }


def _is_data_set(frame: Frame, given: Value) -> bool:
    names, classes = frame.analysis.names, by_id(given.types)
    if not classes or given.loader:
        return False
    return all(names.method(c, "__getitem__") and not names.method(c, "__iter__") for c in classes)


def _hands_on_inputs(frame: Frame, pos: f.Pos) -> bool:
    """Whether a call in the forward of a module hands on all that it was given by name: `self.step(**kwargs)`. Who
    calls the forward knows what that is."""
    function = frame.function
    if function is None or function.name != "forward" or function.owner is None:
        return False
    given = next((p.name for p in function.parameters if p.kind == "**"), "")
    handed = (value for call in function.calls if call.pos == pos for key, value in call.keywords if key is None)
    return bool(given) and any(type(value) is f.Name and value.id == given for value in handed)


def _confirmed(guess: Divergence) -> Divergence:
    """The function took for local data by a parameter's name what it is."""
    return guess._replace(assumed=False, unnamed=False)


def _of(summary: Summary, guess: Divergence) -> bool:
    """Whether a guess begins with a parameter of the function: other sizes are assumed, too, as that of what is
    serialised."""
    function, source = summary.function, guess.why[0]
    return function is not None and (source.path, source.line) == (function.module.path, function.line)
