"""Tensors that are brought to a collective: do all ranks bring the same size and type?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.models.types import CallModel
from ferrule_lint.semantics.data import buffers, exchanged, read_out, switches, told_sizes
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.axes import DP, Axes, is_untold, share
from ferrule_lint.semantics.domain.conditions import Atom, atoms, divergence_of
from ferrule_lint.semantics.domain.dependences import CONTAINED, DATA, FLOWS, ITEM, NO_DEPS, OBSERVED, Deps, recast
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.summary import Latent
from ferrule_lint.semantics.domain.text import shown
from ferrule_lint.semantics.domain.trace import Event
from ferrule_lint.semantics.sources import first_rank
from ferrule_lint.semantics.sources.setting_names import is_setting
from ferrule_lint.semantics.walk.frame import CallIssue

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

_FROM_ONE = frozenset({"broadcast", "scatter"})
#: what these make of the first items of all ranks is the first item of the result
_ITEM_BY_ITEM = frozenset({"all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor"})
_TOLERANT = frozenset({"all_gather_object", "gather_object", "broadcast_object_list"})


def told_by_rank(frame: Frame, divergence: Divergence, event: Event) -> bool:
    """Whether who comes here has been told by its rank, so that what it brings is compared with nobody's: what differs
    does so by rank, one of them sends, or one alone is here."""
    formula = frame.path_condition()
    here = divergence_of(formula) if formula is not None else None
    if here is None or here.kind != "rank":
        return False
    alone = type(formula) is Atom and " == " in formula.key
    return divergence.kind == "rank" or event.op in _FROM_ONE or alone


def check_shapes(frame: Frame, model: CallModel, arguments: Arguments, receiver: Value | None, event: Event) -> None:
    """What a modelled collective is given that is not of the same size, type or order on all ranks."""
    if event.op in _TOLERANT or frame.of_one_size or _has_places(frame, model, arguments):
        return
    for argument in model.same_shape:
        expr = arguments.expression(argument.name, argument.position)
        value = arguments.value_of(expr) if expr is not None else None
        if argument.name == "self":
            value = receiver
        if value is None:
            continue
        if frame.exchanged and type(expr) is not f.Name:
            value = exchanged.worked_on(frame, value)
        if value.layout is not None:
            frame.layouts[arguments.expr.pos] = value.layout
        if value.unordered is not None and event.op in _ITEM_BY_ITEM:
            what = shown(expr) if expr is not None else argument.name
            message = f"`{event.op}` adds up the items of `{what}`, whose order ranks do not share"
            frame.issues.append(CallIssue("FER106", arguments.expr.pos, value.unordered, event, message))
        one = read_out.holds_one_item(frame, expr, arguments.expr.pos)
        if one:
            value = value._replace(shape=None, padded=None, shape_deps=NO_DEPS)
        for part, code, divergence in _problems(value):
            if told_by_rank(frame, divergence, event):
                continue
            if divergence.assumed and event.op in _FROM_ONE:
                continue  # what one rank has is what all get
            if meets(part, divergence, event.axes):
                message = shape_message(code, event.op, divergence, is_of_type(part, divergence))
                frame.issues.append(CallIssue(code, arguments.expr.pos, divergence, event, message))
                break
        else:
            # an item as it was handed over, and not what is worked out of its content
            made = definition(frame, expr) if expr is not None else None
            itself = (FLOWS, ITEM) if type(made) in (f.Name, f.Subscript) else (FLOWS,)
            direct = frozenset(d for d in value.deps if d[1] in itself) | value.shape_deps
            if type(expr) is f.Name and event.op in _FROM_ONE and _is_told_size(frame, expr.id):
                direct = frozenset(d for d in direct if d[0] != expr.id)
                value = value._replace(deps=frozenset(d for d in value.deps if d[0] != expr.id))
            own = selected_by_content(frame, value, event, arguments.expr.pos)
            if own is not None:
                message = shape_message("FER201", event.op, own)
                frame.issues.append(CallIssue("FER201", arguments.expr.pos, own, event, message))
            elif (direct := direct | _held(value)) and not _follows_its_size(frame, event):
                typed = _typed(frame, expr, value)
                if one:  # its size is nobody's business
                    direct = recast(direct, CONTAINED, FLOWS) if typed == "number" else direct
                    typed = "type" if typed == "tensor" else typed
                    if not typed:
                        continue
                frame.latents.append(
                    Latent(
                        "FER201",
                        "shape",
                        direct,
                        frame.module.path,
                        arguments.expr.pos,
                        shown(arguments.expr.func),
                        event,
                        typed=typed,
                    )
                )


def _follows_its_size(frame: Frame, event: Event) -> bool:
    """Whether who sends, told apart by its rank, has sent something else in front of it: the size, most often, for
    which the others make room (`if rank == 0: broadcast(size); broadcast(data)`)."""
    if event.op not in _FROM_ONE or not frame.conditions:
        return False
    if not any(first_rank.asks_for_one(atom.key) for test in frame.conditions for atom in atoms(test)):
        return False
    return any(type(t) is Event and t.op in _FROM_ONE and t.pos != event.pos for t in frame.terms)


def _is_told_size(frame: Frame, name: str) -> bool:
    function = frame.function
    if function is None:
        return False
    parameters = tuple(p.name for p in function.parameters)
    return frame.analysis.bodies.once(told_sizes.is_told, function.body, parameters, name)


def _has_places(frame: Frame, model: CallModel, arguments: Arguments) -> bool:
    """Whether a list of tensors is gathered into that has a place of its size for each rank."""
    lists = [a for a in model.makes_uniform if a.name.endswith("_list")] if model.event == "all_gather" else []
    return any(buffers.sized_by_rank(frame, arguments.expression(a.name, a.position)) for a in lists)


_GATHERS = frozenset({"all_gather", "all_gather_into_tensor", "gather"})


def selected_by_content(frame: Frame, value: Value, event: Event, pos: f.Pos) -> Divergence | None:
    """Why a gathered tensor has another size on each rank where the content of a parameter decides how much is selected
    from that parameter itself (`unique(x)`, `x[x > 0]`): were it the same on all ranks, nobody would gather it."""
    if event.op not in _GATHERS or frame.light or not value.shape_deps:
        return None
    held = {name for name, how in value.deps if how != CONTAINED}
    # what a setting or a size decides selects nothing
    asked = (n for n, how in sorted(value.shape_deps) if how in (OBSERVED, DATA) and n in held and n[0] != ".")
    plain = _no_tensors(frame)
    name = next((n for n in asked if not is_setting(n) and ".shape" not in n and n not in plain), None)
    if name is None:
        return None
    note = f"how much is selected from `{name}` depends on what it holds, and what is gathered differs between ranks"
    divergence = frame.source(DP, "data", pos, note, Confidence.MEDIUM)
    return divergence if meets(value, divergence, event.axes) else None


def _no_tensors(frame: Frame) -> set[str]:
    """The parameters that are switches or numbers by default, and no tensors (`output_features=False, stride=8`), or
    are asked for their truth."""
    if frame.function is None:
        return set()
    by_default = {p.name for p in frame.function.parameters if type(p.default) is f.Const and p.default.text != "None"}
    return by_default | frame.analysis.bodies.once(switches.of_body, frame.function.body)


def _problems(value: Value) -> list[tuple[Value, str, Divergence]]:
    """What is wrong with a tensor's shape, or with those in a list or tuple that is written out."""
    parts = value.items if value.items and any(map(shape_problems, value.items)) else (value,)
    return [(part, code, divergence) for part in parts for code, divergence in shape_problems(part)]


def shape_problems(value: Value) -> list[tuple[str, Divergence]]:
    if value.padded is not None:
        return [("FER202", value.padded)]
    if value.shape is not None:
        return [("FER201", value.shape)]
    apart = value.layout.apart if value.layout is not None else None
    return [] if apart is None else [("FER201", apart)]


def is_of_type(value: Value, divergence: Divergence) -> bool:
    """Whether what differs is the type of a tensor's elements, and not its size."""
    return value.layout is not None and value.layout.apart is divergence


def _typed(frame: Frame, expr: f.Expr | None, value: Value) -> str:
    """Whose element type a parameter that a collective depends on decides: it is the tensor, or the number in it."""
    if value.layout is not None:
        return "number" if value.layout.of_numbers else ""
    return "tensor" if type(expr) is f.Name and not frame.version(expr.id) else ""


def _held(value: Value) -> Deps:
    """The parameter in a tensor of one number, `torch.tensor([x])`, whose type is that number's."""
    of_numbers = value.layout is not None and value.layout.of_numbers
    return frozenset(d for d in value.deps if d[1] == CONTAINED) if of_numbers else NO_DEPS


def meets(value: Value, divergence: Divergence, axes: Axes) -> bool:
    """Whether ranks that hold different shapes meet in a group. Of a group that cannot be told it is assumed,
    unless a padded length is all there is: ranks that share a batch pad it alike."""
    if is_untold(axes):
        return not value.uneven_last or divergence.kind == "rank"
    return "world" in axes or share(divergence.axes, axes)


def shape_message(code: str, op: str, divergence: Divergence, typed: bool = False) -> str:
    if divergence.kind == "rank":
        return f"ranks bring tensors of another size or type to `{op}`, which needs the same on every rank"
    if code == "FER202":
        return f"this tensor is padded on some ranks only before `{op}`, which needs the same shape on every rank"
    if typed:
        return f"the type of this tensor depends on the rank's own data, but `{op}` needs the same on every rank"
    return f"this tensor's size depends on the rank's own data, but `{op}` needs the same shape on every rank"
