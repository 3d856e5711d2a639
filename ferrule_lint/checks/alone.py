"""Process groups of one process: `init_process_group("nccl", rank=0, world_size=1)`.

A probe, a benchmark or a converter starts the library alone, because what it tries out communicates. Whatever differs
in it does so between no ranks. That goes for the functions in the one that starts it, too, and where a helper of the
project is told the size. Where a program starts none at all, checkpoints are read and written by whoever runs it
(`torch.distributed.checkpoint` asks whether there is a process group); and what a file of the project issues where
there is such a group, nobody does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ferrule_lint.checks.places import calls_at
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import WITH_BLOCKS, nodes, under_tests
from ferrule_lint.findings import Finding, Step
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.programs import never_starts_group, starts_no_group

_INIT = "init_process_group"
_SIZE = "world_size"
_ONE = f.Const("1")
_OF_CHECKPOINTS = frozenset({"checkpoint.load", "checkpoint.save"})
#: what is found in a file as it stands concerns any number of processes
_OF_TEXTS = ("FER0",)


def without_those_alone(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings without those in functions that start torch.distributed as its only process."""
    return [finding for finding in findings if finding.code.startswith(_OF_TEXTS) or not _is_alone(analysis, finding)]


def _is_alone(analysis: Analysis, finding: Finding) -> bool:
    module = analysis.names.modules.get(finding.path)
    if module is None:
        return False
    if finding.events and all(event.op in _OF_CHECKPOINTS for event in finding.events):
        return starts_no_group(analysis, module)
    if _asks_for_group(analysis, finding) and never_starts_group(analysis, module):
        return True
    inner = next((own for own in module.functions.values() if finding.function in (own.qualname, own.display)), None)
    if inner is None:
        return False
    around = list(_outwards(module, inner))
    sizes = [_size(analysis, module, c) for o in around for c in nodes(o.body, f.Call) if _INIT in last_name(c.func)]
    # one that is made where there is no other (`if not is_initialized(): ...`) says nothing of the rest
    always = any(type(s) is f.ExprStmt and _is_start(s.value) for o in around for s in o.body)
    return always and all(size == _ONE for size in sizes)


def _asks_for_group(analysis: Analysis, finding: Finding) -> bool:
    """Whether what issues each event of a finding, in another file, asks first if there is a process group, itself
    or by a function beside it: `if is_distributed(): dist.all_reduce(seed)`."""
    steps = [s for s in finding.witness if s.role == "event"]
    if not steps or any(s.path == finding.path for s in steps):
        return False
    for step in steps:
        around = [function for function, _ in calls_at(analysis, step.path, step.line, step.column)]
        if not around or not all(
            function is not None and _is_behind_test(analysis, function, step) for function in around
        ):
            return False
    return True


def _is_behind_test(analysis: Analysis, function: FunctionInfo, step: Step) -> bool:
    for s, tests in under_tests(function.body):
        if type(s) in WITH_BLOCKS or not any(c.pos[:2] == (step.line, step.column) for c in nodes((s,), f.Call)):
            continue
        if any(_asks(analysis, function.module, test) for test in tests):
            return True
    return False


def _asks(analysis: Analysis, module: ModuleInfo, test: f.Expr) -> bool:
    """Whether a test, or a function of the project that it calls, asks for a process group."""
    for call in nodes((test,), f.Call):
        if analysis.models.convention("initialized", last_name(call.func)) is not None:
            return True
        asked = analysis.names.resolve(call.func, module)
        if isinstance(asked, FunctionInfo) and any(
            analysis.models.convention("initialized", last_name(inner.func)) is not None for inner in asked.calls
        ):
            return True
    return False


def _is_start(expr: f.Expr) -> bool:
    return type(expr) is f.Call and _INIT in last_name(expr.func)


def _outwards(module: ModuleInfo, function: FunctionInfo) -> Iterator[FunctionInfo]:
    """A function, and those that it is written in."""
    known: FunctionInfo | None = function
    while known is not None:
        yield known
        known = module.functions.get(known.parent or "")


def _size(analysis: Analysis, module: ModuleInfo, call: f.Call) -> f.Expr | None:
    """The number of processes that a call starts torch.distributed with, if it is told."""
    if (size := dict(call.keywords).get(_SIZE)) is not None or last_name(call.func) == _INIT:
        return size
    helper = analysis.names.resolve(call.func, module)
    if type(helper) is not FunctionInfo:
        return None
    place = next((i for i, p in enumerate(helper.parameters) if p.name == _SIZE), len(call.args))
    return call.args[place] if place < len(call.args) else None
