"""Roots that are written out: `broadcast(x, src=0, group=tp_group)`; or counted: `for rank in range(size(tp_group))`.

The number is a rank of the job, which is a member of one of the groups along the same axes. The group is this
function's, or a caller hands it over, to this function or to the constructor of its class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import WORLD, Axes, share
from ferrule_lint.semantics.domain.conditions import atoms, divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import place_name, position, render, shown
from ferrule_lint.semantics.groups import all_ranks, callers, given_groups, never_given, one_of_several
from ferrule_lint.semantics.groups.numbering import Places
from ferrule_lint.semantics.groups.parts_of_job import axes_of, has_siblings, is_of_shards
from ferrule_lint.semantics.sources import first_rank

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def outside(
    frame: Frame, expr: f.Expr, group: f.Expr, axes: Axes | None, places: Places
) -> tuple[Divergence, str] | None:
    """Why a rank that is written out, or counted through the size of the group, is no member of the other groups along
    the same axes, with that rank; `axes`: of the group, if it is known to be smaller than the job."""
    expr = _held(frame, expr)
    number = expr.text if type(expr) is f.Const else _default(frame, expr)
    size = places.counts_through(expr) if not number else None
    if size is None and not number.isdigit():
        return None
    tested = False  # whether ranks have been told apart, which may let in those of one group
    for formula in frame.conditions:
        if first := first_rank.of(formula):
            if not first.startswith("!"):
                return None  # the first rank alone is here, in its own group
            continue
        divergence = divergence_of(formula)
        if divergence is not None and divergence.kind == "rank" and not share(divergence.axes, (axes or WORLD) | WORLD):
            return None  # the test leaves one of the groups
        tested = tested or (divergence is not None and divergence.kind == "rank")
        if any("world" in atom.key.lower().replace(render(size).lower(), "") for atom in atoms(formula)):
            return None  # the test asks whether the group is all of the job
    if callers.of_one_group(frame, axes or WORLD):
        return None
    told = number or f"`{shown(expr)}`"
    here = type(expr) is f.Const or size is not None
    found = _here(frame, told, group, axes, places, tested) if here else None
    if found is not None:
        return found, told
    return None if tested or axes is not None else _handed(frame, expr, told, group)


def _held(frame: Frame, expr: f.Expr) -> f.Expr:
    """The number that an attribute of the instance holds, if it is the only one that the project puts there."""
    if type(expr) is not f.Attr or place_name(expr.base) != frame.self_name or not frame.self_name:
        return expr
    number = never_given.only_constant(frame.analysis, expr.attr)
    return number if number is not None and number.text.isdigit() else expr


def _default(frame: Frame, expr: f.Expr) -> str:
    """What a parameter is left at, that nothing else is set to; "" of what is none."""
    if type(expr) is not f.Name or frame.function is None or frame.version(expr.id):
        return ""
    default = next((p.default for p in frame.function.parameters if p.name == expr.id), None)
    return default.text if type(default) is f.Const else ""


def _here(
    frame: Frame, number: str, group: f.Expr, axes: Axes | None, places: Places, tested: bool
) -> Divergence | None:
    """There are other groups as far as this function tells, or the number is compared with a place in the group."""
    compared = places.compared(f.Const(number)) if number.isdigit() else None
    if compared is not None:
        note = f"`{shown(compared)}` counts in `{shown(group)}`"
        return frame.source(axes or WORLD, "rank", position(compared), note, frame.least_of_tests)
    apart = is_of_shards(frame, group) if axes is None else has_siblings(frame, axes)
    if not apart and (tested or not one_of_several.is_one(frame, group)):
        return None
    note = f"rank {number} is a member of one group like `{shown(group)}`, the others have ranks of their own"
    return frame.source(axes or WORLD, "rank", position(group), note, frame.least_of_tests)


def _handed(frame: Frame, expr: f.Expr, number: str, group: f.Expr) -> tuple[Divergence, str] | None:
    """There are other groups as a caller tells that hands the group over, along with the number or without it."""
    root = expr.id if type(expr) is f.Name else ""
    by = given_groups.handed(frame, group, root, lambda by: _is_of_others(by, root))
    if by is None:
        return None
    number = by.root.text if type(by.root) is f.Const else number
    axes = axes_of(by.frame, by.group, by.frame.seen(by.group))
    note = f"rank {number} is a member of one group like `{shown(by.group)}`, which is handed over here"
    found = by.frame.source(axes or WORLD, "rank", by.call.pos, note, Confidence.MEDIUM)
    step = frame.step("flow", position(expr), f"it is named as a rank of the job for `{shown(group)}`")
    return found.then(step), number


def _is_of_others(by: given_groups.Handed, root: str) -> bool:
    """Whether what a caller hands over is one of several groups, and it does not convert the rank that it passes."""
    if by.root is not None and not (type(by.root) is f.Const and by.root.text.isdigit()):
        return False
    under = by.frame.under(by.call)
    if (under is not None and under.kind == "rank") or all_ranks.are_in(by.frame, by.group):
        return False
    axes = axes_of(by.frame, by.group, by.frame.seen(by.group))
    if axes is not None and has_siblings(by.frame, axes):
        return True
    return is_of_shards(by.frame, by.group) or (axes is None and one_of_several.is_one(by.frame, by.group))
