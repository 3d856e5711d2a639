"""Global rank: a place in a group is converted where a rank of the whole job is wanted, and the reverse is renamed."""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.arguments import rewritten
from ferrule_lint.fixes.site import GROUP_PLACE, Site, callee, given
from ferrule_lint.fixes.tree import Tree

FORM = "global-rank"
_WANTED = re.compile(r"`(?P<given>\w+)` is a (?P<which>rank of the whole job|place in the group)")
#: where torch.distributed takes the rank, if it is not named
_RANK_PLACE = {
    "P2POp": 2,
    "broadcast": 1,
    "broadcast_object_list": 1,
    "gather": 2,
    "gather_object": 2,
    "irecv": 1,
    "isend": 1,
    "recv": 1,
    "reduce": 1,
    "scatter": 2,
    "scatter_object_list": 2,
    "send": 1,
}


#: how a witness tells that the number, or the group, is a caller's
PASSED_ON = "passed on here"


def propose(site: Site) -> Fix | None:
    """The argument that the finding speaks of."""
    tree, call = site.tree, site.call
    match = _WANTED.match(site.finding.message)
    prefix = _prefix(site)
    if match is None or prefix is None or any(arg.star for arg in call.args):
        return None
    argument = given(call, match["given"], _RANK_PLACE.get(callee(call)))
    if argument is None:
        return None
    if match["which"] == "place in the group":
        if argument.keyword is None:
            return None
        edit = Edit(tree.span(argument.keyword), match["given"].removeprefix("group_"))
        return Fix(FORM, "the rank is passed for what it is, a rank of the whole job", Safety.SAFE, (edit,))
    group = given(call, "group", GROUP_PLACE.get(callee(call)))
    if group is None or not _is_handle(group.value) or _is_own_root(site, argument.value):
        return None
    name, rank = tree.text(group.value), tree.text(argument.value)
    text, message = (
        f"{prefix}.get_global_rank({name}, {rank})",
        "the place in the group becomes a rank of the whole job",
    )
    assumed: list[str] = []
    if _may_be_none(tree, group.value):
        text = f"{text} if {name} is not None else {rank}"
    else:
        assumed.append(f"that `{name}` is given")
    if any(step.note == PASSED_ON for step in site.finding.witness):
        assumed.append("that all callers pass a place in it")
    if assumed:
        message += f"; assumes {' and '.join(assumed)}"
    whole = tree.text(argument).removesuffix(rank) + text
    return Fix(FORM, message, Safety.UNSAFE, rewritten(tree, call, {call.args.index(argument): whole}))


#: who sends to or receives from whom is no root: `dist.send(x, dst=place + 1, group=group)`
TRANSFERS = frozenset({"irecv", "isend", "recv", "send"})


def _is_own_root(site: Site, place: cst.BaseExpression) -> bool:
    """`src=dist.get_rank(group)`: each member takes itself, converted or not, so that each would be the root."""
    own = isinstance(place, cst.Call) and callee(place) in ("get_rank", "get_local_rank")
    return own and callee(site.call) not in {*TRANSFERS, "P2POp"}


def _prefix(site: Site) -> str | None:
    """What the call is called on, if that can convert ranks: torch.distributed, or what the file uses to that end."""
    func = site.call.func
    if not isinstance(func, cst.Attribute):
        return None
    prefix = site.tree.text(func.value)
    return prefix if site.library(site.call) or f"{prefix}.get_global_rank(" in site.module.source.text else None


def _may_be_none(tree: Tree, group: cst.BaseExpression) -> bool:
    """Whether a group is None where nobody gives it: a parameter with that default, or what a constructor keeps of
    one. `get_global_rank` takes no None."""
    if isinstance(group, cst.Name):
        function = tree.nearest(group, cst.FunctionDef)
        return function is not None and group.value in _left_out(function)
    owner = tree.nearest(group, cst.ClassDef)
    if owner is None or not isinstance(group, cst.Attribute):
        return False
    constructors = [f for f in owner.body.body if isinstance(f, cst.FunctionDef) and f.name.value == "__init__"]
    return any(
        isinstance(node.value, cst.Name) and node.value.value in _left_out(constructor)
        for constructor in constructors
        for node in tree.walk(constructor)
        if isinstance(node, cst.Assign) and tree.text(node.targets[0].target) == tree.text(group)
    )


def _left_out(function: cst.FunctionDef) -> set[str]:
    """The parameters whose default is None."""
    given = (*function.params.params, *function.params.kwonly_params)
    return {p.name.value for p in given if isinstance(p.default, cst.Name) and p.default.value == "None"}


def _is_handle(group: cst.BaseExpression) -> bool:
    """Whether a group can be named twice: a name, an attribute, or what a getter returns for such."""
    if isinstance(group, cst.Call):
        getter = callee(group).startswith("get_")
        return getter and all(isinstance(arg.value, cst.Name | cst.Attribute) for arg in group.args)
    return isinstance(group, cst.Name | cst.Attribute)
