"""Functions that communicate only if what they are given is in parts: `if isinstance(model, FSDP): barrier()`.

A helper that saves any model gathers a sharded one and writes any other as it is. A program that calls it on one rank
alone is wrong about the first kind and right about the second; one that never speaks of shards has the second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements, under_tests, walk
from ferrule_lint.semantics.domain.text import (
    called_name,
    instance_test,
    last_name,
    place_name,
    position,
    render,
    variables,
    words,
)
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Trace, ends, every_term, parts
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.domain.summary import Summary
    from ferrule_lint.semantics.project.entities import ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: classes of what is in parts
_IN_PARTS = re.compile(r"FSDP(Module)?|FullyShardedDataParallel|D(istributed)?Tensor|Shard(ed)?Tensor")
#: functions that tell what is
_TELLS = re.compile(
    r"_?(is|has|uses?)_(a_)?(fsdp\d?|dtensors?|sharded|(deepspeed_)?zero3)(_(model|module|tensor|param|wrapped|enabled))?"
    r"|zero_optimization_partition_weights"
)
#: who speaks of these may have something in parts
_SPEAKS = re.compile(
    r"DTensor|(?i:fsdp|fully_?shard|(?<![a-z])d_?tensor|shard_?tensor|distribute_|deep_?speed|parallelize_|device_?mesh)"
)
#: the stage of ZeRO, of which the last keeps a part of each parameter on each rank
_STAGE = re.compile(r"zero\w*\W{0,6}stage", re.IGNORECASE)
_OF_LAST_STAGE = {
    ("==", "3"): True, (">=", "3"): True, (">", "2"): True, ("!=", "3"): False, ("<", "3"): False, ("<=", "2"): False,
}  # fmt: skip
#: attributes that nothing else has than what is in parts: DTensors, parameters under the last stage of ZeRO
_ITS_OWN = frozenset("full_tensor to_local redistribute _local_tensor ds_id ds_status ds_tensor".split())
_DEEPEST = 4
_FALSE, _TEXT = f.Const("False"), ("'DTensor'", '"DTensor"')


def speaks_of_parts(module: ModuleInfo) -> bool:
    """Whether a file says anything of modules or tensors in parts."""
    imported = (dotted for dotted, _ in module.imports.values())
    return module.mentions_like(_SPEAKS) or any(map(_SPEAKS.search, imported))


def only_for_sharded(analysis: Analysis, summary: Summary, depth: int = 0) -> bool:
    """Whether all that a function issues stands under a test whether something is in parts."""
    function = summary.function
    if function is None or depth > _DEEPEST:
        return False
    asked = dict(_tests(analysis, function))
    return _covered(analysis, summary.trace, asked, depth) is not None


def has_left(frame: Frame) -> bool:
    """Whether who has something in parts has left the function before this line: `if is_fsdp(): ...; return`."""
    function = frame.function
    if function is None:
        return False
    leaving = frame.analysis.bodies.once(_leaving, function.body)
    return any(line < frame.line and asks(frame.analysis, function, test) is True for line, test in leaving)


def _leaving(body: f.Body) -> list[tuple[int, f.Expr]]:
    """The tests whose arm ends with a `return`, with their lines."""
    tests = [s for s in statements(body) if type(s) is f.If and not s.orelse and s.body]
    return [(s.line, s.test) for s in tests if type(s.body[-1]) is f.Return]


def rules_out(frame: Frame) -> bool:
    """Whether the tests around this line, in whose arms it stands, say that nothing is in parts: the `else` of
    `if is_zero3_enabled(): ...`."""
    function = frame.function
    if function is None:
        return False
    here = frame.analysis.bodies.once(_tests_by_line, function.body).get(frame.line, ())
    return any(_holds_for_others(frame.analysis, function, test) for test in here)


def _tests_by_line(body: f.Body) -> dict[int, tuple[f.Expr, ...]]:
    """The tests that hold at a line, of the last statement that begins there."""
    return {s.line: tests for s, tests in under_tests(body)}


def _holds_for_others(analysis: Analysis, function: FunctionInfo, test: f.Expr) -> bool:
    """Whether a test holds only where nothing is in parts."""
    if type(test) is f.BoolOp:
        return test.op == "and" and any(_holds_for_others(analysis, function, value) for value in test.values)
    if type(test) is f.Not and type(test.operand) is f.BoolOp:
        inner = test.operand
        return inner.op == "or" and any(_holds_for_others(analysis, function, f.Not(v)) for v in inner.values)
    return asks(analysis, function, test) is False


def _covered(analysis: Analysis, trace: Trace, asked: dict[f.Pos, bool], depth: int) -> bool | None:
    """None: something is issued by those who have nothing in parts; else whether these have left at the end."""
    for term in trace:
        if type(term) is Event:
            return None
        if type(term) is CallTerm:
            if term.summary.events and not only_for_sharded(analysis, term.summary, depth + 1):
                return None
        elif type(term) is Choice and term.pos in asked:
            without = term.orelse if asked[term.pos] else term.body
            left = _covered(analysis, without, asked, depth)
            if left is None or left or ends(without):
                return left if left is None else True
        elif type(term) is Choice:
            for arm in (term.body, term.orelse):
                if _covered(analysis, arm, asked, depth) is None:
                    return None
        elif _covered(analysis, parts(term), asked, depth) is None:
            return None
    return False


def _tests(analysis: Analysis, function: FunctionInfo) -> Iterator[tuple[f.Pos, bool]]:
    """The tests of a function that ask it, by their places, and whether they are true of what is in parts."""
    for test in _asked_in(function):
        pos = position(test)
        answer = asks(analysis, function, test) if pos is not None else None
        if pos is not None and answer is not None:
            yield pos, answer


def _asked_in(function: FunctionInfo) -> Iterator[f.Expr]:
    """The tests of a function: of `if`s, and of conditional expressions."""
    yield from (s.test for s in statements(function.body) if type(s) is f.If)
    yield from (node.test for node in nodes(function.body, f.IfExp))


def asked_of(analysis: Analysis, summary: Summary) -> frozenset[str]:
    """The parameters of a function that such tests of its own ask about, by way of what it makes of them; none, if
    functions that it calls ask as well."""
    function = summary.function
    if function is None or any(type(t) is CallTerm and t.summary.events for t in every_term(summary.trace)):
        return frozenset()
    names = {name for t in _asked_in(function) if asks(analysis, function, t) is not None for name in variables(t)}
    made = [(variables(target), variables(source)) for target, source in _made_of(function)]
    while more := {n for targets, sources in made if targets & names for n in sources} - names:
        names |= more
    return frozenset(p.name for p in function.parameters if p.name in names)


def _made_of(function: FunctionInfo) -> Iterator[tuple[object, f.Expr]]:
    """What a function binds, in statements and comprehensions, with what it is made or taken of."""
    for s in statements(function.body):
        if type(s) is f.Assign and s.value is not None:
            yield s.targets, s.value
        elif type(s) is f.For:
            yield s.target, s.iterable
    for node in nodes(function.body, f.Comprehension):
        yield from ((generator.target, generator.iterable) for generator in node.generators)


def asks(analysis: Analysis, function: FunctionInfo, test: f.Expr, deep: bool = True) -> bool | None:
    """Whether a test is true of what is in parts (True), or of anything else (False); None: it asks something else."""
    if type(test) is f.Not:
        inner = asks(analysis, function, test.operand, deep)
        return None if inner is None else not inner
    if type(test) is f.BoolOp:
        wanted = test.op == "and"  # `a and sharded` is false of what is not, `a or not sharded` true
        found = any(asks(analysis, function, value, deep) is wanted for value in test.values)
        return wanted if found else None
    if type(test) is f.Compare and len(test.ops) == 1 and _STAGE.search(render(test.left)) is not None:
        return _OF_LAST_STAGE.get((test.ops[0], render(test.rights[0])))
    if type(test) is f.Compare and test.ops == ("==",):
        return True if any(type(x) is f.Const and x.text in _TEXT for x in test.rights) else None
    if type(test) is f.Name and deep:
        made = [v for s in statements(function.body) if (v := _assigned(s, test.id)) is not None and v != _FALSE]
        return True if made and all(asks(analysis, function, v, deep=False) for v in made) else None
    return _of_call(analysis, function, test, deep) if type(test) is f.Call else None


def _of_call(analysis: Analysis, function: FunctionInfo, test: f.Call, deep: bool) -> bool | None:
    name = called_name(test)
    if (asked := instance_test(test)) is not None:
        return True if all(_IN_PARTS.fullmatch(last_name(c)) for c in asked[1]) else None
    if name in ("any", "all") and len(test.args) == 1 and type(test.args[0]) is f.Comprehension:
        elements = test.args[0].elements
        return True if elements and asks(analysis, function, elements[0], deep) else None
    if _TELLS.fullmatch(name):
        return True
    if name == "hasattr" and len(test.args) == 2 and type(test.args[1]) is f.Const:
        return True if test.args[1].text.strip("'\"") in _ITS_OWN else None
    told = analysis.names.resolve(test.func, function.module)
    if type(told) is not FunctionInfo or told is function or not _IN_PARTS_SOMEWHERE.intersection(words(told.body)):
        return None
    returned = [s.value for s in statements(told.body) if type(s) is f.Return and s.value is not None]
    return True if any(asks(analysis, told, value, deep=False) for value in returned) else None


def asked_of_attribute(owner: ClassInfo, place: str) -> bool:
    """Whether methods of a class ask if an attribute of its instances, `self.model`, is a module in parts."""
    methods = owner.methods.values() if place.count(".") == 1 and owner.module.mentions_any(_IN_PARTS_SOMEWHERE) else ()
    return any(
        type(node) is f.Call
        and last_name(node.func) == "isinstance"
        and len(node.args) == 2
        and place_name(node.args[0]) == place
        and _MODULES.search(render(node.args[1])) is not None
        for method in methods
        for node in walk(method.body)
    )


_MODULES = re.compile(r"\b(FSDP(Module)?|FullyShardedDataParallel)\b")
_IN_PARTS_SOMEWHERE = frozenset({"FSDP", "FSDPModule", "FullyShardedDataParallel", "DTensor", "ShardTensor"})


def _assigned(s: object, name: str) -> f.Expr | None:
    if type(s) is not f.Assign or s.value is None:
        return None
    return s.value if any(type(t) is f.Name and t.id == name for t in s.targets) else None
