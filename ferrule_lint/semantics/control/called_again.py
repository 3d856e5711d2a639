"""Functions that a library calls again when they raise: `@retry(Broken)`, `retry_call(step, exceptions=Broken)`.

Who is handed the class of an exception to try again for survives it: the rank that has it issues once more what the
others have done with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.models.lookup import ModelSet
from ferrule_lint.semantics.control.failing import outer_name
from ferrule_lint.semantics.domain.text import argument_of, last_name
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo


def in_file(module: ModuleInfo, models: ModelSet) -> set[str]:
    """The last names of the classes for which something is called again by a call in a file."""
    if not module.mentions_any(models.trying_again):
        return set()
    return set(_classes(module, models, (call for _, calls in module.calls() for call in calls)))


def is_for(function: FunctionInfo, models: ModelSet, name: str) -> bool:
    """Whether a decorator has a function called again for exceptions of a class; without one, for all it raises."""
    module = function.module
    bare = (d for d in function.decorators if type(d) is not f.Call)
    if any((model := models.call(outer_name(module, d))) is not None and model.tries_again for d in bare):
        return True
    calls = (node for node in walk(function.decorators) if type(node) is f.Call)
    return not {name, *_ANYTHING}.isdisjoint(_classes(module, models, calls))


_ANYTHING = ("Exception", "BaseException")


def _classes(module: ModuleInfo, models: ModelSet, calls: Iterable[f.Call]) -> Iterator[str]:
    for call in calls:
        model = models.call(outer_name(module, call.func))
        if model is None or model.tries_again is None:
            continue
        given = argument_of(call, model.tries_again.name, model.tries_again.position)
        if given is None:
            yield _ANYTHING[0]
        else:
            yield from map(last_name, given.elements if type(given) is f.Sequence else (given,))
