"""What attributes of instances and module-level variables hold, flow-insensitively.

Attribute values come before everything else and in two layers, so that no cycle can arise between them and the
summaries: layer 1 reads every other attribute as unknown, layer 2 reads layer 1, and the analysis proper reads layer 2.
Within a layer, project functions are followed for their results only, to a small depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.facts.stated import stated
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import constructed
from ferrule_lint.semantics.data import filled_sets
from ferrule_lint.semantics.domain.dependences import NO_DEPS, NOTHING
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value, is_member, member, worse
from ferrule_lint.semantics.domain.reach import reach_of
from ferrule_lint.semantics.domain.targets import MethodTarget
from ferrule_lint.semantics.domain.text import variables
from ferrule_lint.semantics.project import signals
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, GlobalName, ModuleInfo, by_id
from ferrule_lint.semantics.project.handles import WORKERS, stands_for_workers
from ferrule_lint.semantics.project.reads import Asked, Input, Memo
from ferrule_lint.semantics.sources import admissions
from ferrule_lint.semantics.walk import (
    collected_later,
    given,
    own_names,
    passed_data,
    passed_in,
    put_in_order,
    set_back,
)
from ferrule_lint.semantics.walk.as_begun import as_begun
from ferrule_lint.semantics.walk.body import execute
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.parameter_values import parameter_value
from ferrule_lint.semantics.walk.writers import Writers

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: why module-level variables differ after a function that sets them
Rebinds: TypeAlias = dict[str, Divergence | None]
#: the analysis proper; attribute layers are 1 and 2
FULL = 0
#: functions that set a module's variable which are looked at for what they set it to
_MOST_REBINDERS = 4


class Holders:
    """Lazily evaluated attribute and global values."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        reads = analysis.names.reads
        self._attributes: Memo[tuple[str, str, int], Value | None] = Memo(reads, _question)
        self._writes: Memo[tuple[str, int], dict[str, Value]] = Memo(reads, _question_of_method)
        self._stored: Asked[frozenset[str]] = Asked(reads, "stored")
        self._called: Asked[frozenset[str]] = Asked(reads, "called under tests")
        self._writers: Memo[str, Writers] = Memo(reads)
        self._globals: Memo[tuple[str, str], Value] = Memo(reads, _question_of_variable)
        self._begun: Memo[tuple[str, str], Value] = Memo(reads)
        self._rebinds: Memo[str, Rebinds | None] = Memo(reads)
        self._rebinds_one: Memo[tuple[str, str], Divergence | None] = Memo(reads)
        self._changed: Memo[str, frozenset[str]] = Memo(reads)
        self._set_later: Memo[str, frozenset[str]] = Memo(reads)

    def attribute(self, info: ClassInfo, name: str, reading_layer: int) -> Value | None:
        """What `instance.name` holds: the join of everything assigned to it in any method; None if nothing is."""
        self._analysis.light.reads_layer = True
        layer = 2 if reading_layer == FULL else reading_layer - 1
        if layer <= 0:
            return self._annotated(info, name)
        key = (info.id, name, layer)
        return self._attributes.find(key, lambda: self._found(info, name, layer))

    def answer(self, question: str) -> Value | str | None:
        """What an attribute holds, by the question of that; a text if there is no such class any more."""
        layer, name, cls = question.split(" ", 2)
        info = self._analysis.names.class_of_id(cls)
        return "" if info is None else self.attribute(info, name, FULL if layer == "2" else 2)

    def variable(self, question: str) -> Value | str:
        """What a module's variable holds, by the question of that; a text if there is no such module any more."""
        name, _, path = question.partition(" ")
        module = self._analysis.names.modules.get(path)
        return "" if module is None else self.global_variable(GlobalName(module, name))

    def written(self, question: str) -> dict[str, Value] | str:
        """What a method writes, by the question of that; a text if there is no such method any more."""
        layer, _, method = question.partition(" ")
        found = self._analysis.names.function_of_id(method)
        info = found.module.classes.get(found.owner or "") if found is not None else None
        return "" if found is None or info is None else self._method_writes(found, info, int(layer))

    def _found(self, info: ClassInfo, name: str, layer: int) -> Value | None:
        found: list[Value] = []
        anew = agreed = False
        begun = True  # whether nothing differs but what it is begun with
        for c in self._analysis.names.mro(info):
            for method in self._writers_of(c).of(name):
                if anew and self._is_of_constructor(info, method):
                    continue
                value = self._method_writes(method, c, layer).get(name)
                if value is not None and self._analysis.signals.handles(method):
                    value = signals.set_by(value, method)
                if value is not None:
                    found.append(value._replace(length_deps=constructed.held(value, method)))
                    begun = begun and (value.divergence is None or method.name == "__init__")
                    agreed = agreed or (value.agreed and value.divergence is None)
            constructor = c.methods.get("__init__")
            anew = anew or (constructor is not None and own_names.sets_anew(constructor, name))
        if (told := self._told_of(info, name)) is not None:
            found.append(told)
        annotated = self._annotated(info, name)
        if annotated is not None:
            found = [join([v, annotated]) if not v.types else v for v in found] or [annotated]
        result = self._as_held(found) if found else None
        if result is not None and result.divergence is not None and begun and agreed:
            # what the ranks have agreed on takes its place, in time
            result = result._replace(divergence=result.divergence.at_most(Confidence.LOW))
        if result is not None and not result.types:
            methods = [m for c in self._analysis.names.mro(info) for m in c.methods.values()]
            if (data := collected_later.left_in(found, methods, name)) is not None:
                result = result._replace(data=data, container=True, uniform=False)
        if result is not None and result.types and stands_for_workers(self._analysis.names, info, result.types):
            result = WORKERS
        return result

    def _told_of(self, info: ClassInfo, name: str) -> Value | None:
        """What a comment says of an attribute in the body of a class; of others the body tells what there is to begin
        with, which is set again on instances."""
        for c in self._analysis.names.mro(info):
            statement = c.attributes.get(name)
            if statement is not None and statement.value is not None:
                return self.class_attribute(c, name) if stated(statement.value)[0] else None
        return None

    def _is_of_constructor(self, info: ClassInfo, method: FunctionInfo) -> bool:
        """Whether a method is a constructor, or one that constructors of the class and its bases call and nothing else
        there does."""
        if method.name == "__init__":
            return True
        callers = [
            m.name
            for c in self._analysis.names.mro(info)
            for m in c.methods.values()
            if m.parameters and method.name in m.calls_on(m.parameters[0].name)
        ]
        return bool(callers) and set(callers) == {"__init__"}

    @staticmethod
    def _as_held(values: list[Value]) -> Value:
        """Flow-insensitive: several writers make a constant unknown, and parameters of `__init__` mean nothing here."""
        value = join(values)
        presence = value.presence
        divergence = value.divergence
        if divergence is not None and divergence.assumed:
            divergence = divergence.at_most(Confidence.LOW)  # what a method's parameter is called says little elsewhere
        if presence is not None and presence.assumed:
            presence = presence.at_most(Confidence.LOW)
        const = value.const if len(values) == 1 else None
        # what another method has put in under a test of local data is still there, or is not
        length = value.length
        if length is not None and (value.agreed or length.assumed):
            length = None
        if const in ("None", "True", "False", "0") or (const and const[:1].isdigit()) or is_member(const):
            const = None  # set again from outside, more often than not
        target = None if type(value.target) is MethodTarget else value.target
        entries = tuple(
            [
                (k, v._replace(deps=NO_DEPS, shape_deps=NO_DEPS, length_deps=NO_DEPS, presence_deps=NO_DEPS))
                for k, v in value.entries
                if v.data is None or v.tells or v.target is not None
            ]
        )
        # of the sizes of its items, which say nothing of how many it holds
        holds_uneven = value.shape is not None and all(v.container for v in values if v.shape is not None)
        return value._replace(
            entries=entries, keyed=None,
            length_deps=value.length_deps if sum(v.const != "None" for v in values) == 1 else NO_DEPS,
            given=(), layout=None, apart=None,
            number=None, target=target, deps=NO_DEPS, const=const, presence=presence,
            uniform=value.uniform and len(values) == 1,
            divergence=divergence, items=None, container=holds_uneven, emptiness=None, data=None,
            length=length, shape=value.shape if value.container else None,
            there=False, unwrapped=False,
            padded=None, reach=None, slots=None, shape_deps=NO_DEPS, boolean=False,
            presence_deps=constructed.of_constructor(value.presence_deps),
        )  # fmt: skip

    def _annotated(self, info: ClassInfo, name: str) -> Value | None:
        for c in self._analysis.names.mro(info):
            statement = c.attributes.get(name)
            if statement is not None and statement.annotation is not None:
                annotated = self._analysis.annotations.class_of(statement.annotation, c.module)
                if annotated is not None:
                    return Value(types=frozenset({annotated}))
                items = self._analysis.annotations.elements_of(statement.annotation, c.module)
                if items:
                    return Value(element_types=items)
                held = self._analysis.annotations.held_by(statement.annotation, c.module)
                if held is not None:
                    return Value(holds=held)
                return self._analysis.annotations.instance_of(statement.annotation, c.module)
        return None

    def classes(self, info: ClassInfo) -> list[ClassInfo]:
        """Classes of the attributes of an instance."""
        found: dict[str, ClassInfo] = {}
        names = {
            n
            for c in self._analysis.names.mro(info)
            for m in c.methods.values()
            for n in self.stored_in(m)
            if "." not in n
        }
        for name in sorted(names):
            value = self.attribute(info, name, FULL)
            for c in by_id((value.types | value.element_types) if value else ()):
                found[c.id] = c
        return list(found.values())

    def class_attribute(self, info: ClassInfo, name: str) -> Value | None:
        """What `Class.name` holds."""
        for c in self._analysis.names.mro(info):
            statement = c.attributes.get(name)
            if statement is not None and statement.value is not None:
                frame = Frame(self._analysis, c.module, light=1)
                for other in sorted(variables(statement.value) & c.attributes.keys() - {name}):
                    stated_there = c.attributes[other].value
                    if stated_there is not None and c.attributes[other].line < statement.line:
                        frame.env[other] = frame.eval(stated_there)  # in the body of the class, further up
                value = frame.eval(statement.value)
                # a text says which of several things is meant, and is not set again
                const = value.const if name.isupper() and (value.const or "")[:1] in ("'", '"') else None
                if any(b.startswith("enum.") for b in self._analysis.names.external_bases(info)):
                    return Value(uniform=True, const=member(f"{c.id}.{name}"))
                return value._replace(deps=NO_DEPS, const=const)
        return None

    def part(self, info: ClassInfo, name: str, reading_layer: int) -> Value | None:
        """What an attribute of an attribute (`state.found`) gets in the methods of the class that holds the outer one,
        whatever the inner one's class does; None if that tells of no difference between ranks, of nothing that they
        have agreed on, and of no class."""
        value = self.attribute(info, name, reading_layer)
        if value is None:
            return None
        told = value.divergence or value.presence or value.length or value.shape
        return value if told or value.types or value.agreed else None

    def _writers_of(self, info: ClassInfo) -> Writers:
        """The methods of a class by what they may set."""
        handled = self._analysis.signals.set_in

        def names(method: FunctionInfo) -> frozenset[str]:
            return self.stored_in(method) | self._set_by_own(method, info) | handled(method)

        def found() -> Writers:
            return Writers((method, names(method), self._called_in(method)) for method in info.methods.values())

        return self._writers.find(info.id, found)

    def stored_in(self, method: FunctionInfo) -> frozenset[str]:
        """Names of attributes that a method assigns on its first parameter, or fills in place; an attribute of one of
        them has both names (`state.found`)."""
        return self._stored.find(method.id, lambda: own_names.stored(method), NOTHING)

    def _set_by_own(self, method: FunctionInfo, info: ClassInfo) -> frozenset[str]:
        """The same of methods of its own that it calls under some test: they may be called on some ranks only."""
        names: set[str] = set()
        for called in self._called_in(method):
            own = self._analysis.names.method(info, called)
            names |= self.stored_in(own) if own is not None and own is not method else NOTHING
        return frozenset(names)

    def _keeps_by_calls(self, method: FunctionInfo, info: ClassInfo, layer: int) -> bool:
        """Whether a method calls under tests what counts, or adds to something, in its instance or a part of that."""
        for called in sorted(self._called_in(method)):
            if called.startswith("."):
                continue  # not under a test
            part, _, name = called.rpartition(".")
            held = self.attribute(info, part, layer) if part else None
            owners = [info] if not part else by_id(held.types) if held is not None else []
            own = [self._analysis.names.method(owner, name) for owner in owners]
            if any(m is not None and (m.traits.counted or m.traits.filled) for m in own):
                return True
        return False

    def _called_in(self, method: FunctionInfo) -> frozenset[str]:
        return self._called.find(method.id, lambda: own_names.called(method), NOTHING)

    def changed(self, info: ClassInfo) -> frozenset[str]:
        """The attributes that methods of a class count with or add to, and that none sets but to begin with."""
        return self._changed.find(info.id, lambda: self._found_changed(info))

    def _found_changed(self, info: ClassInfo) -> frozenset[str]:
        traits = [m.traits for c in self._analysis.names.mro(info) for m in c.methods.values()]
        return frozenset(name for of in traits for name in (*of.counted, *of.filled))

    def set_later(self, info: ClassInfo) -> frozenset[str]:
        """The attributes that methods of a class set, other than its constructor."""
        return self._set_later.find(info.id, lambda: self._found_set_later(info))

    def _found_set_later(self, info: ClassInfo) -> frozenset[str]:
        methods = (m for c in self._analysis.names.mro(info) for m in c.methods.values() if m.name != "__init__")
        return frozenset([name for method in methods for name in self.stored_in(method) if "." not in name])

    def stored(self, method: str) -> list[str]:
        """The names for the method with an id, in order."""
        found = self._analysis.names.function_of_id(method)
        return sorted(self.stored_in(found)) if found is not None else []

    def called(self, method: str) -> list[str]:
        """What the method with an id calls of its instance, in order (`own_names.called`)."""
        found = self._analysis.names.function_of_id(method)
        return sorted(self._called_in(found)) if found is not None else []

    def fixed(self, info: ClassInfo, writes: dict[str, Value]) -> tuple[tuple[str, Value], ...]:
        """Of what a constructor writes, the constants that no other method writes."""
        found = {n: v for n, v in writes.items() if v.const in ("True", "False", "None") and not v.deps}
        for c in self._analysis.names.mro(info):
            for method in c.methods.values():
                if method.name != "__init__":
                    for name in self.stored_in(method):
                        found.pop(name, None)
        return tuple((n, Value(uniform=True, const=found[n].const)) for n in sorted(found))

    def _method_writes(self, method: FunctionInfo, info: ClassInfo, layer: int) -> dict[str, Value]:
        key = (method.id, layer)
        return self._writes.find(key, lambda: self._written(method, info, layer), {})

    def _written(self, method: FunctionInfo, info: ClassInfo, layer: int) -> dict[str, Value]:
        writes = self._run_for_writes(method, info, layer, {})
        if layer == 1 or not method.parameters[1:]:
            return writes
        decisive = passed_data.decisive(method, writes, self._keeps_by_calls(method, info, layer))
        given = passed_data.passed(self._analysis, method, info, decisive, layer)
        return self._run_for_writes(method, info, layer, given) if given else writes

    def _run_for_writes(
        self, method: FunctionInfo, info: ClassInfo, layer: int, data: Mapping[str, Divergence]
    ) -> dict[str, Value]:
        frame = Frame(self._analysis, method.module, method, light=layer)
        enter(frame, method, info, {}, None)
        for name, why in data.items():
            frame.env[name] = frame.env.get(name, UNKNOWN)._replace(data=why, uniform=False)
        for name, given_by in passed_in.passed(self._analysis, method, layer).items():
            own = frame.env.get(name, UNKNOWN)
            if own.divergence is None:
                presence = own.presence if own.presence and not own.presence.assumed else given_by.presence
                frame.env[name] = own._replace(divergence=given_by.divergence, presence=presence, rank=given_by.rank)
        self._run(frame, method)
        writes = {**frame.self_writes, **frame.part_writes}
        for name, value in writes.items():
            if value.unordered and put_in_order.is_left_in_order(method.body, f"{frame.self_name}.{name}"):
                methods = [m for c in self._analysis.names.mro(info) for m in c.methods.values()]
                if not filled_sets.is_filled_later(methods, method, name):
                    writes[name] = value._replace(unordered=None)
        return writes

    def _run(self, frame: Frame, function: FunctionInfo) -> None:
        try:
            execute(frame, function.body)
        except RecursionError:
            self._analysis.count("too deep for Python's stack")

    # ------------------------------------------------------------------ module level
    def global_variable(self, variable: GlobalName) -> Value:
        key = (variable.module.path, variable.name)
        return self._globals.find(key, lambda: self._held(variable), UNKNOWN)

    def _held(self, variable: GlobalName) -> Value:
        expressions = variable.module.assigned(variable.name)
        if not expressions:
            value = UNKNOWN
        else:
            value = self._begun_as(variable)
            rebinders = variable.module.rebinders(variable.name)
            if rebinders:
                value = value._replace(const=None, uniform=False)
            for function in rebinders:
                if self._analysis.signals.handles(function):
                    value = signals.set_by(value, function)
            for function in rebinders[:_MOST_REBINDERS]:
                value = value._replace(divergence=worse(value.divergence, self._rebound(function, variable.name)))
            value = value._replace(container=False, emptiness=None, items=None)
            if value.entries:
                value = self._with_entries_of_signals(variable, value)
        return value

    def _with_entries_of_signals(self, variable: GlobalName, value: Value) -> Value:
        """A dict some of whose entries a handler of signals sets."""
        entries = dict(value.entries)
        for function in variable.module.functions.values():
            if self._analysis.signals.handles(function):
                for name, key in signals.shared_entries(function):
                    if name == variable.name and key in entries:
                        entries[key] = signals.set_by(entries[key], function)
        return value._replace(entries=tuple(entries.items()))

    def _begun_as(self, variable: GlobalName) -> Value:
        """What the top level of a module sets a variable to."""

        def found() -> Value:
            values = [self._global_value(variable.module, e) for e in variable.module.assigned(variable.name)]
            if any(v.rank[:1] == "#" for v in values):  # -1 is the rank of a process that has no others
                values = [v for v in values if v.const != "-1"]
            value = join(values)._replace(deps=NO_DEPS)
            return value if len(values) == 1 else value._replace(const=None, uniform=False)

        return self._begun.find((variable.module.path, variable.name), found, UNKNOWN)

    def _rebound(self, function: FunctionInfo, name: str) -> Divergence | None:
        """Why a module's variable differs after a function that declares it `global` (`MAIN = get_rank() == 0`).

        A function is run once for all that it sets, which may be hundreds (groups of every kind), unless that asks for
        something that is not known yet: then each variable gets a run of its own."""
        found = self._rebinds.find(function.id, lambda: self._rebinds_at_once(function))
        if found is not None:
            return found[name]
        return self._rebinds_one.find((function.id, name), lambda: self._all_rebound(function)[name])

    def _rebinds_at_once(self, function: FunctionInfo) -> Rebinds | None:
        reads = self._analysis.names.reads
        leans = reads.leans
        found = self._all_rebound(function)
        return found if reads.leans == leans else None

    def _all_rebound(self, function: FunctionInfo) -> Rebinds:
        """Why each variable differs that a function declares `global`. A rank that it is given (`set_rank(rank)`) is
        its caller's: any number."""
        module = function.module
        info = module.classes.get(function.owner or "")
        frame = Frame(self._analysis, module, function, light=1)
        enter(frame, function, info, {}, None)
        for parameter in function.parameters:
            given = frame.env.get(parameter.name, UNKNOWN).divergence
            if given is not None and given.kind == "rank":
                frame.env[parameter.name] = UNKNOWN
        names = [name for name, functions in module.declared_global().items() if function.qualname in functions]
        for name in names:
            begun = self._begun_as(GlobalName(module, name)) if module.assigned(name) else UNKNOWN
            frame.env[name] = begun._replace(const=None, uniform=False)
        frame.captured = {name: name for name in names}
        frame.shared = frozenset(names)
        self._run(frame, function)
        kept = (n for n in names if not set_back.in_body(function.body, n, next(iter(module.assigned(n)), None)))
        left = ((name, (frame.env.get(name, UNKNOWN), frame.left_in.get(name, UNKNOWN))) for name in kept)
        after = [(name, worse(*(v.divergence for v in values))) for name, values in left]
        told = {name: None if why is None or why.assumed else why.at_most(Confidence.MEDIUM) for name, why in after}
        return {**dict.fromkeys(names), **told}

    def _global_value(self, module: ModuleInfo, expr: f.Expr) -> Value:
        frame = Frame(self._analysis, module, light=1)
        try:
            return frame.eval(expr)
        except RecursionError:
            self._analysis.count("too deep for Python's stack")
            return UNKNOWN


def _question(key: tuple[str, str, int]) -> Input:
    info, name, layer = key
    return "attribute", f"{layer} {name} {info}"


def _question_of_method(key: tuple[str, int]) -> Input:
    method, layer = key
    return "writes", f"{layer} {method}"


def _question_of_variable(key: tuple[str, str]) -> Input:
    path, name = key
    return "variable", f"{name} {path}"


def _told(frame: Frame, function: FunctionInfo, parameter: f.Parameter) -> Value:
    """What a parameter holds as far as its function alone tells: the same in every context."""
    key = (function.id, parameter.name, frame.in_module)
    return frame.analysis.parameters.find(key, lambda: parameter_value(frame, parameter, function.line))


def enter(
    frame: Frame, function: FunctionInfo, info: ClassInfo | None, bound: dict[str, Value], receiver: Value | None
) -> None:
    """Give a frame its parameters: the receiver, what the context fixes, and what names and annotations tell."""
    analysis = frame.analysis
    frame.self_class = info
    frame.in_module = info is not None and analysis.is_module(info)
    if frame.closure is not None:
        frame.in_module = frame.in_module or frame.closure.in_module
        frame.self_class = frame.self_class or frame.closure.self_class
    if not frame.light:
        given.enter(frame, function)
        frame.gradients = analysis.sharding.needs_every_output(
            frame.self_class if frame.in_module else None, frame.module.path
        )
        frame.gradients = frame.gradients and not analysis.is_file_of_another_framework(frame.module)
    for i, parameter in enumerate(function.parameters):
        if i == 0 and function.owner is not None and not function.is_static and info is not None:
            if function.is_class_method:
                from ferrule_lint.semantics.domain.targets import ClassTarget

                frame.env[parameter.name] = Value(uniform=True, target=ClassTarget(info))
            else:
                frame.self_name = parameter.name
                fields = tuple((k[1:], v) for k, v in bound.items() if k.startswith("."))
                frame.env[parameter.name] = receiver or Value(types=frozenset({info}), fields=fields)
                frame.env.update((f"{parameter.name}.{name}", value) for name, value in fields)
            continue
        known = bound.get(parameter.name)
        whole = known is not None and known.unwrapped
        if known is None or known.types or known.element_types or known.holds or known.there or whole:
            value = admissions.of_parameter(frame, parameter.name, _told(frame, function, parameter))
            value = as_begun(frame, function, parameter.name, value)
            if known is not None and known.there:
                value = value._replace(there=True, presence=None)
            if whole:  # until something in there wraps it
                value = value._replace(module=True, unwrapped=True, external=None)
            if known is not None and known.types:
                external, module = known.external or value.external, known.module or value.module
                value = value._replace(types=known.types, external=external, module=module)
            if known is not None and (known.element_types or known.holds):
                value = value._replace(element_types=known.element_types, holds=known.holds)
            frame.env[parameter.name] = value
        else:
            frame.env[parameter.name] = known
        number = type(parameter.default) is f.Const and parameter.default.text != "None"
        if frame.gradients and not number:  # no output of anything has a number to begin with: `T=5`
            reach = reach_of(f"={parameter.name}")
            frame.env[parameter.name] = frame.env[parameter.name]._replace(reach=reach)
    if function.turns_gradients_off:
        frame.no_gradient += 1
