"""Tensors that are set in place, or made anew, under a test: `flag.fill_(1)`, `flag[0] = 1`, `flag = torch.tensor(1)`.

They are how ranks tell each other what has come of something; until they have, each has its own. Of a single number it
is taken that some test sets it to another one; of larger tensors, where all ranks had made the same. What is written
into them is theirs from then on.

https://docs.pytorch.org/docs/stable/tensors.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import cutting
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.data.layout import is_number
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of
from ferrule_lint.semantics.domain.dependences import FLOWS, ITEM, NO_DEPS, recast
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import UNIFORM, Divergence, Value, worse
from ferrule_lint.semantics.domain.reach import reaching
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.walk import aliases

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

#: what takes the place of what was there
_SETS = frozenset("fill_ zero_ copy_ set_".split())
#: what is worked out of that and something else
_CHANGES = frozenset(
    "add_ sub_ mul_ div_ logical_or_ logical_and_ logical_xor_ bitwise_or_ bitwise_and_ masked_fill_ index_fill_ "
    "clamp_ clamp_min_ clamp_max_".split()
)
_MAKES = frozenset(
    "tensor as_tensor zeros ones full new_tensor zeros_like ones_like full_like new_zeros new_ones".split()
)
_MAKES_OF_SIZE = _MAKES | frozenset("empty new_empty new_full empty_like rand randn arange".split())


def is_tensor(frame: Frame, expr: f.Expr, value: Value) -> bool:
    """Whether a call that makes tensors has made something, or it is asked for what a tensor has: what is written into
    it does not change its size."""
    made = definition(frame, expr)
    if value.layout is not None or (type(made) is f.Call and last_name(made.func) in _MAKES_OF_SIZE):
        return True
    return cutting.is_asked_as_tensor(frame, expr, value)


def called(frame: Frame, method: str, arguments: Arguments, receiver: Value) -> Value | None:
    """`flag.fill_(1)`, `flag.data.add_(x)`: what the tensor holds afterwards. None if it is no such call."""
    if frame.light or (method not in _SETS and method not in _CHANGES):
        return None
    base = arguments.expr.func.base if type(arguments.expr.func) is f.Attr else None
    while type(base) is f.Attr and base.attr == "data":
        base = base.base
    place = place_name(base)
    known = (frame.read(place) if place else None) or receiver
    if known.types or known.module or known.container:
        return None
    put = join(arguments.values) if arguments.values else UNIFORM
    value = _with(frame, place, known, put, arguments.expr.pos, keeps=method in _CHANGES)
    if place:

        def by_other_name(other: f.Expr) -> None:
            _put(frame, place_name(other), value)

        aliases.shared(frame, place, by_other_name, lambda: _put(frame, place, value))
    return value


def _put(frame: Frame, place: str, value: Value) -> None:
    frame.env[place] = value
    frame.renew(place)
    name = place.partition(".")[2]
    differs = value.divergence is not None or value.data is not None
    if differs and frame.self_name and place == f"{frame.self_name}.{name}" and "." not in name:
        frame.also_left(name, value)


def handed_over(frame: Frame, call: f.Call) -> None:
    """A tensor that one rank has set is passed to what communicates, or may: the others may have been told."""
    for expr in (*call.args, *(value for _, value in call.keywords)):
        place = place_name(expr)
        value = frame.env.get(place) if place else None
        if value is not None and value.data is not None and value.data.kind == "rank":
            frame.env[place] = value._replace(data=None)


def item_set(frame: Frame, target: f.Subscript, base: Value, put: Value) -> Value:
    """`flag[0] = 1`: what the tensor holds afterwards."""
    return _with(frame, place_name(target.base), base, put, target.pos, keeps=False)


def part_set(frame: Frame, target: f.Subscript, base: Value, index: Value, merged: Value) -> Value:
    """`flags[labels] = 1`: `merged` is what is known of a larger tensor afterwards but for that."""
    why = _why_partly(frame, place_name(target.base), target.pos) if base.uniform else None
    return merged._replace(data=worse(worse(merged.data, index.data), why), uniform=merged.uniform and why is None)


#: methods that show the items of a tensor in another form: what is written there is written into the tensor
_VIEWS = frozenset("view view_as flatten unflatten unsqueeze squeeze transpose permute t narrow select unfold".split())


def seen_through(expr: f.Expr) -> f.Expr | None:
    """`out` of `out.view(-1, size)`; None if it is no view of something that has a name."""
    found = expr
    while type(found) is f.Call and type(found.func) is f.Attr and found.func.attr in _VIEWS:
        found = found.func.base
    return found if found is not expr and place_name(found) else None


def write_through(frame: Frame, whole: f.Expr, put: Value, index: Value) -> None:
    """`out.view(-1, size)[mask] = x`: what is known of the tensor afterwards, of which the size is what it was."""

    def by_name(expr: f.Expr) -> None:
        known = frame.eval(expr)
        frame.env[place_name(expr)] = known._replace(
            uniform=known.uniform and put.uniform and index.uniform,
            data=worse(worse(known.data, put.data), index.data),
            reach=reaching(known.reach, put.reach),
            const=None, items=None, entries=(), slots=None,
        )  # fmt: skip
        frame.renew(place_name(expr))

    aliases.shared(frame, place_name(whole), by_name, lambda: by_name(whole))


def _with(frame: Frame, place: str, known: Value, put: Value, pos: f.Pos | None, keeps: bool) -> Value:
    put, single = put.plain(), is_number(known.layout)
    if single:
        why = _why(frame, place, pos)
    else:
        why = _why_partly(frame, place, pos) if known.uniform else None
        own = put.divergence if put.divergence is not None and put.divergence.kind == "data" else None
        put = put._replace(divergence=None, data=worse(put.data, own))
    return known._replace(
        uniform=put.uniform and why is None and (known.uniform or not keeps),
        divergence=worse(put.divergence, known.divergence if keeps else None),
        data=worse(worse(why, put.data), known.data if keeps else None),
        deps=recast(put.deps, ITEM, FLOWS) | (known.deps if keeps else NO_DEPS),
        agreed=known.agreed and keeps and put.uniform and why is None,
        const=None, items=None, entries=(), slots=None,
    )  # fmt: skip


def _why(frame: Frame, place: str, pos: f.Pos | None) -> Divergence | None:
    """Why only some ranks come here."""
    found = _of_flags(frame.path_divergence())
    return found and found.then(frame.step("flow", pos, f"`{place}` is set on some ranks only"))


def _why_partly(frame: Frame, place: str, pos: f.Pos | None) -> Divergence | None:
    """The same of a part of a larger tensor: by the rank it is a share, or what is sent."""
    why = _why(frame, place, pos)
    return None if why is not None and why.kind == "rank" else why


def _of_flags(divergence: Divergence | None) -> Divergence | None:
    """Of tests of the rank those for a rank of the job: a group's first member may well send what it sets."""
    if divergence is None or divergence.kind != "rank":
        return divergence
    return divergence.at_most(Confidence.MEDIUM) if divergence.axes == WORLD else None


def made_anew(frame: Frame, target: f.Expr, source: f.Expr | None, value: Value) -> Value:
    """`flag = torch.tensor(1)` on some ranks only, where there was another before."""
    if frame.light or type(target) is not f.Name or type(source) is not f.Call or last_name(source.func) not in _MAKES:
        return value
    before = frame.env.get(target.id)
    if before is None or before.agreed or not is_number(before.layout) or not is_number(value.layout):
        return value
    if value.divergence is not None or value.data is not None:
        return value
    why = _why(frame, target.id, source.pos)
    return value if why is None else value._replace(data=why, uniform=False)


def of_arms(formula: Formula, a: Value, b: Value, before: Value | None, merged: Value) -> Value:
    """`flag = torch.tensor(1)` in one arm, `torch.tensor(0)` in the other: `merged` is what they have in common."""
    divergence = _of_flags(divergence_of(formula))
    if divergence is None or before is not None or not is_number(a.layout) or not is_number(b.layout):
        return merged
    if any(v.divergence or v.data or v.agreed for v in (a, b)):
        return merged
    return merged._replace(data=divergence, uniform=False)
