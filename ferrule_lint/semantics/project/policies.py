"""Classes whose modules are sharded one by one, as a policy names them: `FSDP(model, auto_wrap_policy=policy)`.

    policy = partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})

So modules of these classes are units, whatever the model is. Followed are variables, attributes, what callers pass,
lambdas, and functions of the project that make a policy or are one; what stands behind a `not` is meant to be left out.
A class may be named by a text: `type(m).__name__ in ("Block",)`, `transformer_cls_names_to_wrap=["Block"]`.
https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.FullyShardedDataParallel
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements, walk
from ferrule_lint.semantics.domain.text import argument_of, instance_test, last_name, place_name
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, GlobalName, ModuleInfo, by_id
from ferrule_lint.semantics.project.options import given_by_callers
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.models.types import Argument, CallModel
    from ferrule_lint.semantics.analysis import Analysis

#: variables, attributes and functions that are followed from the call, one behind another
_DEEPEST = 4
#: methods and attributes of objects of unknown class that hold policies, by their names
_POLICY = re.compile(r"polic|wrap|shard|unit", re.I)
#: what models of transformers call the classes of their blocks
_BLOCKS = "_no_split_modules"
#: classes that set an attribute of such a name; with more it names none
_MOST_CLASSES = 6
#: texts of policies that go by something else than classes
_OTHER_POLICY = re.compile(r"['\"](no|size_based)_wrap['\"]", re.I)


def units(
    analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, call: f.Call, argument: Argument
) -> list[ClassInfo]:
    """The project's modules that the policy given for an argument of a call names."""
    given = argument_of(call, argument.name, argument.position)
    return [] if given is None else named_in(analysis, module, owner, given)


def units_of_program(
    analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, call: f.Call, model: CallModel
) -> list[ClassInfo]:
    """Those that a call names by some arguments for whatever the program wraps, as classes or as texts."""
    if model.shards_by and not any(_is_set(call, argument) for argument in model.shards_by):
        return []  # `TrainingArguments(fsdp_config=config)`
    given = [x for a in model.units_by if (x := argument_of(call, a.name, a.position)) is not None]
    if any(type(x) is f.Const and _OTHER_POLICY.fullmatch(x.text) for x in given):
        return []
    return by_id({info for x in given for info in named_in(analysis, module, owner, x, by_text=True)})


def _is_set(call: f.Call, argument: Argument) -> bool:
    given = argument_of(call, argument.name, argument.position)
    return given is not None and given not in (f.Const("None"), f.Const("False"), f.Const("''"), f.Const('""'))


def named_in(
    analysis: Analysis,
    module: ModuleInfo,
    owner: FunctionInfo | None,
    expr: f.Expr,
    *,
    by_text: bool = False,
    asked: str = "",
) -> list[ClassInfo]:
    """The project's modules that an expression of a function names, be they picked by a test or listed for one;
    `asked`: the variable that the test asks about."""
    found = _Search(analysis, asked).named(module, owner, expr, _DEEPEST, by_text)
    return by_id({info for info in found if analysis.is_module(info)})


class _Search:
    def __init__(self, analysis: Analysis, asked: str) -> None:
        self._analysis = analysis
        self._asked = asked
        #: functions that are policies or make them: what their own callers pass is seen in the call that led there
        self._entered: set[str] = set()

    def named(
        self, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr, depth: int, texts: bool
    ) -> Iterator[ClassInfo]:
        """The classes that an expression names; `texts`: also by what they are called."""
        if depth < 0:
            return
        left_out = {id(inner) for part in _beside(expr) for inner in walk(part)}
        made = {id(call.func) for call in nodes(expr, f.Call)}
        as_text = {id(inner) for part in _asked_by_name(expr) for inner in walk(part)}
        for node in walk(expr):
            if id(node) in left_out:
                continue
            by_text = texts or id(node) in as_text
            if type(node) is f.Const and (by_text or _BLOCKS in node.text):
                yield from self._called(node.text[1:-1], depth)
            elif type(node) is f.Lambda:
                yield from self._in_function(module.functions.get(node.qualname), depth - 1)
            elif type(node) is f.Name:
                yield from self._behind_name(module, owner, node, depth, by_text)
            elif type(node) is f.Attr:
                yield from self._behind_attribute(module, owner, node, depth, by_text)
            if id(node) not in made and (type(node) is f.Name or type(node) is f.Attr):
                entity = self._analysis.names.resolve(node, module)
                if isinstance(entity, ClassInfo):  # a call of it makes an instance
                    yield entity

    def _called(self, text: str, depth: int) -> Iterator[ClassInfo]:
        """The class that a text names, and those that models name as their blocks."""
        if text == _BLOCKS:
            yield from self._set_anywhere(text, depth - 1, texts=True)
        elif text.isidentifier():
            info = self._analysis.receivers.only_class(text)
            yield from () if info is None else (info,)

    def _behind_name(
        self, module: ModuleInfo, owner: FunctionInfo | None, node: f.Name, depth: int, texts: bool
    ) -> Iterator[ClassInfo]:
        around = owner if node.id != self._asked else None
        while around is not None:
            inner = module.functions.get(f"{around.qualname}.{node.id}")
            yield from self._in_function(inner, depth - 1)
            for made in self._analysis.bodies.assigned(around.body, node.id):
                yield from self.named(module, around, made, depth - 1, texts)
            if any(parameter.name == node.id for parameter in around.parameters):
                follow = depth and around.id not in self._entered
                for file, caller, given in given_by_callers(self._analysis, around, node.id) if follow else ():
                    yield from self.named(file, caller, given, depth - 1, texts)
                return
            around = module.functions.get(around.parent or "")
        yield from self._meant(module, node, depth, texts)

    def _behind_attribute(
        self, module: ModuleInfo, owner: FunctionInfo | None, node: f.Attr, depth: int, texts: bool
    ) -> Iterator[ClassInfo]:
        info = module.classes.get(owner.owner or "") if owner is not None else None
        own = owner.parameters[0].name if owner is not None and owner.parameters else ""
        if node.attr == _BLOCKS:
            yield from self._called(node.attr, depth)
        elif info is not None and own and place_name(node.base) == own:
            method = self._analysis.names.method(info, node.attr)
            yield from self._in_function(method, depth - 1)
            yield from self._held(info, node.attr, depth - 1, texts)
        elif place_name(node.base) and _POLICY.search(node.attr):
            method = self._analysis.names.only_method(node.attr)
            if method is not None and not is_test(method.module.path):
                yield from self._in_function(method, depth - 1)
            yield from self._set_anywhere(node.attr, depth - 1, texts)
        yield from self._meant(module, node, depth, texts)

    def _meant(self, module: ModuleInfo, expr: f.Expr, depth: int, texts: bool) -> Iterator[ClassInfo]:
        entity = self._analysis.names.resolve(expr, module)
        if isinstance(entity, FunctionInfo):
            yield from self._in_function(entity, depth - 1)
        elif isinstance(entity, GlobalName):
            for made in entity.module.assigned(entity.name):
                yield from self.named(entity.module, None, made, depth - 1, texts)

    def _in_function(self, function: FunctionInfo | None, depth: int) -> Iterator[ClassInfo]:
        """What a function names that is a policy, or what it makes one of and hands back."""
        if function is None or depth < 0:
            return
        self._entered.add(function.id)
        for s in statements(function.body):
            if type(s) is f.Return and s.value is not None:
                yield from self.named(function.module, function, s.value, depth, False)

    def _held(self, info: ClassInfo, attribute: str, depth: int, texts: bool) -> Iterator[ClassInfo]:
        """What an attribute of a class gets, in its body, its methods and those of its bases."""
        if depth < 0:
            return
        for c in self._analysis.names.mro(info):
            in_body = c.attributes.get(attribute)
            if in_body is not None and in_body.value is not None:
                yield from self.named(c.module, None, in_body.value, depth, texts)
            for method in c.methods.values():
                own = method.parameters[0].name if method.parameters else ""
                for made in self._analysis.bodies.assigned(method.body, f"{own}.{attribute}"):
                    yield from self.named(c.module, method, made, depth, texts)

    def _set_anywhere(self, attribute: str, depth: int, texts: bool) -> Iterator[ClassInfo]:
        """The same of an object of unknown class: of the few that have such an attribute."""
        if depth < 0:
            return
        holding = [
            info
            for module in self._analysis.names.mentioning(attribute)
            if not is_test(module.path)
            for info in module.classes.values()
            if attribute in info.attributes or self._is_set_in(info, attribute)
        ]
        for info in holding if len(holding) <= _MOST_CLASSES else ():
            yield from self._held(info, attribute, depth, texts)

    def _is_set_in(self, info: ClassInfo, attribute: str) -> bool:
        method = info.methods.get("__init__")
        own = method.parameters[0].name if method is not None and method.parameters else ""
        return method is not None and bool(self._analysis.bodies.assigned(method.body, f"{own}.{attribute}"))


def _beside(expr: f.Expr) -> Iterator[object]:
    """Parts of an expression that name nothing which is meant: what is negated, and what a test asks about."""
    yield from nodes(expr, f.Not)
    for call in nodes(expr, f.Call):
        asked = instance_test(call)
        if asked is not None:
            yield asked[0]
    for test in nodes(expr, f.Compare):
        if any(op not in ("is", "==", "in") for op in test.ops):
            yield test
    for made in nodes(expr, f.Comprehension):
        # `any(wanted(name, m) for wanted in conditions)` asks about what each of these is called with
        targets = {place_name(generator.target) for generator in made.generators}
        for call in nodes(made.elements, f.Call):
            if place_name(call.func) in targets:
                yield from (*call.args, call.keywords)


def _asked_by_name(expr: f.Expr) -> Iterator[f.Expr]:
    """What tests compare the name of a class with: `m.__class__.__name__ == "Block"`."""
    for test in nodes(expr, f.Compare):
        sides = (test.left, *test.rights)
        if any(last_name(side) == "__name__" for side in sides):
            yield from (side for side in sides if last_name(side) != "__name__")
