"""Ways out by a flag that the project never sets: `if rank == 0: if callbacks.stop_training: return`.

A class begins with `self.stop_training = False`, and no file makes anything else of it. The way out is for who puts in
callbacks of his own, and sets it on every rank or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.divergence.reach import way_to
from ferrule_lint.semantics.domain.conditions import implied
from ferrule_lint.semantics.domain.text import is_key
from ferrule_lint.semantics.domain.trace import Choice, Exit, every_term
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

_OFF = f.Const("False")


def leaves_nowhere(analysis: Analysis, choice: Choice) -> bool:
    """Whether each way out in the arms of a choice lies behind a flag that is off as far as the project tells."""
    exits = [term for term in every_term((choice,)) if type(term) is Exit and term.kind != "raise"]
    asked = [_flags(choice, way) for way in exits]
    off = {name for name in sorted(set().union(*asked)) if _is_off(analysis, name)}
    return bool(exits) and all(not off.isdisjoint(names) for names in asked)


def _flags(choice: Choice, way: Exit) -> set[str]:
    """The attributes that are set where a choice leads to a way out: `stop` of `callbacks.stop`."""
    told = {key: on for formula in way_to((choice,), way) or () for key, on in implied(formula, True).items()}
    parts = (key.rpartition(".") for key, on in told.items() if on)
    return {name for base, dot, name in parts if dot and name.isidentifier() and "(" not in base}


def _is_off(analysis: Analysis, name: str) -> bool:
    """Whether a method begins with `self.name = False`, and nothing outside of tests gives the name anything else."""
    begins = False
    if analysis.names.methods_named(name):
        return False
    for module in analysis.names.mentioning(name):
        if is_test(module.path):
            continue
        for _, body in module.bodies():
            for node in walk(body):
                if _may_set(node, name):
                    return False
                for target in node.targets if type(node) is f.Assign else ():
                    if _is_named(target, name) and node.value != _OFF:  # type: ignore[attr-defined]
                        return False
                    begins = begins or (type(target) is f.Attr and target.attr == name)
    return begins


def _may_set(node: object, name: str) -> bool:
    """Whether a node names an attribute in a text (`setattr(x, "stop", on)`), for a call, or in a sum kept there."""
    if type(node) is f.Const:
        return is_key(node, name)
    if type(node) is f.Call:
        return any(key == name for key, _ in node.keywords)
    return type(node) is f.AugAssign and _is_named(node.target, name)


def _is_named(target: f.Expr, name: str) -> bool:
    return any(
        (type(part) is f.Attr and part.attr == name) or (type(part) is f.Name and part.id == name)
        for part in walk(target)
    )
