"""The end of an iterator over batches, caught by hand: `except StopIteration`, `next(batches, None)`.

It is the end of a `for` loop in other words, and is held to the same: loaders of all ranks are taken to be equally long
unless something says that they are not. What says so is the value (a share of the samples), or the text: the file, or
one that it imports something from, has a data set that every process walks for itself, or deals items out by the rank.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.control import drawing
from ferrule_lint.semantics.control.drawing import Draw
from ferrule_lint.semantics.data import iteration
from ferrule_lint.semantics.data.ordering import length_deps
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.dependences import COUNTED, ITERATED, NO_DEPS, Deps, only, recast
from ferrule_lint.semantics.domain.lattice import Divergence, rounds_of
from ferrule_lint.semantics.domain.text import last_name, position, shown, words
from ferrule_lint.semantics.project import programs
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.walk.frame import Frame

#: the end of an iterator
EXHAUSTED = frozenset({"StopIteration", "StopAsyncIteration"})
#: what a condition is called that is such an end
RUN_DRY = "except StopIteration"
_ENDS = "ends when the rank's own data does"
_OF_BATCHES = re.compile(
    r"(?i)(data|batch|sample|train|valid|val|eval|test)s?(_?(loader|iter|iterator|stream|dl|set))?s?(_\w+)?$|"
    r"(^|_)(loader|dl)(_?iter(ator)?)?$|(loader|batch|data)\w*_?iter(ator)?$|^(combined_|train_|data_)?(iter|iterator)$"
)
#: samplers that give every rank as much
_EVEN = re.compile(r"^Distributed\w*Sampler$")
#: data that every process walks for itself, and functions that deal it out
_BY_ITSELF = re.compile(r"Iter(able)?(Dataset|DataPipe)(?!Shard)|^WebDataset$|^split_(data\w*_)?by_(node|rank)$")
#: classes of data that nobody has read from anywhere
_MADE_UP = re.compile(r"_?(Random|Synthetic|Fake|Dummy|Mock)(?!Crop|Sampl|Split|Subset)\w*(Dataset|DataPipe|Data)$")
_RANK = re.compile(r"(^|_)rank$|^process_index$")
_COUNT = re.compile(r"world_?size$|^num_(replicas|processes|shards)$|^(dp|data_parallel)_(size|degree)$")
_SAMPLER = re.compile(r"(?i)sampler")


class Ending(NamedTuple):
    """Why an iterator ends on some ranks before it does on others, or the parameters that decide when it ends."""

    divergence: Divergence | None
    deps: Deps
    #: the iterator is known to be over a share that is another one on every rank
    known: bool = False


def at_handler(frame: Frame, body: f.Body, pos: f.Pos) -> Ending | None:
    """The end of an iterator over batches that a handler for it waits for."""
    function = frame.function
    for draw in drawing.draws(frame, body):
        if not _gives_batches(frame, draw):
            if draw.by_next and (passed := _as_passed(frame, draw.taken)):
                return Ending(None, passed)
            continue
        found = _ending(frame, draw.taken, position(draw.call) or pos)
        if function is not None and function.name == "__iter__":
            return None  # a loader around another one, and loaders are taken to be equally long
        return found
    return None


def ends(divergence: Divergence) -> bool:
    """Whether ranks differ in when their own data ends: until then, all have done the same."""
    return any(step.note.endswith(_ENDS) for step in divergence.why)


def of_default(frame: Frame, call: f.Call) -> Ending | None:
    """Why `next(batches, None)` has nothing to give on some ranks."""
    if len(call.args) != 2 or call.args[1] != f.Const("None"):
        return None
    if not _gives_batches(frame, Draw(call, call.args[0], last_name(call.func) == "next")):
        return Ending(None, _as_passed(frame, call.args[0]))
    if frame.function is not None and frame.function.name == "__iter__":
        return None  # as in `at_handler`
    return _ending(frame, call.args[0], call.pos)


def _ending(frame: Frame, taken: f.Expr, pos: f.Pos) -> Ending:
    value = frame.ask(taken)
    note = f"`{shown(taken)}` {_ENDS}"
    own = rounds_of(value)
    if own is not None:
        return Ending(own.then(frame.step("flow", pos, note)).at_most(Confidence.MEDIUM), NO_DEPS, True)
    least = Confidence.MEDIUM if _is_uneven(frame) else Confidence.LOW
    return Ending(frame.source(WORLD, "data", pos, note, least), recast(length_deps(value), COUNTED, ITERATED))


def _as_passed(frame: Frame, taken: f.Expr) -> Deps:
    """The parameters that decide when an iterator ends that has no name of batches: who passes one that is known to be
    uneven has a rank that comes to its end first."""
    return recast(only(length_deps(frame.ask(taken)), ITERATED, ITERATED, COUNTED), COUNTED, ITERATED)


def _gives_batches(frame: Frame, draw: Draw) -> bool:
    """Whether a call takes an item of something that by its name yields batches, or that is known to be a share."""
    taken = draw.taken
    made = iteration.definition(frame, taken) if type(taken) is f.Name else taken
    name = last_name(made.args[0] if type(made) is f.Call and made.args and last_name(made.func) == "iter" else made)
    if draw.by_next:
        by_name = _OF_BATCHES.search(last_name(taken)) or _OF_BATCHES.search(name)
        return by_name is not None or rounds_of(frame.ask(taken)) is not None
    return bool(re.search(r"(?i)iter(ator)?$", last_name(taken)))


# ---------------------------------------------------------------------- what says that ranks have uneven data
def _is_uneven(frame: Frame) -> bool:
    analysis = frame.analysis
    near = [frame.module, *programs.imported(analysis, frame.module)]
    if any(map(_is_made_up, near)):
        return False
    if any(deals_out_evenly(analysis, module) for module in near):
        return False
    if not any(is_dealt_out(analysis, module) for module in near):
        return False
    # what makes the loaders takes the data set from yet another file
    behind = (module for one in near[1:] for module in programs.imported(analysis, one))
    return not any(_has_data_of_its_own(module) and deals_out_evenly(analysis, module) for module in behind)


def _is_made_up(module: ModuleInfo) -> bool:
    """Whether a file makes its loaders for data that a class makes up (`DataLoader(RandomDataset(n))`): as much on
    every rank."""
    return module.mentions_like(_MADE_UP) and any(
        last_name(call.func) == "DataLoader"
        and any(type(a) is f.Call and _MADE_UP.match(last_name(a.func)) for a in call.args)
        for _, calls in module.calls()
        for call in calls
    )


def deals_out_evenly(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a sampler that gives every rank as much is made in a file, or a data set in it that every process walks
    for itself has a multiple of the number of ranks."""
    return analysis.even.find(module.path, lambda: _deals_out_evenly(module), False)


def _deals_out_evenly(module: ModuleInfo) -> bool:
    own = _has_data_of_its_own(module) and module.mentions_like(_COUNT)
    if own and any(_is_cut_to_ranks(node) for _, body in module.bodies() for node in walk(body)):
        return True
    if not module.mentions_like(_EVEN):
        return False
    return any(_EVEN.search(last_name(call.func)) for _, calls in module.calls() for call in calls)


def _has_data_of_its_own(module: ModuleInfo) -> bool:
    return any(map(_BY_ITSELF.search, module.bases))


def _is_cut_to_ranks(node: object) -> bool:
    """`n // world_size * world_size`, `n - n % world_size`"""
    if type(node) is not f.Op or node.kind not in ("Mult", "Sub"):
        return False
    divides = "FloorDiv" if node.kind == "Mult" else "Mod"
    divided = [o for o in node.operands if type(o) is f.Op and o.kind == divides and _speaks(o.operands[-1], _COUNT)]
    if node.kind == "Sub":
        return bool(divided) and divided[-1] is node.operands[-1]
    return any(_speaks(other, _COUNT) for one in divided for other in node.operands if other is not one)


def is_dealt_out(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file has data that each process walks for itself, or deals items out by the rank."""
    return analysis.uneven.find(module.path, lambda: _is_dealt_out(module), False)


def _is_dealt_out(module: ModuleInfo) -> bool:

    def says(pattern: re.Pattern[str]) -> bool:
        return module.mentions_like(pattern) or any(map(pattern.search, module.bases))

    if says(_BY_ITSELF):
        return True
    if not says(_RANK) or not says(_COUNT):
        return False
    return any(
        _is_picked(node) or (_is_slice(node) and not _is_of_sampler(function))
        for function in module.functions.values()
        for node in walk(function.body)
    )


def _is_of_sampler(function: FunctionInfo) -> bool:
    """Samplers know their rank to make the shares even: what they slice they have filled up before."""
    return _SAMPLER.search(function.qualname) is not None


def _is_slice(node: object) -> bool:
    """`items[rank::world_size]`, `range(rank, n, world_size)`"""
    if type(node) is f.Call and last_name(node.func) in ("range", "islice") and len(node.args) > 2:
        return _speaks(node.args[-1], _COUNT) and any(_speaks(a, _RANK) for a in node.args[:-1])
    if type(node) is not f.Subscript or type(node.index) is not f.Op or node.index.kind != "Slice":
        return False
    lower, upper, step = node.index.operands
    return upper == f.Const("None") and _speaks(lower, _RANK) and _speaks(step, _COUNT)


def _is_picked(node: object) -> bool:
    """`i % world_size == rank`"""
    if type(node) is f.Compare and node.ops in (("==",), ("!=",)):
        return any(
            type(one) is f.Op and one.kind == "Mod" and _speaks(one.operands[1], _COUNT) and _speaks(other, _RANK)
            for one, other in ((node.left, node.rights[0]), (node.rights[0], node.left))
        )
    return False


def _speaks(expr: f.Expr, of: re.Pattern[str]) -> bool:
    return any(of.search(word) for word in words(expr))
