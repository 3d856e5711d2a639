"""What a function reduces or gathers, it takes to differ between ranks: that is what reducing it is for.

So a parameter, or a variable of which nothing is known, is local data up to the place where it is reduced or gathered,
and a test of it before that place may come out differently on each rank. What is broadcast says nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Confidence, Step
from ferrule_lint.models.types import CallModel
from ferrule_lint.semantics.domain.axes import DP, NO_AXES, WITHIN_DP, WORLD
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, place_name, render, shown
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
from ferrule_lint.semantics.sources import counted_in_data, reducing

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.walk.frame import Frame

_OPERATIONS = frozenset("all_reduce reduce all_gather all_gather_object gather gather_object".split())
#: those that need as many items on each rank: only what they are differs
_ITEM_BY_ITEM = frozenset({"all_reduce", "reduce"})
#: calls and methods that hand on the content of what they are given, or a function of it
SAME = frozenset(
    "tensor as_tensor Tensor FloatTensor LongTensor IntTensor clone detach to cuda cpu float int pow square".split()
)
#: what makes a number, or as many yes and no, of the content of what it is given
_MADE = frozenset("sum mean max min amax amin abs any all norm std var isnan isinf isfinite count_nonzero item".split())
#: operators that make a number of one other number
_ARITHMETIC = frozenset(["Pow", "Mult", "Div", "Add", "Sub", "USub"])
_EVERYWHERE = WITHIN_DP | WORLD
_SIZES = frozenset("len size shape numel nelement".split())


class Admission(NamedTuple):
    """Where a name is reduced or gathered."""

    pos: f.Pos
    op: str
    #: the group, as the call names it; "" for the default one
    group: str = ""


def of_parameter(frame: Frame, name: str, value: Value) -> Value:
    """A parameter that is reduced or gathered in the function."""
    admitted = _admitted(frame, name, value) if frame.function is not None else value
    # nobody may pass anything that differs: for callers it is no more than the name of a parameter
    if admitted is value or admitted.data is None:
        return value
    data = admitted.data._replace(assumed=True)
    presence = None
    if admitted.presence is None and _may_be_absent(frame, name):
        presence = data._replace(kind="structure")
    return admitted._replace(
        data=data, length=data if admitted.length is not None else None, presence=presence or admitted.presence
    )


def of_entry(frame: Frame, e: f.Subscript, value: Value) -> Value:
    """`stats["count"]`, which is reduced or gathered later, where nothing is known of it."""
    place = next(iter(_names(e)), "")
    if not place or frame.function is None or value.uniform:
        return value
    admitted = _admitted(frame, place, value)
    return admitted if admitted.data is None else admitted._replace(data=admitted.data._replace(assumed=True))


def of_attribute(frame: Frame, e: f.Attr, value: Value) -> Value:
    """`self.hits`, which is reduced or gathered later in the method, where some method adds to it what it counts in the
    rank's own data. What it is begun with (`self.hits = 0`) says nothing of it then."""
    info = frame.self_class
    if frame.function is None or frame.light or value.data is not None or type(e.base) is not f.Name:
        return value
    if e.base.id != frame.self_name:
        return _of_field(frame, e, value)
    if info is None or _is_told(value.divergence):
        return value
    admission = admissions(frame).get(f"{e.base.id}.{e.attr}")
    counted = counted_in_data.place(frame.analysis, info, e.attr) if admission is not None else None
    if admission is None or counted is None:
        return value
    note = f"`{shown(e)}` counts what the rank's own data hold, and goes into `{admission.op}` later"
    step = Step("source", counted[0].module.path, *counted[1][:2], note)
    # it is one number, so that its truth reads it
    return value._replace(
        uniform=False, agreed=False, const=None, divergence=Divergence(DP, "data", (step,), Confidence.MEDIUM)
    )


def _of_field(frame: Frame, e: f.Attr, value: Value) -> Value:
    """`output.num_tokens`, which is reduced or gathered later, where nothing is known of it; of a tensor (`layer.bias`)
    all ranks have as much."""
    if value.uniform:
        return value
    place = place_name(e)
    admitted = _admitted(frame, place, value)
    if admitted.data is None:
        return admitted
    at = admissions(frame).get(place)
    if at is not None and at.pos < e.pos:
        return value  # what one loop has reduced item by item, another reads under the same name
    return admitted._replace(data=admitted.data._replace(assumed=True, sized=True))


def _is_told(divergence: Divergence | None) -> bool:
    return divergence is not None and divergence.confidence is not Confidence.LOW


def _may_be_absent(frame: Frame, name: str) -> bool:
    """Whether a parameter is an optional input by its name (`images`), and may be left out."""
    if frame.function is None or frame.models.convention("optional", name) is None:
        return False
    parameter = next((p for p in frame.function.parameters if p.name == name), None)
    if parameter is None:
        return False
    default, annotation = parameter.default, parameter.annotation
    open_to_none = annotation is None or "None" in render(annotation) or "Optional" in render(annotation)
    return open_to_none or (type(default) is f.Const and default.text == "None")


def of_target(frame: Frame, target: f.Expr, source: f.Expr, value: Value) -> Value:
    """A variable of the function that is reduced or gathered later, where nothing is known of what it is assigned."""
    if type(target) is not f.Name or frame.function is None or value.uniform:
        return value
    if value.emptiness is not None and not value.emptiness.empty and value.divergence is None:
        return _exchanged(frame, target.id, value, value.emptiness)
    # of a size that is the rank's own by its name, the variable says no more than the attribute does
    of_size = type(source) is f.Attr and frame.models.convention("local_size", source.attr) is not None
    if type(source) is not f.Call and not of_size:
        return value
    admitted = _admitted(frame, target.id, value)
    if admitted is value or any(last_name(n) in _SIZES for n in walk(source) if type(n) is f.Name or type(n) is f.Attr):
        return value  # lengths are exchanged to pad by them
    return admitted


def _exchanged(frame: Frame, name: str, value: Value, size: Divergence) -> Value:
    """A size of local data that is gathered later: ranks ask for it since it differs, and not only in being zero."""
    admission = None if frame.light else admissions(frame).get(name)
    if admission is None:
        return value
    step = frame.step("flow", admission.pos, f"`{name}` goes into `{admission.op}` there, so it differs between ranks")
    return value._replace(divergence=size._replace(empty=False).then(step), emptiness=None)


def _admitted(frame: Frame, name: str, value: Value) -> Value:
    if frame.light or not _is_open(value):
        return value
    admission = admissions(frame).get(name)
    if admission is None:
        return value
    note = f"`{name}` goes into `{admission.op}` there, so it differs between ranks before"
    data = frame.source(DP, "data", admission.pos, note, Confidence.MEDIUM)
    data = data._replace(sized=admission.op in _ITEM_BY_ITEM)
    return value._replace(data=data, length=data if admission.op.endswith("_object") else None)


def _is_open(value: Value) -> bool:
    if value.types or value.module or value.loader or value.agreed or value.world_size or value.container:
        return False
    known = (value.divergence, value.data, value.const, value.items, value.group, value.external, value.length)
    return known.count(None) == len(known)


def admissions(frame: Frame) -> dict[str, Admission]:
    """The names that a function reduces or gathers, each with the first place."""
    function = frame.function
    assert function is not None
    return frame.analysis.admissions.find(function.id, lambda: _found_in(frame.analysis, function), {})


def in_any_group(frame: Frame) -> dict[str, Admission]:
    """The same, also of what differs within some group only, which need not be one that can be told."""
    return {} if frame.function is None else _found_in(frame.analysis, frame.function, in_any_group=True)


def _found_in(analysis: Analysis, function: FunctionInfo, in_any_group: bool = False) -> dict[str, Admission]:
    if not reducing.is_spoken_of(function.module):
        return {}
    found: dict[str, Admission] = {}
    assigned: dict[str, f.Expr | None] = {}
    groups: dict[str, set[str]] = {}
    for call in function.calls:
        for given, op, group in reduced(analysis, function, call):
            everywhere = group in ("", "None") or (analysis.axes_in(group) or NO_AXES) & _EVERYWHERE
            if not (in_any_group or everywhere):
                continue  # it differs within that group, and along which axes the others are asked is open
            for name in _names(given):
                known = found.get(name)
                groups.setdefault(name, set()).add(group)
                if known is None or call.pos < known.pos:
                    found[name] = Admission(call.pos, op, group)
    for node in statements(function.body):
        if type(node) is f.Assign and len(node.targets) == 1 and type(node.targets[0]) is f.Name:
            name = node.targets[0].id
            assigned[name] = None if name in assigned else node.value
    for name in [name for name, met in groups.items() if len(met) > 1]:
        del found[name]  # reduced group by group, by one setting or another: along which axes it differs is open
    made_of = list(found.items())
    for name, admission in made_of:
        # `count = torch.tensor([n])`
        source = assigned.get(name)
        if (type(source) is f.Call and last_name(source.func) in (SAME | _MADE)) or type(source) in (f.Op, f.Subscript):
            for inner in _names(source):
                if inner not in found:
                    found[inner] = admission
                    made_of.append((inner, admission))
    return found


def reduced(analysis: Analysis, function: FunctionInfo, call: f.Call) -> Iterator[tuple[f.Expr | None, str, str]]:
    """What a call reduces or gathers, itself or in a helper of the project: the argument, the operation, the group."""
    model = reduction(analysis, function.module, call)
    if model is not None:
        yield payload(model, call), model.event or "", group_text(model, call)
        return
    helper = reducing.helper_of(analysis, function, call)
    if helper is not None:
        for name, (op, named) in handed_on(analysis, helper).items():
            group = reducing.argument(helper, call, named)
            yield reducing.argument(helper, call, name), op, named if group is None else render(group)


def handed_on(analysis: Analysis, helper: FunctionInfo) -> dict[str, tuple[str, str]]:
    """The parameters of a helper that it reduces or gathers as they were passed, or counted or averaged: how, and in
    which group, as it names it."""
    return analysis.handed_on.find(helper.id, lambda: _handed_on(analysis, helper), {})


def _handed_on(analysis: Analysis, helper: FunctionInfo) -> dict[str, tuple[str, str]]:
    own = {p.name for p in helper.parameters}
    made = {
        target.id: node.value
        for node in statements(helper.body)
        if type(node) is f.Assign
        for target in node.targets
        if type(target) is f.Name and target.id in own
    }
    found = _found_in(analysis, helper, in_any_group=True)
    return {
        name: (admission.op, admission.group)
        for name, admission in found.items()
        if name in own and (name not in made or name in _names(made[name]))
    }


def reduction(analysis: Analysis, module: ModuleInfo, call: f.Call) -> CallModel | None:
    """The model of a call that reduces or gathers what it is given."""
    model = analysis.model_of(module, call)
    return model if model is not None and model.event in _OPERATIONS and not model.hidden else None


def group_text(model: CallModel, call: f.Call) -> str:
    """The group that a call names; "" for the default one."""
    group = model.group
    for keyword, value in call.keywords:
        if group is not None and keyword == group.name:
            return render(value)
    place = group.position if group is not None else None
    return render(call.args[place]) if place is not None and place < len(call.args) else ""


def payload(model: CallModel, call: f.Call) -> f.Expr | None:
    """The argument of a call that holds this rank's part."""
    if model.same_shape:
        name, position = model.same_shape[0].name, model.same_shape[0].position
    else:
        name, position = "obj", int(any(a.position == 0 for a in model.makes_uniform))
    for keyword, value in call.keywords:
        if keyword in (name, "obj", "object", "tensor"):
            return value
    if position is None or position >= len(call.args) or any(type(a) is f.Starred for a in call.args):
        return None
    return call.args[position]


def _names(expr: f.Expr | None) -> list[str]:
    """The names whose content an expression hands on: `x`, `x.detach()`, `torch.tensor([n, m])`, `stats["count"]`."""
    if type(expr) is f.Name:
        return [expr.id]
    if type(expr) is f.Subscript and type(expr.base) is f.Name and type(expr.index) is f.Const:
        return [f"{expr.base.id}[{expr.index.text}]"] if expr.index.text[:1] in ("'", '"') else []
    if type(expr) is f.Attr and expr.attr == "data":
        return _names(expr.base)
    if type(expr) is f.Attr:
        return [f"{expr.base.id}.{expr.attr}"] if type(expr.base) is f.Name else []
    if type(expr) is f.Sequence:
        return [name for element in expr.elements for name in _names(element)]
    if type(expr) is f.Op and expr.kind in _ARITHMETIC:
        made_of = [operand for operand in expr.operands if type(operand) is not f.Const]
        return _names(made_of[0]) if len(made_of) == 1 else []
    if type(expr) is f.Call and last_name(expr.func) in SAME:
        made = _names(expr.args[0]) if expr.args else []
        return made or (_names(expr.func.base) if type(expr.func) is f.Attr else [])
    if type(expr) is f.Call and last_name(expr.func) in _MADE and type(expr.func) is f.Attr:
        of_torch = type(expr.func.base) is f.Name and expr.func.base.id == "torch"
        return _counted(expr.args[0] if of_torch and expr.args else expr.func.base)
    return []


def _counted(expr: f.Expr) -> list[str]:
    """The name whose content something is counted or summed up of: `x`, `x > threshold`."""
    return _names(expr.left if type(expr) is f.Compare else expr)
