"""What fails on nothing, below an exit for "there is nothing" or in a branch for "there is some": `items[0]`, say.

The test kept such code from it. Where ranks go only one way, one with nothing comes to it and would fail there, alone.
"""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.fixes.flags import flags_of
from ferrule_lint.fixes.names import below, binds, local_names, reads
from ferrule_lint.fixes.site import Site, callee

#: take one item at least, as their first argument, or make no number of none
_TAKE_ONE = frozenset(
    "max min next stack cat concat concatenate vstack hstack choice reduce pad_sequence mean std var median".split()
)
#: methods that need an item, or make no number of none
_NEED_ONE = frozenset("max min argmax argmin amax amin pop popleft popitem mean std var median quantile".split())
#: are as empty as their argument
_AS_EMPTY = frozenset("list tuple sorted iter reversed enumerate zip map filter tensor as_tensor array asarray".split())


def fails_on_nothing(site: Site, owner: cst.If) -> bool:
    """Whether something below `owner` fails where there is nothing of what its test asks for."""
    last = site.tree.span(owner).end_line
    return _fails(site, owner, [one for one in below(site.function.body) if _line(site, one) > last])


def fails_within(site: Site, owner: cst.If | cst.IfExp) -> bool:
    """Whether something in the arm that `owner` takes fails where there is nothing of what its test asks for."""
    return _fails(site, owner, list(below(owner.body)))


def _fails(site: Site, owner: cst.If | cst.IfExp, nodes: list[cst.CSTNode]) -> bool:
    empty, here = _asked_for(site, owner), set(map(id, nodes))
    for node in sorted(nodes, key=lambda one: _line(site, one)):
        if isinstance(node, cst.Assign | cst.AnnAssign) and node.value is not None and _is_empty(node.value, empty):
            empty |= binds(node)
        if _needs_one(node, empty) and not _is_asked_again(site, node, here, empty):
            return True
    return False


def _line(site: Site, node: cst.CSTNode) -> int:
    return site.tree.span(node).line


def _asked_for(site: Site, owner: cst.If | cst.IfExp) -> set[str]:
    """Local names that a test is about, with what a flag or count in it was made of: `items` of `n = len(items)`."""
    local = local_names(site.function) - {"self", "cls"}
    names = reads(owner.test) & local
    flags = flags_of(site.tree, site.function)
    return names | {name for one in names & set(flags) for name in reads(flags[one].value) & local}


def _is_empty(value: cst.BaseExpression, empty: set[str]) -> bool:
    """Whether a value has no items where `empty` have none."""
    if isinstance(value, cst.Name):
        return value.value in empty
    if isinstance(value, cst.BaseComp):
        return _is_empty(value.for_in.iter, empty)
    if isinstance(value, cst.Subscript):
        # a slice of nothing, or what a mask selects
        taken = [one.slice.value for one in value.slice if isinstance(one.slice, cst.Index)]
        sliced = not taken and _is_empty(value.value, empty)
        return sliced or any(_is_empty(one, empty) for one in taken)
    if isinstance(value, cst.Call):
        method = isinstance(value.func, cst.Attribute) and callee(value) in (
            "items",
            "values",
            "keys",
            "tolist",
            "copy",
        )
        if method and isinstance(value.func, cst.Attribute):
            return _is_empty(value.func.value, empty)
        return callee(value) in _AS_EMPTY and any(_is_empty(arg.value, empty) for arg in value.args)
    return False


def _needs_one(node: cst.CSTNode, empty: set[str]) -> bool:
    """Whether a node fails if `empty` have no items."""
    if isinstance(node, cst.Subscript):
        return _is_place(node) and _is_empty(node.value, empty)
    if not isinstance(node, cst.Call):
        return False
    if isinstance(node.func, cst.Attribute) and callee(node) in _NEED_ONE and _is_empty(node.func.value, empty):
        return True
    if callee(node) not in _TAKE_ONE or not node.args:
        return False
    spared = any(arg.keyword is not None and arg.keyword.value in ("default", "initializer") for arg in node.args)
    more = len([arg for arg in node.args if arg.keyword is None])
    if callee(node) in ("max", "min") and more > 1 and not node.args[0].star:
        return False
    first = node.args[1 if callee(node) == "reduce" and more > 1 else 0].value
    return not spared and not (callee(node) == "next" and more > 1) and _is_empty(first, empty)


def _is_place(node: cst.Subscript) -> bool:
    """Whether one item is taken by its number: `items[0]`, `items[-1]`."""
    only = node.slice[0].slice if len(node.slice) == 1 else None
    number = only.value if isinstance(only, cst.Index) else None
    if isinstance(number, cst.UnaryOperation):
        number = number.expression
    return isinstance(number, cst.Integer)


def _is_asked_again(site: Site, node: cst.CSTNode, here: set[int], empty: set[str]) -> bool:
    """Whether a node stands under another test of the same, among those looked at, or in a loop over it."""
    for one in site.tree.around(node):
        if id(one) not in here:
            return False
        if isinstance(one, cst.If | cst.IfExp) and reads(one.test) & empty:
            return True
        if isinstance(one, cst.For) and _is_empty(one.iter, empty):
            return True
        walked = one.for_in.iter if isinstance(one, cst.BaseComp) else None
        if walked is not None and _is_empty(walked, empty) and node not in list(below(walked)):
            return True
    return False


_LISTS = re.compile(r"(?i)^(typing\.)?(list|sequence|set|tuple|iterable|collection|dict|mapping)\b")


def is_empty_list(site: Site, term: cst.BaseExpression) -> bool:
    """Whether a term is `not items`, of a parameter that is said to be a list, or of what is assigned a list."""
    if not isinstance(term, cst.UnaryOperation) or not isinstance(term.operator, cst.Not):
        return False
    if not isinstance(term.expression, cst.Name):
        return False
    name, found = term.expression.value, site.function.params
    for one in (*found.posonly_params, *found.params, *found.kwonly_params):
        if one.name.value == name:
            kind = "" if one.annotation is None else _written(one.annotation.annotation)
            default = "" if one.default is None else _written(one.default)
            return "None" not in (*kind.split(), default) and _LISTS.match(kind) is not None
    flag = flags_of(site.tree, site.function).get(name)
    return flag is not None and isinstance(flag.value, cst.List | cst.ListComp | cst.Dict | cst.DictComp)


def _written(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
