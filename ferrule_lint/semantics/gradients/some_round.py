"""Loops over all numbers of which each item has one: a round that concerns none is passed over, and some round is not.

    for i in range(experts):
        mask = (chosen == i).any(dim=-1)
        if not mask.any():
            continue
        out[mask] += weights[mask] * self.experts[i](x[mask])

What was made before such a loop is used in some round on every rank; what a round makes, on those who have it. So it is
in a loop over samples that hands out what was made of those among them that pass a test, where there is one:

    images = [s["image"] for s in samples if "image" in s]
    if images: ...
    for i, s in enumerate(samples):
        if "image" in s:
            embeds[i] = embeds[i] + features[j]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk, way_to
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, render, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def used(frame: Frame, body: f.Body, before: Mapping[str, Value]) -> frozenset[str]:
    """The outputs of modules that were there before a loop, if its rounds are such."""
    loop = frame.rounds[-1].statement if frame.rounds else None
    if type(loop) is not f.For or loop.body is not body or not (_passes_over(loop) or _hands_out(frame, loop)):
        return NOTHING
    return NOTHING.union(*(v.reach.outputs for v in before.values() if v.reach is not None))


def _passes_over(loop: f.For) -> bool:
    """Whether each test by which a round is passed over asks what was compared with its number."""
    if type(loop.target) is not f.Name or type(loop.iterable) is not f.Call or last_name(loop.iterable.func) != "range":
        return False
    if len(loop.iterable.args) != 1:
        return False
    tests = [s.test for s in loop.body if type(s) is f.If and s.body and type(s.body[-1]) is f.Continue]
    own = {name for s in loop.body if type(s) is f.Assign and _compares(s.value, loop.target.id) for name in _names(s)}
    return bool(tests) and all(_compares(test, loop.target.id) or own & variables(test) for test in tests)


def _hands_out(frame: Frame, loop: f.For) -> bool:
    """Whether a loop asks each item for what others were chosen by before it, of which a test around it says that there
    are some."""
    walked, item = loop.iterable, loop.target
    if type(walked) is f.Call and last_name(walked.func) == "enumerate" and walked.args and type(item) is f.Sequence:
        walked, item = walked.args[0], item.elements[-1]
    tests = [s.test for s in loop.body if type(s) is f.If and not s.orelse]
    if frame.function is None or type(item) is not f.Name or not tests:
        return False
    around = [block[i] for block, i in way_to(frame.function.body, (loop.line, loop.column))]
    asked = {name for s in around if type(s) is f.If for name in variables(s.test)}
    if not asked:
        return False
    asked_for = {render(test) for test in tests}
    for s in statements(frame.function.body):
        made = s.value if type(s) is f.Assign else None
        if type(made) is not f.Comprehension or len(made.generators) != 1 or len(made.generators[0].conditions) != 1:
            continue
        chosen = made.generators[0]
        same = render(chosen.iterable) == render(walked) and render(chosen.target) == item.id
        if type(s) is f.Assign and same and render(chosen.conditions[0]) in asked_for:
            return not asked.isdisjoint(_told_by(frame.function.body, _names(s)))
    return False


def _told_by(body: f.Body, names: frozenset[str]) -> frozenset[str]:
    """Names, and what is set to something about them: `empty = len(images) == 0`."""
    return names.union(
        *(_names(s) for s in statements(body) if type(s) is f.Assign and s.value and variables(s.value) & names)
    )


def _compares(expr: f.Expr | None, counter: str) -> bool:
    """`places == i`"""
    return any(
        type(node) is f.Compare and node.ops == ("==",) and counter in (last_name(node.left), last_name(node.rights[0]))
        for node in walk(expr)
    )


def _names(s: f.Assign) -> frozenset[str]:
    return NOTHING.union(*map(variables, s.targets))
