"""Group place: `src=0` becomes `group_src=0` where the number is a place in the group, and there is no converting it:
the group is what some function returns, or `get_global_rank` is not at hand."""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.findings import Fix, Safety
from ferrule_lint.fixes.arguments import rewritten
from ferrule_lint.fixes.forms.global_rank import PASSED_ON, TRANSFERS
from ferrule_lint.fixes.site import Site, callee

FORM = "group-place"
_WANTED = re.compile(r"`(?P<given>src|dst)` is a rank of the whole job, but (?:(?P<told>.+) is in one|this is a place)")
#: what torch.distributed takes by place, of the functions that can be given a place in the group instead of a rank
_PARAMETERS = {
    "broadcast": ("tensor", "src", "group", "async_op"),
    "broadcast_object_list": ("object_list", "src", "group", "device"),
    "gather": ("tensor", "gather_list", "dst", "group", "async_op"),
    "gather_object": ("obj", "object_gather_list", "dst", "group"),
    "irecv": ("tensor", "src", "group", "tag"),
    "isend": ("tensor", "dst", "group", "tag"),
    "recv": ("tensor", "src", "group", "tag"),
    "reduce": ("tensor", "dst", "op", "group", "async_op"),
    "scatter": ("tensor", "scatter_list", "src", "group", "async_op"),
    "scatter_object_list": ("scatter_object_output_list", "scatter_object_input_list", "src", "group"),
    "send": ("tensor", "dst", "group", "tag"),
}


def propose(site: Site) -> Fix | None:
    """The argument that the finding speaks of, under its other name; what stands behind it is named as well."""
    call, name = site.call, callee(site.call)
    match, parameters = _WANTED.match(site.finding.message), _PARAMETERS.get(name)
    # deepspeed.comm and the like have no such argument
    library = site.module.says(site.tree.text(call.func), f"torch.distributed.{name}")
    if match is None or parameters is None or not library or any(arg.star for arg in call.args):
        return None
    # a root that is worked out from the rank's own place may be another one for each member
    if (match["told"] is None and name not in TRANSFERS) or len(call.args) > len(parameters):
        return None
    texts = _named(site, match["given"], parameters)
    if not texts:
        return None
    assumed = " and ".join(_assumed(site, call.args[min(texts)].value, match["told"]))
    message = f"the rank is passed for what it is, a place in the group; assumes {assumed}"
    return Fix(FORM, message, Safety.UNSAFE, rewritten(site.tree, call, texts))


def _assumed(site: Site, rank: cst.BaseExpression, told: str | None) -> list[str]:
    """What has to hold beside, in words; `told`: the number that is in one of the groups only."""
    torch = "torch 2.6 or newer"
    if isinstance(rank, cst.Integer):
        member = "first member" if rank.evaluated_value == 0 else f"member at place {rank.value}"
        return [torch, f"that the group's {member} is meant"]
    if (told or "").isdigit() or any(step.note == PASSED_ON for step in site.finding.witness):
        return [torch, "that all callers pass a place in the group"]
    return [torch]


def _named(site: Site, given: str, parameters: tuple[str, ...]) -> dict[int, str]:
    """The texts of the arguments that change, by place: the rank, and those behind it that are not named."""
    texts: dict[int, str] = {}
    for at, arg in enumerate(site.call.args):
        name = parameters[at] if arg.keyword is None else arg.keyword.value
        if name == given:
            texts[at] = f"group_{given}={site.tree.text(arg.value)}"
        elif texts and arg.keyword is None:
            texts[at] = f"{name}={site.tree.text(arg.value)}"
    return texts
