"""What a parameter holds as far as its name, annotation and default tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.control import needed
from ferrule_lint.semantics.data.ordering import is_set, no_order
from ferrule_lint.semantics.domain.axes import DP, WORLD, Axes
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.targets import ClassTarget, Target
from ferrule_lint.semantics.domain.text import last_name, render
from ferrule_lint.semantics.gradients import participation
from ferrule_lint.semantics.groups.axes import names_group
from ferrule_lint.semantics.project import built_around, handed_wrapped, kept_arguments
from ferrule_lint.semantics.project.entities import by_id
from ferrule_lint.semantics.sources import (
    absent_inputs,
    collected,
    first_rank,
    handed_gathered,
    own_device,
    own_state,
    rank_axes,
    rank_names,
    trained_losses,
)
from ferrule_lint.semantics.walk import collected_later, parameter_use

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import ClassInfo
    from ferrule_lint.semantics.walk.frame import Frame


#: a parameter of this name asks for what rank 0 has, and is passed by all ranks alike
_ZEROTH = re.compile(r"_?rank_?(0|zero)(_only)?", re.IGNORECASE)
#: methods of modules that get what a checkpoint holds
_RESTORE = frozenset({"set_extra_state", "load_state_dict", "_load_from_state_dict", "load_checkpoint"})
#: what says, position by position, which of the local batch count
_MASK = re.compile(r"(\w+_)?masks?")
#: hooks of Lightning and MMEngine that run behind a step, with what it returned
_BEHIND_STEP = re.compile(r"on_(train|validation|test|predict)_batch_end|after_(train|val|test)_iter")
_OUTPUTS = re.compile(r"(\w+_)?(outputs|outs)")
#: hooks of Lightning 1 that are handed what all steps have returned, with those steps
_OF_STEPS = {f"{name}_epoch_end": (f"{name}_step", f"{name}_step_end") for name in ("training", "validation", "test")}
#: terms that, by their names, are added to a loss of the same outputs
_BESIDE = re.compile(r"aux|regulari[sz]|penalty", re.IGNORECASE)
_MATCHED = re.compile(r"(^|_)(indices|inds|match\w*|assign\w*|positives?)$")
#: names of parameters that choose what a module does
_CHOOSES = re.compile(r"mode|method|func|fn|task|name|command|phase|stage|type|step|idx|index|args|ctx", re.IGNORECASE)


def parameter_value(frame: Frame, parameter: f.Parameter, function_line: int) -> Value:
    """What a parameter holds as far as its name, annotation and default tell."""
    name = parameter.name
    deps = frozenset({(name, "flows")})
    pos = (function_line, 1, function_line, 1)
    annotation = render(parameter.annotation) if parameter.annotation is not None else ""
    info = frame.analysis.annotations.class_of(parameter.annotation, frame.module)
    items = frame.analysis.annotations.elements_of(parameter.annotation, frame.module)
    given = _given(frame, parameter, frozenset({info}) if info is not None else items)
    classes = kept_arguments.infos(frame.analysis, given.instances)
    if info is not None and not classes:
        classes = frozenset({info})
    if classes:
        data = None
        if frame.models.convention("batch", name) is not None and not any(map(frame.analysis.is_module, classes)):
            data = frame.source(DP, "data", pos, f"`{name}` is the rank's own batch", Confidence.MEDIUM)
        return Value(deps=deps, types=classes, data=data)
    external = frame.analysis.annotations.external_of(parameter.annotation, frame.module) or given.library
    role = frame.models.class_(external) if external else None
    if role is not None and role.role in ("module", "sharded", "ddp"):
        return Value(deps=deps, module=True, external=_wrapper(frame, name) or external)
    if parameter.annotation is None and (wrapper := _wrapper(frame, name)):
        return Value(deps=deps, module=True, external=wrapper)
    if role is not None and role.role == "group" and role.axes:
        return Value(deps=deps, external=external, group=frozenset(role.axes))
    scalar = _is_scalar(parameter, annotation)
    rank = frame.models.convention("rank", name)
    if (
        rank is not None
        and not _ZEROTH.fullmatch(name)
        and (scalar or not annotation)
        and parameter.kind in ("normal", "keyword")
        and not parameter_use.is_root(frame, name)
        and not rank_names.sizes_parameter(frame, name)
    ):
        axes: Axes = frozenset(rank) or frame.axes_in(name) or WORLD
        divergence = frame.source(axes, "rank", pos, rank_names.of_parameter(name), Confidence.MEDIUM)
        return first_rank.named(Value(deps=deps, divergence=divergence), name)
    if (run := _run(frame, given)) is not None:
        return Value(deps=deps, target=run)
    items = kept_arguments.infos(frame.analysis, given.items) or items
    held = frame.analysis.annotations.held_by(parameter.annotation, frame.module) or given.library_items
    value = Value(
        deps=deps, external=external, loader=bool(role and role.role == "loader"), element_types=items, holds=held
    )
    if is_set(parameter.annotation):
        value = value._replace(unordered=no_order(frame, pos, f"parameter `{name}` is a set, which has no order"))
    if names_group(name) or "mesh" in name:
        return value._replace(group=frame.axes_in(name))
    if rank_axes.is_size_of_job(name):
        return value._replace(world_size=True)
    chosen = own_device.of_parameter(frame, parameter, value) if scalar or not annotation else value
    if chosen is not value or scalar or parameter.kind in ("*", "**"):
        return chosen
    tensor = "Tensor" in annotation
    asked = _may_be_text(parameter.annotation)
    in_module = frame.in_module or (frame.function is not None and frame.function.name == "forward")
    batch = frame.models.convention("batch", name) is not None and not parameter_use.is_number(frame, name)
    batch = batch or _is_of_step(frame, name)
    named = frame.models.convention("data", name) is not None
    matched = not annotation and _is_matched(frame, parameter)
    unmistakable = not annotation and frame.models.convention("tensor", name) is not None
    collects = in_module and _is_collected(frame, parameter)
    optional = frame.models.convention("optional", name) is not None or collects
    # how far a generation is, say, and what a checkpoint holds
    shared = frame.models.convention("uniform", name) is not None or _restores(frame)
    shared = shared or parameter_use.is_text(frame, name)
    loss = not shared and not frame.light and trained_losses.is_one(frame, name)
    local = not shared and (
        batch
        or loss
        or unmistakable
        or (not asked and ((named and (in_module or tensor)) or (tensor and in_module)))
        or (optional and in_module)
        or matched
        or (not annotation and _is_first_input(frame, parameter))
    )
    if local and not (in_module and _is_own_state(frame, name)) and (batch or not _is_handed_gathered(frame, name)):
        note = f"`{name}` is the rank's own batch" if batch else f"`{name}` holds the rank's own data"
        note = f"`{name}` is the rank's own loss, whose backward pass runs here" if loss else note
        # what comes from the batch has its names; any other tensor in a module may be a state that ranks share
        told = batch or optional or matched or frame.models.convention("content", name) is not None
        told = told or loss or _chooses_positions(frame, name)
        data = frame.source(DP, "data", pos, note, Confidence.MEDIUM)
        data = data._replace(assumed=not (batch or loss), unnamed=not told)
        function = frame.function
        value = value._replace(data=data, container=function is not None and function.name.endswith(_OF_EPOCH))
        if (
            optional
            and not (function is not None and needed.from_the_start(function.body, name))
            and not absent_inputs.is_required(frame, parameter)
        ):
            note = collected.note_of_entry(name) if collects else absent_inputs.note_of_parameter(name)
            sure = absent_inputs.of_parameter(frame, name)
            value = value._replace(presence=frame.source(DP, "structure", pos, note, sure))
    if frame.models.convention("loader", name) is not None:
        value = value._replace(loader=True)
    if (frame.models.convention("module", name) is not None and "Module" in annotation) or _is_part(frame, parameter):
        value = value._replace(module=True)
    return value


def _is_of_step(frame: Frame, name: str) -> bool:
    """Whether a hook of a training loop is given what the step has made of the rank's own batch, or of all of them."""
    if frame.function is None or not _OUTPUTS.fullmatch(name):
        return False
    behind = name == "outputs" and _BEHIND_STEP.fullmatch(frame.function.name) is not None
    return behind or _is_of_own_steps(frame, frame.function.name)


def _is_of_own_steps(frame: Frame, hook: str) -> bool:
    """Whether a hook of a module of Lightning is handed what each step has returned, and the step brings nothing
    together itself."""
    steps, info = _OF_STEPS.get(hook), frame.self_class
    if steps is None or info is None:
        return False
    names = frame.analysis.names
    if not any(base.endswith(".LightningModule") for base in names.external_bases(info)):
        return False
    own = [method for step in steps if (method := names.method(info, step)) is not None]
    return not any(collected_later.brings_together(call) for method in own for call in method.calls)


#: how hooks are called that a library hands what each batch has left: as much on each rank as there are batches
_OF_EPOCH = "_epoch_end"


def _is_collected(frame: Frame, parameter: f.Parameter) -> bool:
    """Whether a parameter may be left out, and is in the batches of a data set at times. Who runs a module without
    gradients gives it what it has."""
    if parameter.default != f.Const("None") or frame.function is None or frame.function.turns_gradients_off:
        return False
    return collected.is_collected(frame.analysis, parameter.name)


def _given(frame: Frame, parameter: f.Parameter, annotated: frozenset[ClassInfo]) -> kept_arguments.Given:
    """Of which classes is what callers give for a parameter that is kept in an instance, where no annotation tells
    them; of classes that derive from the one that is annotated these are told, too."""
    function = frame.function
    if function is None or function.owner is None or (parameter.annotation is not None and not annotated):
        return kept_arguments.Given()
    given = kept_arguments.of_parameter(frame.analysis, function, parameter.name)
    derived = kept_arguments.infos(frame.analysis, (*given.instances, *given.items))
    if annotated and any(annotated.isdisjoint(frame.analysis.names.mro(info)) for info in derived):
        return kept_arguments.Given()
    return given


def _run(frame: Frame, given: kept_arguments.Given) -> Target | None:
    """The class or function that a parameter stands for, or one of several, by what callers give."""
    found: list[Target] = [ClassTarget(info) for info in by_id(kept_arguments.infos(frame.analysis, given.classes))]
    found += kept_arguments.functions(frame.analysis, given)
    if not found or given.instances or given.items:
        return None
    return kept_arguments.one_of(found)


def _wrapper(frame: Frame, name: str) -> str:
    """What the module is in that callers pass."""
    function = frame.function
    if function is None:
        return ""
    if function.name != "__init__" or function.owner is None:
        return handed_wrapped.wrapper_of(frame.analysis, function, name)
    return built_around.wrapper_given(frame.analysis, function, name)


def _is_part(frame: Frame, parameter: f.Parameter) -> bool:
    """Whether a parameter is a module that another one is built around, as callers of its constructor say."""
    function = frame.function
    if not frame.in_module or function is None or function.name != "__init__" or parameter.annotation is not None:
        return False
    return built_around.is_given_module(frame.analysis, function, parameter.name)


def _is_own_state(frame: Frame, name: str) -> bool:
    function = frame.function
    return function is not None and own_state.is_own_state(frame.analysis, function, name)


def _is_handed_gathered(frame: Frame, name: str) -> bool:
    function = frame.function
    return function is not None and handed_gathered.is_handed_gathered(frame.analysis, function, name)


def _restores(frame: Frame) -> bool:
    return frame.function is not None and frame.function.name in _RESTORE


def _is_first_input(frame: Frame, parameter: f.Parameter) -> bool:
    """Whether a parameter is what a module's forward is about: the first, unless its name chooses what to do."""
    function = frame.function
    if not frame.in_module or function is None or function.name != "forward" or parameter.default is not None:
        return False
    first = function.parameters[1] if len(function.parameters) > 1 else None
    return first is parameter and parameter.kind == "normal" and not _CHOOSES.search(parameter.name)


def _is_matched(frame: Frame, parameter: f.Parameter) -> bool:
    """Whether a parameter of a loss beside the targets is which of them were matched (`indices`): local as they are."""
    function = frame.function
    if not frame.in_module or function is None or "loss" not in function.name or not _MATCHED.search(parameter.name):
        return False
    return any(p.name in ("targets", "labels") for p in function.parameters)


def _chooses_positions(frame: Frame, name: str) -> bool:
    """Whether a parameter of a loss is a mask (`fg_mask`): which positions of the local batch count, and nothing that
    ranks have counted together. In a layer a mask may be a constant, and what a term beside the loss is made of is kept
    in the loss."""
    function = frame.function
    if not frame.in_module or function is None or _MASK.fullmatch(name) is None:
        return False
    return participation.is_loss(function.qualname) and _BESIDE.search(function.qualname) is None


def _may_be_text(annotation: f.Expr | None) -> bool:
    """Whether a parameter takes a text in place of tensors (`str | Tensor`, no list of texts): what somebody asks for,
    which all ranks are given alike."""
    if type(annotation) is f.Name:
        return annotation.id == "str"
    if type(annotation) is f.Subscript:
        index = annotation.index
        one_of = index.elements if type(index) is f.Sequence else (index,)
        return last_name(annotation.base) in ("Union", "Optional") and any(map(_may_be_text, one_of))
    return type(annotation) is f.Op and annotation.kind == "BitOr" and any(map(_may_be_text, annotation.operands))


def _is_scalar(parameter: f.Parameter, annotation: str) -> bool:
    if annotation:
        return bool(re.search(r"\b(int|str|float|bool)\b", annotation)) and not re.search(
            r"Tensor|[Ll]ist|[Dd]ict|Sequence|Iterable", annotation
        )
    default = parameter.default
    return type(default) is f.Const and default.text != "None"
