"""Data sets that are told to be the only rank's: `Chats(source, rank=0, world_size=1)`.

A data set that deals out its samples by a rank and a number of ranks of its own deals out all of them to the rank of
which there is one. So every process has the same, in the same order, and so does who is handed batches of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import WITH_BLOCKS, blocks, statements, walk
from ferrule_lint.semantics.domain.assigned import appended_to
from ferrule_lint.semantics.domain.text import last_name, place_name, variables
from ferrule_lint.semantics.project import begun
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.walk.frame import Frame

_RANKS = frozenset("rank shard_id shard_index process_index process_id index".split())
_SIZES = frozenset("world_size num_replicas num_shards num_ranks num_processes process_count shard_count".split())
#: what a process draws that is its own, by names in a class
_OWN = frozenset("DataLoader get_rank local_rank DistributedSampler dataloader".split())
#: rounds in which names are found that are made of others
_ROUNDS = 4


def is_told_so(call: f.Call) -> bool:
    """Whether a call is given the literals: rank 0 of 1."""
    given = [(name, value.text) for name, value in call.keywords if type(value) is f.Const]
    return any(n in _RANKS and text == "0" for n, text in given) and any(n in _SIZES and t == "1" for n, t in given)


def is_walked(frame: Frame, walked: f.Expr) -> bool:
    """Whether a loop goes through batches of such a set: a list that all callers have filled with them, or what the
    instance keeps of a class that makes such sets and no loaders."""
    function = frame.function
    if function is None:
        return False
    place = _taken_of(function, walked)
    if type(walked) is f.Name and any(p.name == walked.id for p in function.parameters):
        key = (function.id, walked.id)
        return bool(frame.analysis.whole_sets.find(key, lambda: _is_handed(frame.analysis, *key, function), False))
    info = frame.self_class
    if info is None or not frame.self_name or not place.startswith(f"{frame.self_name}."):
        return False
    key = (info.id, "")
    return bool(frame.analysis.whole_sets.find(key, lambda: _makes_them(info), False))


def _taken_of(function: FunctionInfo, walked: f.Expr) -> str:
    """The place that something is taken out of: `self.sources` for `one["batches"]` of `for one in self.sources`."""
    for _ in range(_ROUNDS):
        while type(walked) is f.Subscript:
            walked = walked.base
        if type(walked) is not f.Name:
            break
        around = [
            s.iterable
            for s in statements(function.body)
            if type(s) is f.For and type(s.target) is f.Name and s.target.id == walked.id
        ]
        if len(around) != 1:
            break
        walked = around[0]
    return place_name(walked)


def _makes_them(info: ClassInfo) -> bool:
    """Whether a class makes data sets that are told so, and draws nothing of a rank's own."""
    bodies = [method.body for method in info.methods.values()]
    made = any(is_told_so(node) for body in bodies for node in walk(body) if type(node) is f.Call)
    if not made:
        return False
    named = {last_name(e) for body in bodies for e in walk(body) if isinstance(e, f.Name | f.Attr)}
    return named.isdisjoint(_OWN)


def _is_handed(analysis: Analysis, _id: str, name: str, function: FunctionInfo) -> bool:
    sites = begun.sites(analysis, function, name)
    return bool(sites) and all(
        type(given) is f.Name and given.id in analysis.bodies.once(_whole, owner.body)
        for _, owner, _, given in sites or ()
    )


class _Put(NamedTuple):
    """What a name gets: such a set, nothing, or what is made of others."""

    told: bool
    of: frozenset[str]


def _whole(body: f.Body) -> frozenset[str]:
    """The names of a body that hold such a set, or nothing but what comes of one."""
    put: dict[str, list[_Put]] = {}
    counters = {
        s.target.id
        for s in statements(body)
        if type(s) is f.For and type(s.target) is f.Name and type(s.iterable) is f.Call
        if last_name(s.iterable.func) == "range"
    }
    walked: dict[str, list[frozenset[str]]] = {}
    for s in statements(body):
        for name in variables(s.target) if type(s) is f.For else ():
            walked.setdefault(name, []).append(frozenset(variables(s.iterable)))  # type: ignore[union-attr]
    _note(put, body)
    whole = {name for name, values in put.items() if any(v.told for v in values)}
    for _ in range(_ROUNDS if whole else 0):  # whatever may come of one, by way of the others
        whole |= {name for name, through in walked.items() if any(of & whole for of in through)}
        whole |= {name for name, values in put.items() if any(v.of & whole for v in values)}
    others = walked.keys() - counters
    for _ in range(_ROUNDS if whole else 0):  # and of nothing else that loops go through
        whole -= {
            name for name, values in put.items() if any(not v.told and not _fits(v.of, whole, others) for v in values)
        }
        whole -= {name for name, through in walked.items() if not all(of & whole for of in through)}
    return frozenset(whole)


def _fits(of: frozenset[str], whole: set[str], others: set[str]) -> bool:
    return not of or (bool(of & whole) and not (of - whole) & others)


def _note(put: dict[str, list[_Put]], block: f.Body) -> None:
    """What is put into names; what is made of a name that was set further up in the same block is made of what that
    was made of."""
    here: dict[str, frozenset[str]] = {}
    for s in block:
        values: list[tuple[str, f.Expr]] = []
        if type(s) is f.Assign and s.value is not None:
            values = [(target.id, s.value) for target in s.targets if type(target) is f.Name]
        elif place := appended_to(s):
            values = [(place, a) for a in s.value.args]  # type: ignore[union-attr]
        for name, value in values:
            of = frozenset().union(*(here.get(n, frozenset([n])) for n in variables(value)))
            told = type(value) is f.Call and is_told_so(value)
            nothing = value == f.Const("None") or (type(value) is f.Sequence and not value.elements)
            put.setdefault(name, []).append(_Put(told, frozenset() if nothing else of or frozenset([""])))
            if type(s) is f.Assign and not told and of:
                here[name] = of
        for inner in blocks(s) if type(s) in WITH_BLOCKS else ():
            _note(put, inner)
