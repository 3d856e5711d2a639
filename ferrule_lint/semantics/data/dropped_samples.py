"""Collators that drop samples which are nothing, of data sets that have none such.

    def collate(samples):
        samples = [s for s in samples if s is not None]
        if len(samples) == 0:
            return None
        return stack(samples)

Whoever asks for `batch is None` behind it asks for what never comes, where all data sets of the project hand back
something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.text import called_name, last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: data sets of a project, or collators; with more nothing is said
MOST_FUNCTIONS = 6
_NONE = f.Const("None")


def are_all_there(frame: Frame) -> bool:
    """Whether a batch could only be nothing because of its samples, and these are all there."""
    names = frame.analysis.names
    sets = [m for m in names.methods_named("__getitem__") if _is_of_data_set(m)]
    if not 0 < len(sets) <= MOST_FUNCTIONS or any(map(_hands_back_nothing, sets)):
        return False
    modules = names.mentioning("collate_fn")
    collators = [c for m in modules for c in m.functions.values() if "collate" in c.name and _returns_none(c)]
    return 0 < len(collators) <= MOST_FUNCTIONS and all(map(_drops, collators))


def _is_of_data_set(method: FunctionInfo) -> bool:
    info = method.module.classes.get(method.owner or "")
    return info is not None and any(last_name(base).endswith("Dataset") for base in info.bases)


def _hands_back_nothing(method: FunctionInfo) -> bool:
    """Whether a method may come to an end without a value, or returns none."""
    ends = method.body and type(method.body[-1]) in (f.Return, f.Raise)
    return not ends or _returns_none(method)


def _returns_none(function: FunctionInfo) -> bool:
    return any(map(_is_nothing, statements(function.body)))


def _drops(collator: FunctionInfo) -> bool:
    """Whether a collator returns None only where no sample is left that is something."""
    lambdas = (collator.module.functions.get(n.qualname) for n in walk(collator.body) if type(n) is f.Lambda)
    bodies = (collator.body, *(function.body for function in lambdas if function is not None))
    if not any(_keeps_what_is_there(node) for body in bodies for node in walk(body)):
        return False
    returning = [s for s in statements(collator.body) if type(s) is f.If and s.body and _is_nothing(s.body[-1])]
    count = sum(_is_nothing(s) for s in statements(collator.body))
    return count == len(returning) and all(_asks_for_none_left(s.test) for s in returning)


def _is_nothing(s: f.Stmt) -> bool:
    return type(s) is f.Return and s.value in (None, _NONE)


def _keeps_what_is_there(node: object) -> bool:
    """`x is not None`"""
    return type(node) is f.Compare and node.ops == ("is not",) and node.rights == (_NONE,)


def _asks_for_none_left(test: f.Expr) -> bool:
    """`len(samples) == 0`, `not samples`"""
    if type(test) is f.Compare:
        return test.ops == ("==",) and test.rights == (f.Const("0"),) and called_name(test.left) == "len"
    return type(test) is f.Not and type(test.operand) is f.Name
