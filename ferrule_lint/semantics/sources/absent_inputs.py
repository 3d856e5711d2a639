"""How sure it is that an optional input is missing from the batches of some ranks only.

The name of an input says that it is optional, and no more. Who leaves it out may be somebody else than the batch: a
caller that asks for one of two ways of a module, or one that only infers. And what prepares the batches may put
something in its place where it is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import plain
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Confidence, Step
from ferrule_lint.semantics.domain.text import is_key, last_name, render
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.project.training import asked_only_to_infer
from ferrule_lint.semantics.sources import gaps, one_of_two_ways
from ferrule_lint.semantics.sources.always_given import is_always_given
from ferrule_lint.semantics.sources.precomputed import is_one_form

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame


def note_of_parameter(name: str) -> str:
    """What is noted of an optional input of a module's method."""
    return f"the optional input `{name}` may be absent from the local batch"


#: inputs of a model that reads text and images: samples of text alone are common among the others
_IMAGES = re.compile(note_of_parameter("(?:pixel_\\w+|images?)"))


def is_of_images(step: Step) -> bool:
    """Whether the input that may be missing is the images of a batch, which samples have or have not in most mixtures
    of data. Of other inputs a setting, or the kind of data, mostly decides for all."""
    return _IMAGES.fullmatch(step.note) is not None


def of_parameter(frame: Frame, name: str) -> Confidence:
    """For a parameter of a module's method."""
    function = frame.function
    if function is not None and (_is_one_of_two(function, name) or _infers(frame.analysis, function)):
        return Confidence.LOW
    if is_always_given(frame.analysis, name):
        return Confidence.LOW
    return of_key(frame.analysis, name)


def of_field(frame: Frame, name: str) -> Confidence:
    """For what a module's method takes out of its batch by a name."""
    if frame.function is not None and _is_one_of_two_fields(frame.function, name):
        return Confidence.LOW
    return of_key(frame.analysis, name)


def of_entry(analysis: Analysis, carrier: str, name: str) -> Confidence:
    """For what a parameter carries under a key: options of attention and conditions of a generation are no batch."""
    return Confidence.LOW if _OF_OPTIONS.search(carrier) else of_key(analysis, name)


_OF_OPTIONS = re.compile(r"(attention|cond|conditioning|processor|control\w*)_kwargs$")


def _infers(analysis: Analysis, function: FunctionInfo) -> bool:
    """Whether a method says that it is asked to infer: also the `__call__` of an object that runs models without
    gradients (a pipeline), to which a caller hands what it has."""
    if function.name == "__call__" and function.owner is not None and function.turns_gradients_off:
        return True
    return asked_only_to_infer(analysis, function)


def is_required(frame: Frame, parameter: f.Parameter) -> bool:
    """Whether a function takes it for granted that it is given something: a tensor by its annotation, with no default,
    for whose absence it does not ask itself. That a function it calls does is for others."""
    if parameter.default is not None or parameter.kind != "normal" or frame.function is None:
        return False
    if parameter.annotation is None or not _ALWAYS.fullmatch(render(parameter.annotation).strip("'\"")):
        return False
    tests = (getattr(node, "test", None) for node in walk(frame.function.body))
    return not any(type(part) is f.Name and part.id == parameter.name for test in tests for part in walk(test))


#: annotations of what is there
_ALWAYS = re.compile(r"(torch\.|jt\.)?(\w*Tensor|TensorType)(\[.*\])?")


def of_key(analysis: Analysis, name: str) -> Confidence:
    """For an entry of a batch: whether something is put in its place where it is missing, all ranks take their batches
    from the same data set in turn, or what they take at once is of one kind."""
    return Confidence.LOW if is_filled(analysis, name) or is_in_turn(analysis) else Confidence.MEDIUM


def of_positions(analysis: Analysis, test: str) -> Confidence:
    """For a test whether there is anything of a modality (`len(image_indices) == 0`): whether what ranks take at once
    is of one kind."""
    return Confidence.LOW if _OF_MODALITY.search(test) and is_in_turn(analysis) else Confidence.MEDIUM


#: what is named for the kind of sample that it is of
_OF_MODALITY = re.compile(r"(?i)modal|(^|[^a-z])(image|video|audio|vision|visual|speech)(?=_)")


def is_filled(analysis: Analysis, name: str) -> bool:
    """Whether something is put in the place of an entry where it is missing."""
    return analysis.filled.find(name, lambda: gaps.are_filled(analysis, name), False)


def is_in_turn(analysis: Analysis) -> bool:
    """Whether all ranks take their batches from the same data set in turn, or what they take at once is of one kind."""
    return analysis.in_turn.find("", lambda: _is_chosen_together(analysis) or _is_dealt_by_kind(analysis), False)


def _is_one_of_two(function: FunctionInfo, name: str) -> bool:
    """`if a is None: return text(b)`, `elif b is None: return image(a)`: callers choose one by what they pass."""
    own = {parameter.name for parameter in function.parameters}
    found = {missing for missing in _left_for(plain(function.body)) if missing in own}
    if (name in found and len(found) > 1) or _is_beside_text(function, name):
        return True
    return is_one_form(function, name) or one_of_two_ways.is_for_one(function, name)


def _is_one_of_two_fields(function: FunctionInfo, name: str) -> bool:
    """The same for what is in a dict: `a = batch.get("image")`, `b = batch.get("text")`, `if a is None: return ...`."""
    found = set(_left_for(plain(function.body)))
    return len(found) > 1 and any(
        type(s) is f.Assign
        and not found.isdisjoint(t.id for t in s.targets if type(t) is f.Name)
        and any(is_key(node, name) for node in walk(s.value) if type(node) is f.Const)
        for s in statements(function.body)
    )


#: what the text is called that is compared with something else; where it is read together with that, it is `input_ids`
_TEXT = re.compile(r"texts?|captions?")


def _is_beside_text(function: FunctionInfo, name: str) -> bool:
    """Whether a module of two towers runs each on what it is given: `image_features = a(image) if image is not None
    else None`, and the same for `text`. A batch of pairs has both; who encodes one side passes that."""
    optional = {p.name for p in function.parameters if p.default == f.Const("None")}
    texts = {other for other in optional if _TEXT.fullmatch(other)} - {name}
    if not texts or name not in optional:
        return False
    tests = (node.test for node in walk(function.body) if type(node) is f.If or type(node) is f.IfExp)
    asked = {_asked_for(part, "is", "is not") for test in tests for part in walk(test)}
    return name in asked and not texts.isdisjoint(asked)


def _left_for(body: f.Body) -> Iterator[str]:
    """The names without which a function is left at its beginning, with the result of something else."""
    for s in body:
        if type(s) is f.If:
            last = s.body[-1] if s.body else None
            name = _asked_for(s.test, "is")
            if name and type(last) is f.Return and type(last.value) is f.Call:
                yield name
                yield from _left_for(s.orelse)


def _asked_for(test: object, *operators: str) -> str:
    """The `x` of `x is None`, or of `x is not None` where that is one of the operators."""
    if type(test) is not f.Compare or test.rights != (f.Const("None"),) or test.ops[0] not in operators:
        return ""
    return test.left.id if type(test.left) is f.Name else ""


# ---------------------------------------------------------------------- who chooses what comes next
def _is_chosen_together(analysis: Analysis) -> bool:
    """Whether a loader of the project goes over several others and tells all ranks which one is next: what one batch
    has, those of the other ranks have, too."""
    return any(
        method.owner is not None and not is_test(method.module.path) and _tells_which(analysis, method)
        for method in analysis.names.methods_named("__next__")
    )


def _tells_which(analysis: Analysis, method: FunctionInfo) -> bool:
    owner = method.module.classes.get(method.owner or "")
    return owner is not None and any(
        _broadcasts(m) and any(type(n) is f.Subscript and _LOADERS.search(last_name(n.base)) for n in walk(m.body))
        for m in owner.methods.values()
    )


def _broadcasts(method: FunctionInfo) -> bool:
    """Whether a method tells something to all ranks, and not to those of a group."""
    return any(
        last_name(call.func) in ("broadcast", "broadcast_object_list")
        and not any(key == "group" for key, _ in call.keywords)
        and len(call.args) < 3
        for call in method.calls
    )


_LOADERS = re.compile(r"iter|loader|dataset", re.IGNORECASE)


def _is_dealt_by_kind(analysis: Analysis) -> bool:
    """Whether a sampler of the project makes the batches of all ranks together, those of one step out of samples of one
    kind: `global_batch = batch_size * num_replicas` indices of each group in turn."""
    return any(
        not is_test(method.module.path)
        and _is_sampler(method)
        and any(map(_of_one_kind, method.module.functions.values()))
        for method in analysis.names.methods_named("__iter__")
    )


def _is_sampler(method: FunctionInfo) -> bool:
    owner = method.module.classes.get(method.owner or "")
    return owner is not None and any(last_name(base).endswith("Sampler") for base in owner.bases)


def _of_one_kind(function: FunctionInfo) -> bool:
    """Whether a function counts in global batches, and speaks of groups of samples or of their modality."""
    names: set[str] = {function.name}
    counts = False
    for node in walk(function.body):
        if type(node) is f.Name:
            names.add(node.id)
        elif type(node) is f.Attr:
            names.add(node.attr)
        elif type(node) is f.Op and node.kind == "Mult" and not counts:
            factors = {last_name(part) for part in walk(node) if type(part) is f.Name or type(part) is f.Attr}
            counts = any(map(_RANKS.search, factors)) and any("batch" in factor for factor in factors)
    counts = counts or any("global_batch" in name for name in names)
    return counts and any(map(_KINDS.search, names))


#: how many ranks share a global batch
_RANKS = re.compile(r"world_size|num_replicas|num_(processes|ranks|gpus)|dp_size")
#: what samples are of one kind in
_KINDS = re.compile(r"(?i)modalit|(^|_)in_group$|^groups?(_ind\w+)?$")
