"""Pad before a gather, cut back after: tensors of different sizes are gathered through the largest of them.

`all_gather(out, x)` into a list gets, in the same list, each rank's tensor in its own size; nothing is offered where
such a list cannot be read: `torch.stack(out)`, `sum(out)`. What `all_gather_into_tensor(out, x)` fills becomes a new
tensor, whose length is the sum of all. So does what `accelerator.gather(x)` hands back where padding would count, as in
a mean. What reads a result of another size has to be looked at by somebody.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.forms.pad_across_processes import counts_all, is_of_accelerate, uneven_in_rows
from ferrule_lint.fixes.helpers import GATHER_UNEVEN
from ferrule_lint.fixes.names import below, local_names, parameters, reads
from ferrule_lint.fixes.site import Site, callee

FORM = "gather-uneven"
_INTO = ("all_gather_into_tensor", "_all_gather_base")
_CUT_BACK = "the tensors are padded to the largest before they are gathered, and cut back after"
#: make one of several tensors, or numbers, of one size
_OF_ONE_SIZE = frozenset("stack dstack column_stack sum tensor as_tensor array asarray".split())
#: one behind the other, in the first dimension if no other is asked for
_JOINS = frozenset({"cat", "concat", "concatenate"})
#: methods whose result is of another size than what they are called on
_MAKES_NUMBER = frozenset("sum mean max min amax amin prod std var median norm numel size item any all".split())


def propose(site: Site) -> Fix | None:
    """The call of the gather, replaced by one of a helper that exchanges the sizes."""
    tree, call = site.tree, site.call
    if callee(call) not in ("all_gather", *_INTO):
        return None
    line = tree.statement(call)
    if not (
        isinstance(line, cst.SimpleStatementLine)
        and len(line.body) == 1
        and isinstance(line.body[0], cst.Expr)
        and line.body[0].value is call
    ):
        return None
    arguments = _arguments(call)
    if arguments is None or not site.library(call):
        return None
    target, value, group = arguments
    if not isinstance(target, cst.Name) or not _own(site, target.value, call):
        return None
    if callee(call) == "all_gather" and _wants_one_size(site, target.value):
        return None
    helper = site.module.helper("_all_gather_uneven", GATHER_UNEVEN)
    if helper is None:
        return None
    name, edits = helper
    passed = tree.text(value) + (f", group={tree.text(group)}" if group is not None else "")
    if callee(call) == "all_gather":
        new = f"{target.value}[:] = {name}({passed})"
        message = f"{_CUT_BACK}; assumes that what reads the list takes tensors of different sizes"
    else:
        torch = site.module.spelled("torch") or "torch"
        new = f"{target.value} = {torch}.cat({name}({passed}))"
        message = f"{_CUT_BACK}; the result is as long as all of them together"
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, Edit(tree.span(call), new))))


def propose_for_accelerate(site: Site) -> Fix | None:
    """`accelerator.gather(x)` of which a mean or the like is taken, so that nothing may stand between the tensors."""
    tree, call = site.tree, site.call
    if callee(call) != "gather" or len(call.args) != 1 or call.args[0].star or call.args[0].keyword is not None:
        return None
    if not is_of_accelerate(tree, call) or not counts_all(site, call) or not uneven_in_rows(site):
        return None
    value = call.args[0].value
    helper = site.module.helper("_all_gather_uneven", GATHER_UNEVEN)
    if isinstance(value, cst.Tuple | cst.List | cst.Dict) or helper is None:
        return None
    name, edits = helper
    new = f"{site.module.spelled('torch') or 'torch'}.cat({name}({tree.text(value)}))"
    message = f"{_CUT_BACK}; assumes that they differ in their first dimension alone"
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, Edit(tree.span(call), new))))


def _arguments(call: cst.Call) -> tuple[cst.BaseExpression, cst.BaseExpression, cst.BaseExpression | None] | None:
    """(output, input, group) of a gather; None if it is asynchronous, or passes anything else."""
    names = {0: "output", 1: "input", 2: "group"}
    found: dict[str, cst.BaseExpression] = {}
    for index, arg in enumerate(call.args):
        if arg.star:
            return None
        keyword = names.get(index, "?") if arg.keyword is None else arg.keyword.value
        found[
            {"tensor_list": "output", "output_tensor": "output", "tensor": "input", "input_tensor": "input"}.get(
                keyword, keyword
            )
        ] = arg.value
    if not {"output", "input"} <= set(found) <= {"output", "input", "group"}:
        return None
    return found["output"], found["input"], found.get("group")


def _wants_one_size(site: Site, name: str) -> bool:
    """Whether the function makes one tensor of the list `name` in a way that fails if its tensors differ in size."""
    for node in below(site.function.body, functions=True):
        if not isinstance(node, cst.Call) or not node.args or not _lists(node.args[0].value, name):
            continue
        if callee(node) in _OF_ONE_SIZE:
            return True
        if callee(node) in _JOINS and not uneven_in_rows(site) and _dimension(node) == "0":
            return True
    return False


def _lists(value: cst.BaseExpression, name: str) -> bool:
    """Whether a value is the list `name`, or has an item of the same size for each of its items."""
    if isinstance(value, cst.Name):
        return value.value == name
    if not isinstance(value, cst.ListComp | cst.GeneratorExp) or not _lists(value.for_in.iter, name):
        return False
    item = value.elt
    while isinstance(item, cst.Call) and isinstance(item.func, cst.Attribute) and callee(item) not in _MAKES_NUMBER:
        item = item.func.value
    target = value.for_in.target
    return isinstance(item, cst.Name) and isinstance(target, cst.Name) and item.value == target.value


def _dimension(call: cst.Call) -> str:
    """In which dimension tensors are joined, as it is written."""
    named = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value in ("dim", "axis")]
    given = [*named, *(arg.value for arg in call.args[1:2] if arg.keyword is None)]
    return cst.Module([]).code_for_node(given[0]) if given else "0"


def _own(site: Site, name: str, call: cst.Call) -> bool:
    """Whether `name` is a local buffer: nobody else holds what is to be put in its place."""
    if name not in local_names(site.function) - parameters(site.function):
        return False
    for node in site.tree.walk(site.function.body):
        if isinstance(node, cst.Assign) and name in reads(node.value) and isinstance(node.value, cst.Name):
            return False  # another name for it
        if isinstance(node, cst.Global | cst.Nonlocal) and any(item.name.value == name for item in node.names):
            return False
    return site.sure(site.tree.statement(call) or call, {name})
