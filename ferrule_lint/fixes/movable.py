"""What may run on every rank that ran on one, and what may run before what stood above it."""

from __future__ import annotations

import itertools
import re

import libcst as cst

from ferrule_lint.findings import EventSite
from ferrule_lint.fixes.definitions import definitions
from ferrule_lint.fixes.flags import resolved
from ferrule_lint.fixes.site import Site, callee
from ferrule_lint.fixes.tree import Tree

_MAIN = re.compile(r"is_\w*(main|master|root|zero|rank_?0)|main_process$|rank_zero$", re.IGNORECASE)
_FIRST = re.compile(
    r"\brank\w*(\(\w*\))? == 0|_rank\(\) == 0|\bis_(global_)?(main|master|rank_?0|rank_zero|root)|\bis_global_zero"
)
_RANK = re.compile(r"rank|process_index|\bpid\b")
_MAKES = frozenset(
    "join len int float str dict list format sorted tensor as_tensor zeros ones full empty zeros_like ones_like".split()
)
_STAGE = re.compile(r"stage|pp_|pipeline", re.IGNORECASE)
#: hidden ones that their libraries ask every rank to call
_FOR_ALL = frozenset(
    (
        "barrier",
        "checkpoint",
        "checkpoint.load",
        "checkpoint.save",
        "load_checkpoint",
        "load_state",
        "save_checkpoint",
        "save_state",
    )
)
#: a function whose name has one of these does more than return something
_WRITES = frozenset(
    (
        "save",
        "write",
        "dump",
        "export",
        "upload",
        "push",
        "log",
        "print",
        "plot",
        "report",
        "main",
        "worker",
        "run",
        "init",
    )
)
_OUTPUT = frozenset(
    ("print", "info", "warning", "warn", "debug", "error", "log", "write", "flush", "makedirs", "mkdir")
)


def one_rank(tree: Tree, test: cst.BaseExpression, *, local: bool = False) -> bool:
    """Whether a test is one of being the first, or the main, process: what it guards is work for one, not for some.

    The first of each host counts if `local` is set.
    """
    test = test if _MAIN.search(tree.text(test)) else resolved(tree, test)
    if "local" in tree.text(test) and not local:
        return False
    if isinstance(test, cst.Comparison):
        return _with_zero(test, cst.Equal)
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return tree.text(test.expression).endswith("rank")
    return _MAIN.search(tree.text(test)) is not None and not _STAGE.search(tree.text(test))


def another_rank(tree: Tree, test: cst.BaseExpression) -> bool:
    """Whether a test is one of not being the first, or the main, process: `rank != 0`, `not is_main`."""
    test = resolved(tree, test)
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return one_rank(tree, test.expression)
    if "local" in tree.text(test) or not _RANK.search(tree.text(test)):
        return False
    return isinstance(test, cst.Comparison) and _with_zero(test, cst.NotEqual, cst.GreaterThan)


def _with_zero(test: cst.Comparison, *operators: type[cst.BaseCompOp]) -> bool:
    only = test.comparisons[0]
    zero = isinstance(only.comparator, cst.Integer) and only.comparator.evaluated_value == 0
    plain = isinstance(test.left, cst.Name | cst.Attribute | cst.Call)
    return plain and len(test.comparisons) == 1 and isinstance(only.operator, operators) and zero


def may_move(site: Site, event: EventSite, call: cst.Call) -> bool:
    """Whether all ranks can do what one does: what hides its collective may do more than issue it.

    A function of the project is taken for one that may run everywhere only if it is called for its result, or if it
    tests the rank itself before it writes.
    """
    if event.through:
        line = site.tree.statement(call)
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        if isinstance(small, cst.Expr) and small.value is call:
            return guards_itself(site, call)
        wanted = isinstance(small, cst.Assign) and small.value is call and event.op != "forward"
        return wanted and not any(part in _WRITES for part in callee(call).lower().strip("_").split("_"))
    if not event.hidden:
        return True
    if event.op == "forward":
        return no_backward(site, call)
    return "state_dict" in event.op or event.op in _FOR_ALL or callee(call) in ("full_tensor", "redistribute")


def guards_itself(site: Site, call: cst.Call) -> bool:
    """Whether the function that is called tests for the first rank: it was written for all ranks to call."""
    steps = site.finding.witness
    place = site.tree.span(call)
    for step, inner in itertools.pairwise(steps):
        if step.role == "call" and (step.line, step.column) == (place.line, place.column):
            found = list(definitions(site.read, inner.path, callee(call)))
            return len(found) == 1 and _FIRST.search(cst.Module([]).code_for_node(found[0].body)) is not None
    return False


def without_gradients(tree: Tree, line: cst.CSTNode) -> cst.With | None:
    """The `with torch.no_grad():` whose block `line` stands in."""
    block = tree.parent(line)
    around = None if block is None else tree.parent(block)
    if isinstance(around, cst.With) and len(around.items) == 1 and around.items[0].asname is None:
        call = around.items[0].item
        if isinstance(call, cst.Call) and not call.args and callee(call) in ("no_grad", "inference_mode"):
            return around
    return None


def no_backward(site: Site, call: cst.Call) -> bool:
    """Whether no gradient is recorded where a call stands, so that there is no backward that some ranks would lack."""
    if any(without_gradients(site.tree, one) is not None for one in (call, *site.tree.around(call))):
        return True
    marks = [site.tree.text(one.decorator) for one in site.function.decorators]
    return any("no_grad" in mark or "inference_mode" in mark for mark in marks)


def is_output(statement: cst.BaseStatement) -> bool:
    """Whether a statement only prints, logs, or makes a folder."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    return all(
        isinstance(small, cst.Expr)
        and (
            isinstance(small.value, cst.SimpleString)
            or (isinstance(small.value, cst.Call) and callee(small.value) in _OUTPUT)
        )
        for small in statement.body
    )


def is_plain(tree: Tree, statement: cst.BaseStatement) -> bool:
    """Whether a statement assigns local names something that costs and does nothing."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    small = statement.body[0]
    if not isinstance(small, cst.Assign) or any(not isinstance(one.target, cst.Name) for one in small.targets):
        return False
    return all(makes_only(node) for node in tree.walk(small.value) if isinstance(node, cst.Call)) and not any(
        isinstance(node, cst.Await | cst.Yield | cst.NamedExpr) for node in tree.walk(small.value)
    )


def makes_only(call: cst.Call) -> bool:
    """A call of a class by the convention of its name, or one that computes a number, a text or a small tensor."""
    name = callee(call)
    return (name[:1].isupper() and not name.isupper()) or name in _MAKES
