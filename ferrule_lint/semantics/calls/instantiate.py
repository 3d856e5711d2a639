"""A summary at a call: parameters bound to arguments, the result in terms of what was passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import guesses, told_apart
from ferrule_lint.semantics.data import picked
from ferrule_lint.semantics.data.batch_fields import is_uneven_later
from ferrule_lint.semantics.data.ordering import length_deps
from ferrule_lint.semantics.data.records import DEEPEST, cut, entries_of
from ferrule_lint.semantics.domain.axes import UNKNOWN_GROUP
from ferrule_lint.semantics.domain.dependences import (
    CONTAINED,
    COUNTED,
    DATA,
    DEALT,
    EMPTY,
    ENTERED,
    FLOWS,
    HELD,
    HOLDS,
    ITEM,
    ITERATED,
    LATER,
    MADE,
    NO_DEPS,
    NOTHING,
    OBSERVED,
    PICKED,
    PRESENT,
    SELECTS,
    SIZED,
    TRUE,
    ZERO,
    Deps,
    asked_for,
    asked_for_by_callee,
    made_of,
    only,
    recast,
    root_of,
    told_from_zero,
)
from ferrule_lint.semantics.domain.joins import join2
from ferrule_lint.semantics.domain.lattice import (
    Divergence,
    Value,
    contained,
    emptiness_of,
    is_member,
    number_of,
    of_entries,
    rounds_of,
    worse,
)
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.domain.targets import ClassTarget, ExternalTarget, FunctionTarget, PartialTarget
from ferrule_lint.semantics.domain.text import is_open, last_name
from ferrule_lint.semantics.gradients import through_calls
from ferrule_lint.semantics.groups.axes import names_group
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
from ferrule_lint.semantics.project.options import passed
from ferrule_lint.semantics.sources import environment, rank_names
from ferrule_lint.semantics.sources.setting_names import hold_settings
from ferrule_lint.semantics.walk import no_rounds
from ferrule_lint.semantics.walk.frame import Frame

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

_CONTEXT_CONSTANTS = ("None", "True", "False", "<given>")


def bind_arguments(
    function: FunctionInfo,
    receiver: Value | None,
    positional: tuple[Value, ...],
    keywords: Mapping[str, Value],
    call: f.Call | None,
) -> dict[str, Value]:
    """Parameter name -> argument, for everything that is passed visibly."""
    bound: dict[str, Value] = {}
    parameters = list(function.parameters)
    if (
        function.owner is not None
        and not function.is_static
        and parameters
        and (receiver is not None or function.is_class_method)
    ):
        if receiver is not None:
            bound[parameters[0].name] = receiver
        parameters = parameters[1:]
    normal = [p for p in parameters if p.kind == "normal"]
    for i, (parameter, value) in enumerate(zip(normal, positional, strict=False)):
        if call is not None and i < len(call.args) and type(call.args[i]) is f.Starred:
            break
        bound[parameter.name] = value
    names = {p.name for p in parameters if p.kind in ("normal", "keyword")}
    for name, value in keywords.items():
        if name in names:
            bound[name] = value
    if keywords and ("**" in keywords or (parameters[-1:] and parameters[-1].kind == "**")):
        _spread_out(parameters, keywords, bound)
    if call is not None and not is_open(call):
        for parameter in parameters:
            default = parameter.default
            if parameter.name not in bound and type(default) is f.Const:
                bound[parameter.name] = Value(uniform=True, const=default.text)
    return bound


#: decorators that leave a function's parameters as they are
_PLAIN = frozenset("staticmethod classmethod no_grad enable_grad inference_mode contextmanager abstractmethod".split())


def refuses(function: FunctionInfo, keywords: Mapping[str, Value]) -> bool:
    """Whether a call fails before it does anything: it names a parameter that the function has not (`f(split=True)`,
    and `f` takes no `split`). On whatever rank comes to it, nobody comes to what is in there."""
    if not keywords or not function.decorator_names <= _PLAIN:
        return False
    parameters = function.parameters
    if any(p.kind == "**" for p in parameters):
        return False
    names = {p.name for p in parameters if p.kind in ("normal", "keyword")}
    return any(name not in names and name != "**" for name in keywords)


def _spread_out(parameters: Sequence[f.Parameter], keywords: Mapping[str, Value], bound: dict[str, Value]) -> None:
    """What `**options` passes by its entries, and what a parameter `**options` gets."""
    named = {p.name for p in parameters if p.kind in ("normal", "keyword")}
    rest = {repr(name): value for name, value in keywords.items() if name not in named and name != "**"}
    for key, value in keywords["**"].entries if "**" in keywords else ():
        if key.strip("'\"") not in named:
            rest.setdefault(key, value)
        elif (entry := keywords["**"].entry(key)) is not None:
            bound.setdefault(key.strip("'\""), entry)
    taker = next((p for p in parameters if p.kind == "**"), None) if rest or "**" in keywords else None
    held = next((v.data for v in rest.values() if v.data is not None), None)
    if taker is not None and (entries := entries_of(rest, told=held is not None)):
        bound[taker.name] = Value(there=True, entries=entries, data=held, keyed=held)
    elif taker is not None and not rest:
        bound[taker.name] = keywords["**"]


def contexts_of(
    analysis: Analysis, function: FunctionInfo, bound: Mapping[str, Value], call: f.Call | None
) -> tuple[tuple[str, Value], ...]:
    """What the arguments fix of a function: None, True, False, a text or member of an `Enum` that it asks for, a rank
    that nobody has, the name of a variable of the environment that holds the rank, "a group is given", that an optional
    one is there, callables, that the ranks agreed on what it compares with a size; ".x" is an attribute of the
    receiver."""
    out: list[tuple[str, Value]] = []
    for i, parameter in enumerate(function.parameters):
        if i == 0 and function.owner is not None and not function.is_static:
            receiver = bound.get(parameter.name)
            out += [(f".{name}", value) for name, value in receiver.fields] if receiver is not None else []
            continue
        value = bound.get(parameter.name)
        if value is None:
            continue
        if value.const in _CONTEXT_CONSTANTS and value.divergence is None:
            out.append((parameter.name, Value(uniform=True, const=value.const, group=value.group)))
        elif _is_told(analysis, value, parameter.name, function):
            out.append((parameter.name, Value(uniform=True, const=value.const)))
        elif names_group(parameter.name) and value.group is not None and value.divergence is None:
            # an optional group that is passed on stays optional
            if not (value.deps and value.const is None and value.group is None):
                out.append((parameter.name, Value(uniform=True, const="<given>", group=value.group)))
        elif type(value.target) in (FunctionTarget, PartialTarget, ClassTarget):
            some = value.presence or value.divergence
            out.append((parameter.name, Value(uniform=some is None, target=value.target, presence=some)))
        elif type(value.target) is ExternalTarget:
            model = analysis.models.call(value.target.dotted)
            if model is not None and model.event is not None:
                out.append((parameter.name, Value(uniform=True, target=value.target)))
        elif parameter.name in function.traits.measures and _is_agreed(value, call, function, parameter.name):
            out.append((parameter.name, Value(uniform=True, agreed=True)))
        elif parameter.default == f.Const("None") and _is_there(value, parameter.name, function):
            out.append((parameter.name, Value(there=True)))
    return tuple(out)


#: calls by which a tensor is made longer
_FILL = frozenset("cat concat concatenate hstack pad".split())


def _is_agreed(value: Value, call: f.Call | None, function: FunctionInfo, name: str) -> bool:
    """Whether a number that a function compares with a size is one that the ranks agreed on, or a setting, which is
    meant for all of them, in one that fills up to it (`pad_to_length(x, config.max_length)`)."""
    if value.observed is not None or value.shape is not None or value.length is not None or call is None:
        return value.agreed and value.observed is None and value.const is None
    if value.agreed and value.const is None:
        return True
    expr = passed(call, function, function.owner is not None, name)
    is_number = type(expr) is f.Const and expr.text.isdigit()
    is_setting = type(expr) is f.Attr and hold_settings(expr.base)
    return (is_number or is_setting) and any(
        type(node) is f.Call and last_name(node.func) in _FILL for node in walk(function.body)
    )


def _is_there(value: Value, name: str, function: FunctionInfo) -> bool:
    """Whether an argument is no None: it is known to be there, or a text or number by which the function does not have
    to do without (`if label is None: label = agreed_label()`)."""
    if value.presence is not None:
        return False
    is_told = value.const not in (None, "None") and value.divergence is None
    return value.there or (is_told and name in function.traits.missed)


def _is_told(analysis: Analysis, value: Value, name: str, function: FunctionInfo) -> bool:
    """Whether an argument is a constant by which a function takes its ways: a text or the member of an `Enum` that it
    asks for, or hands on to a function that does, the name of a variable with the rank, a number that no rank has
    (`rank=-1`: there is one process), or one by which a loop takes no round."""
    const = value.const
    if const is None or value.divergence is not None:
        return False
    if no_rounds.decides(function, name, const):
        return True
    if const[:1] == "-":
        return analysis.models.convention("rank", name) is not None
    return environment.names_rank(const) or (
        (const[:1] in ("'", '"') or is_member(const)) and told_apart.by(analysis, function, name)
    )


def divergence_through(value: Value, how: str) -> Divergence | None:
    """The divergence of what a function does with an argument."""
    if how == OBSERVED:
        return value.observed
    if how == PRESENT and value.there:
        return None
    if how == PRESENT:
        found = value.presence or value.divergence
        return found if found is not None and (found is value.presence or found.kind == "structure") else None
    if how == HELD:
        return value.divergence if value.divergence is not None and value.divergence.kind == "structure" else None
    if how in HOLDS:
        return contained(value).divergence
    if how == DATA:
        return contained(value).data
    if how in (ITERATED, COUNTED):
        return rounds_of(value)
    if how == EMPTY:
        nothing = emptiness_of(value)
        return None if nothing is None else nothing._replace(empty=True)
    if how == ZERO:
        return value.emptiness and value.emptiness._replace(empty=True)
    if how == PICKED:
        return picked.through(value)
    if how == DEALT:
        by_rank = value.divergence is not None and value.divergence.kind == "rank"
        return value.divergence.at_most(Confidence.MEDIUM) if value.divergence is not None and by_rank else None
    if how == LATER:
        return value.shape if is_uneven_later(value) else None
    if how == ENTERED:
        return of_entries(value.observed)
    if how == TRUE:
        return value.length if value.divergence is None and value.items is None and value.emptiness is None else None
    if how == SELECTS:
        return value.data if value.boolean else None if value.uneven_last else value.shape
    return value.divergence


def instantiate(frame: Frame, summary: Summary, bound: Mapping[str, Value], pos: f.Pos) -> Value:
    """The result of a call: the summary's, with each parameter it depends on replaced by its argument."""
    return _instantiate(frame, summary.result, summary, bound, pos)


def of_parameters(frame: Frame, value: Value, summary: Summary, bound: Mapping[str, Value], pos: f.Pos) -> Value:
    """Another value of a function's summary, in terms of what was passed."""
    return _instantiate(frame, value, summary, bound, pos)


def _instantiate(
    frame: Frame, result: Value, summary: Summary, bound: Mapping[str, Value], pos: f.Pos, levels: int = DEEPEST
) -> Value:
    """`levels`: how deep records may lie in each other from here on."""
    value = _with_arguments(frame, result, summary, bound, pos, levels)
    if result.counts:
        value = value._replace(counts=result.counts)
    if result.reach is None and value.reach is None:
        return value
    reach = None
    if result.reach is not None:
        reach = through_calls.instantiated(frame, result.reach, summary, bound, pos)
    return value._replace(reach=reach)


def _with_arguments(
    frame: Frame, result: Value, summary: Summary, bound: Mapping[str, Value], pos: f.Pos, levels: int
) -> Value:
    items = None
    if result.items is not None:
        items = tuple([_instantiate(frame, v, summary, bound, pos, levels) for v in result.items])
    result = cut(result, levels) if levels <= 0 else result
    value = guesses.without(frame, rank_names.as_passed(result, summary.function, bound), summary, bound, pos)
    if value.entries:
        entries = tuple([(k, _instantiate(frame, v, summary, bound, pos, levels - 1)) for k, v in value.entries])
        value = value._replace(entries=entries)
    if items is not None:
        value = value._replace(items=items)
    if result.shape_deps:
        value = value._replace(shape_deps=NO_DEPS)
        for name, how in sorted(result.shape_deps):
            argument = bound.get(name)
            if argument is not None and how == FLOWS:  # of the size that it has itself, as an item of a list
                passed = only(argument.deps, FLOWS, FLOWS) | argument.shape_deps
                shape = worse(value.shape, argument.shape)
                value = value._replace(shape=shape, shape_deps=value.shape_deps | passed)
            elif argument is not None:
                passed = frozenset((p, how) for p, h in argument.deps if h not in HOLDS) | (
                    argument.length_deps if how == COUNTED else NO_DEPS
                )
                shape = worse(value.shape, divergence_through(argument, how))
                value = value._replace(shape=shape, shape_deps=value.shape_deps | passed)
    if result.presence_deps:
        value = _there_on_some(frame, value, summary, bound, pos)
    if not (result.deps or result.length_deps or value.divergence or value.length):
        return value
    step = frame.step("call", pos, f"returned by `{summary.display}`")
    sizes = value.shape_deps
    if result.deps or result.length_deps:
        # what depends on a parameter of an enclosing function still does at the call of the nested one
        own = {p.name for p in summary.function.parameters} if summary.function else set()
        outer = frozenset(d for d in result.deps if _is_around(d[0], own, bound)) or NOTHING
        outer_lengths = (
            frozenset(d for d in result.length_deps if root_of(d[0]) not in own and d[0][0] != ".") or NOTHING
        )
        value = value._replace(deps=outer, length_deps=outer_lengths)
    if result.deps:
        # what the parameter's name suggested inside the function gives way to what is passed
        for name, how in sorted(result.deps):
            argument = bound.get(name)
            if how in (OBSERVED, ITEM) and asks_for_entries(result.deps, name, bound):
                continue
            if argument is not None:
                types = value.types | wrapped_classes(frame, value, argument) if how == FLOWS else value.types
                came = cut(_through(argument, how), levels)
                if argument.is_keyed and how == FLOWS and (value.data is None or value.is_keyed):
                    itself = cut(argument, levels)
                    came = came._replace(entries=itself.entries, keyed=itself.keyed)  # the dict itself
                elif argument.is_keyed and how == ITEM and any(d.startswith(f"{name}[") for d, _ in result.deps):
                    came = came._replace(data=None)  # under which key is said beside
                if value.there and came.presence is not None:
                    came = came._replace(presence=None)  # what was worked out from it is no None for that
                if came.divergence is not None and frame.models.convention("rank", name) is not None:
                    came = rank_names.of_one_group(came, value)[0]
                if how != FLOWS and value.slots is not None:
                    came = came._replace(slots=value.slots)  # a list or dict of its own, whatever it holds
                value = join2(value, came)._replace(
                    target=value.target, const=None, items=items, types=types, module=value.module, there=value.there,
                    apart=value.apart, number=value.number, boolean=value.boolean,
                    unwrapped=value.unwrapped and how not in HOLDS and not _is_module(argument),
                )  # fmt: skip
    if result.filled and not result.length_deps:
        value = value._replace(length=result.length, emptiness=result.emptiness, length_deps=NO_DEPS, shape_deps=sizes)
        if result.container:
            value = value._replace(container=True, deps=contained(value).deps)
    if result.in_order:
        value = value._replace(unordered=None, in_order=True)
    evened = any(v.multiple for v in bound.values())
    if evened and value.length is not None and value.length.kind == "rank":
        value = value._replace(length=None)  # dealt out in there, and even
    for name, how in sorted(result.length_deps):
        argument = bound.get(name)
        if argument is not None and not (how == DEALT and evened):
            if how == ITERATED and argument.unordered is not None:
                value = value._replace(unordered=worse(value.unordered, argument.unordered.then(step)))
            found = divergence_through(argument, how)
            if found is not None and found.empty and rounds_of(argument) is None:
                found = found.at_most(Confidence.LOW)  # batches have as many rows everywhere
            if found is not None and how in (DATA, OBSERVED) and found.kind == "data":
                found = found.then(frame.step("flow", pos, f"decides how many items `{summary.display}` hands back"))
            length = worse(value.length, found)
            passed = frozenset(
                (p, how if h == FLOWS or how == ENTERED or (h == ITEM and how == OBSERVED) else h)
                for p, h in argument.deps
                if h not in HOLDS
            )
            value = value._replace(length=length, length_deps=value.length_deps | passed | argument.length_deps)
    if value.divergence is not None:
        divergence = value.divergence.then(step)
        if divergence.axes == UNKNOWN_GROUP:
            divergence = divergence.at_most(Confidence.LOW)  # what group the callee asked is not known out here
        value = value._replace(divergence=divergence)
    if value.length is not None:
        value = value._replace(length=value.length.then(step))
    return value


def _is_around(name: str, own: set[str], bound: Mapping[str, Value]) -> bool:
    """Whether a dependence on what is no parameter of a function still is one at its call: on a parameter of a function
    around it, or of the constructor of the instance that calls its own method."""
    if name[0] != ".":
        return root_of(name) not in own
    return name in bound and any(p == name for p, _ in bound[name].length_deps)


def of_its_later(argument: Value) -> Deps:
    """The parameters that are passed on as they are, and of which a later dimension is asked for."""
    return frozenset([(p, LATER) for p, how in argument.deps if how == FLOWS and (not argument.part or "[" in p)])


def _is_module(argument: Value) -> bool:
    """Whether what is passed is a module or has some: not a device to which one is moved that is made there."""
    return argument.module or bool(argument.types or argument.element_types)


def asks_for_entries(deps: Deps, name: str, bound: Mapping[str, Value]) -> bool:
    """Whether all that is read of a parameter are entries under written keys, each of which the caller knows by itself:
    what else it passes there is none of them."""
    entries = [d for d, _ in deps if d.startswith(f"{name}[")]
    return bool(entries) and all(entry in bound for entry in entries)


def _there_on_some(frame: Frame, value: Value, summary: Summary, bound: Mapping[str, Value], pos: f.Pos) -> Value:
    """What a function hands back where its parameters say so, and None where they do not."""
    own = {p.name for p in summary.function.parameters} if summary.function else set()
    asked, value = value.presence_deps, value._replace(presence_deps=NO_DEPS)
    for name, how in sorted(asked):
        argument = bound.get(name)
        if root_of(name) not in own and name[0] != ".":
            value = value._replace(presence_deps=value.presence_deps | {(name, how)})
        if argument is None:
            continue
        found = divergence_through(argument, how)
        if found is not None and found.kind != "structure":
            told = found.then(frame.step("call", pos, f"`{summary.display}` returns None for some"))
            value = value._replace(presence=worse(value.presence, told), uniform=False)
        passed = frozenset([(p, how) for p, known in argument.deps if known in (FLOWS, ITEM)])
        passed |= argument.length_deps if how == COUNTED else NO_DEPS
        value = value._replace(presence_deps=value.presence_deps | passed)
    return value


def wrapped_classes(frame: Frame, result: Value, argument: Value) -> frozenset[ClassInfo]:
    """The classes of a module that a function was given and hands back in a wrapper (`return DDP(model)`)."""
    wrapper = frame.models.class_(result.external) if result.external and argument.types else None
    if wrapper is None or wrapper.role not in ("ddp", "sharded"):
        return frozenset()
    return argument.types if all(frame.analysis.is_module(c) for c in argument.types) else frozenset()


def _through(argument: Value, how: str) -> Value:
    if how == OBSERVED:
        # what is read of it has none of its sizes
        deps = recast(argument.deps, OBSERVED, FLOWS, ITEM)
        return Value(uniform=argument.uniform, divergence=argument.observed, deps=deps)
    if how == TRUE:
        deps = recast(argument.deps, TRUE, FLOWS)
        return Value(uniform=argument.uniform, divergence=divergence_through(argument, TRUE), deps=deps)
    if how == PRESENT:
        # whether it is there is all that the result has of it, and of what it was made of
        deps = asked_for_by_callee(argument.deps, PRESENT, argument.part)
        there = None if argument.there else divergence_through(argument, PRESENT)
        return Value(uniform=argument.uniform, divergence=there, deps=NO_DEPS if argument.there else deps)
    if how == HELD:
        deps = asked_for(argument.deps, True)
        return Value(uniform=argument.uniform, divergence=divergence_through(argument, HELD), deps=deps)
    if how == DATA:
        deps = recast(argument.deps, DATA, FLOWS, ITEM, MADE)
        return Value(uniform=argument.uniform, divergence=divergence_through(argument, DATA), deps=deps)
    if how in HOLDS:
        deps = made_of(argument.deps) if how == MADE else recast(argument.deps, CONTAINED, FLOWS, ITEM)
        return contained(argument)._replace(  # what holds it, or is made of it, is there without it
            unordered=None, shape=None, padded=None, shape_deps=NO_DEPS, length=None, length_deps=NO_DEPS,
            emptiness=None, presence=None, presence_deps=NO_DEPS, deps=deps,
        )  # fmt: skip
    if how == FLOWS:
        return argument.plain()
    if how == ZERO:
        return Value(emptiness=argument.emptiness, deps=told_from_zero(argument.deps))
    if how == LATER:
        return Value(divergence=divergence_through(argument, LATER), deps=of_its_later(argument), there=True)
    if how == PICKED:
        return Value(emptiness=picked.through(argument), deps=only(argument.deps, PICKED, FLOWS))
    if how == SIZED:
        return argument.plain()._replace(
            shape=None, padded=None, shape_deps=NO_DEPS, length=None, length_deps=NO_DEPS,
            deps=recast(argument.deps, SIZED, FLOWS),
        )  # fmt: skip
    if how == ITEM:
        return argument.plain()._replace(
            length=None, length_deps=NO_DEPS, uniform=False, unordered=None, shape=None, padded=None,
            shape_deps=NO_DEPS, deps=recast(argument.deps, ITEM, FLOWS),
        )  # fmt: skip
    if how == EMPTY:  # a number has no sizes of its own
        return argument.plain()._replace(
            emptiness=emptiness_of(argument), data=None, divergence=number_of(argument),
            unordered=None, shape=None, padded=None, length=None, length_deps=NO_DEPS, shape_deps=NO_DEPS,
            deps=recast(argument.deps, EMPTY, FLOWS, ITEM),
        )  # fmt: skip
    # how many rows a tensor has, or items an instance
    if how == COUNTED and (argument.data is not None or argument.types) and not argument.container:
        deps = recast(length_deps(argument), COUNTED, ITERATED)
        return Value(divergence=number_of(argument), emptiness=emptiness_of(argument), deps=deps)
    if how == COUNTED:
        return argument._replace(unordered=None, deps=recast(argument.deps, COUNTED, FLOWS))
    return argument._replace(unordered=None)
