"""Variables that by their names hold the rank: `rank, world_size = setup()`, `is_master = ...`.

Asked where nothing is known of what they are assigned. `rank` alone also stands for other things (of a matrix, of an
adapter), so there what it is assigned from has to speak of processes too. Loop variables go over all ranks. What a
parameter's name says gives way to what is passed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import UNKNOWN_GROUP, WORLD
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, render
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, by_id
from ferrule_lint.semantics.sources import first_rank

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_BARE = re.compile(r"_?rank", re.IGNORECASE)
_OF_PROCESSES = re.compile(r"rank|dist|setup|world|slurm|mpi(_|$)|process|(^|_)init|(^|_)ddp", re.IGNORECASE)
_OF_MATRICES = re.compile(r"matrix|lora|tensor_rank|adapter", re.IGNORECASE)
#: what has a rank of its own: a low-rank adapter, a factorization
_FACTORED = re.compile(r"lora|(^|_)(adapter|peft|svd|pca|cp_decomp|low_?rank|powersgd|factor)", re.IGNORECASE)


def of_target(frame: Frame, target: f.Expr, source: f.Expr, value: Value) -> Value:
    """What a name is bound to: the rank, if its name says so and nothing else is known of the value."""
    if type(target) is not f.Name or type(source) is not f.Call or not _is_unknown(value):
        return value
    axes = frame.models.convention("rank", target.id)
    if axes is None:
        return value
    callee = last_name(source.func)
    speaks = _OF_PROCESSES.search(callee) is not None and not _OF_MATRICES.search(callee)
    if not speaks and (value.uniform or _BARE.fullmatch(target.id)):
        return value
    if value.uniform and _is_of_project(frame, source.func):
        return value
    note = f"`{target.id}` is a rank, by its name"
    divergence = frame.source(frozenset(axes) or WORLD, "rank", target.pos, note, Confidence.MEDIUM)
    return first_rank.named(Value(divergence=divergence), target.id)


def is_of_matrix(e: f.Attr) -> bool:
    """Whether an attribute is the rank of a low-rank adapter or the like, and none of a process: `config.lora.rank`."""
    return _BARE.fullmatch(e.attr) is not None and _FACTORED.search(last_name(e.base)) is not None


def is_a_size(frame: Frame, e: f.Attr) -> bool:
    """Whether an attribute is the rank of a matrix by its class: one that is named so (`PowerSGD`), begins it with a
    number of several (`rank: int = 8`), or makes a tensor or layer of that size (`nn.Linear(n, self.rank)`)."""
    if _BARE.fullmatch(e.attr) is None:
        return False
    of_instance = frame.self_class is not None and render(e.base) == frame.self_name
    owners = [frame.self_class] if of_instance else by_id(frame.ask(e.base).types)
    return any(_has_matrices(frame, info, e.attr) for info in owners if info is not None)


def is_no_place(frame: Frame, e: f.Attr, divergence: Divergence) -> bool:
    """Whether what an attribute holds is a place by a name alone, and its class says that it is a size."""
    by_name = divergence.kind == "rank" and divergence.confidence < Confidence.HIGH
    return by_name and is_a_size(frame, e)


def sizes_parameter(frame: Frame, name: str) -> bool:
    """The same of a parameter: of a method of such a class, or of a function that makes such a tensor or layer."""
    if _BARE.fullmatch(name) is None or frame.function is None:
        return False
    owner = frame.function.module.classes.get(frame.function.owner or "")
    within = name in frame.analysis.bodies.once(_sizes, frame.function.body)
    return within or (owner is not None and _has_matrices(frame, owner, name))


def _has_matrices(frame: Frame, info: ClassInfo, name: str) -> bool:
    statement = info.attributes.get(name)
    begun = statement.value if statement is not None else None
    if type(begun) is f.Call:
        begun = next((value for key, value in begun.keywords if key == "default"), None)
    if type(begun) is f.Const and begun.text.isdigit() and int(begun.text) > 1:
        return True
    if _FACTORED.search(info.name) or _FACTORED.search(_WORDS.sub("_", info.name).lower()):
        return True
    return any(name in frame.analysis.bodies.once(_sizes, method.body) for method in info.methods.values())


_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
#: what makes tensors, and layers with weights, of the sizes that it is told
_SIZED = frozenset("Linear Conv1d Conv2d Embedding empty zeros randn new_zeros new_empty".split())


def _sizes(body: f.Body) -> frozenset[str]:
    """The last names of what is passed as a size: `nn.Linear(n, rank)`, `torch.zeros(self.rank, n)`."""
    made = [call for call in nodes(body, f.Call) if last_name(call.func) in _SIZED]
    given = [e for call in made for e in (*call.args, *(value for key, value in call.keywords if key != "device"))]
    return frozenset(map(last_name, given))


def is_of_tensor(e: f.Attr) -> bool:
    """Whether an attribute is the rank that a tensor is noted with, which owns it: `weight.rank_id`."""
    return _TENSOR.fullmatch(last_name(e.base)) is not None


_TENSOR = re.compile(r"(\w+_)?(weight|bias|param|parameter|grad|buffer|tensor)|p")


def of_parameter(name: str) -> str:
    """What is noted of a parameter that its name says is a rank."""
    return f"parameter `{name}` is a rank"


_OF_PARAMETER = re.compile(of_parameter(r"\w+"))


def of_one_group(a: Value, b: Value) -> tuple[Value, Value]:
    """Two values that a place holds by turns, or that a rank is asked with: one that only the name of a parameter says
    to be a rank, of all ranks then, is counted where the other is (`if rank is None: rank = stage()`)."""
    return _counted_with(a, b), _counted_with(b, a)


def _counted_with(named: Value, other: Value) -> Value:
    own, known = named.divergence, other.divergence
    if own is None or known is None or known.kind != "rank" or not known.axes.isdisjoint(WORLD | UNKNOWN_GROUP):
        return named
    if own.kind != "rank" or own.axes != WORLD or not own.why or _OF_PARAMETER.fullmatch(own.why[0].note) is None:
        return named
    return named._replace(divergence=own._replace(axes=known.axes), rank=other.rank)


def as_passed(result: Value, function: FunctionInfo | None, bound: Mapping[str, Value]) -> Value:
    """The result of a function that differs by a parameter of such a name: what is passed tells along which axes, and
    a number that is written out is the same everywhere, as is one that counts rounds. Of a parameter that the caller
    was passed itself, its own callers are asked next."""
    if function is None or not any(getattr(result, facet) for facet in _FACETS):
        return result
    notes = {of_parameter(p.name): p.name for p in function.parameters}

    def told(known: Divergence | None) -> Divergence | None:
        first = known.why[0] if known is not None and known.kind == "rank" and known.why else None
        own = first is not None and (first.path, first.line) == (function.module.path, function.line)
        argument = bound.get(notes.get(first.note, "")) if own and first is not None else None
        if known is None or argument is None:
            return known
        passed = argument.divergence
        if passed is None:
            return None if argument.const is not None or argument.there else known
        if passed.kind == "rank" and passed.why and _OF_PARAMETER.fullmatch(passed.why[0].note):
            known = known._replace(why=(passed.why[0], *known.why[1:]))
        axes = passed.axes - UNKNOWN_GROUP  # of two ways to ask for one place, one tells of what group
        return known._replace(axes=axes) if axes and passed.kind == "rank" and axes.isdisjoint(WORLD) else known

    facets: dict[str, Any] = {facet: told(getattr(result, facet)) for facet in _FACETS}
    return result._replace(**facets)


#: what may differ by such a parameter
_FACETS = ("divergence", "data", "presence", "length", "emptiness", "shape")


def _is_unknown(value: Value) -> bool:
    known = (value.divergence, value.data, value.presence, value.const, value.items, value.group, value.external)
    return all(v is None for v in known) and not (value.types or value.module or value.agreed or value.world_size)


def _is_of_project(frame: Frame, func: f.Expr) -> bool:
    return isinstance(frame.analysis.names.resolve(func, frame.module), FunctionInfo | ClassInfo)
