"""Global rank: a place in a group is converted where a rank of the whole job is wanted, and the reverse is renamed."""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.site import Site

FORM = "global-rank"
_WANTED = re.compile(r"`(?P<given>\w+)` is a (?P<which>rank of the whole job|place in the group)")


def propose(site: Site) -> Fix | None:
    """The argument that the finding speaks of."""
    tree, call = site.tree, site.call
    match = _WANTED.match(site.finding.message)
    spelled = site.module.spelled("torch.distributed")
    named = {arg.keyword.value: arg for arg in call.args if arg.keyword is not None}
    if match is None or spelled is None or not tree.text(call.func).startswith(f"{spelled}."):
        return None
    argument = named.get(match["given"])
    if argument is None or argument.keyword is None:
        return None
    if match["which"] == "place in the group":
        edit = Edit(tree.span(argument.keyword), match["given"].removeprefix("group_"))
        return Fix(FORM, "the rank is passed for what it is, a rank of the whole job", Safety.SAFE, (edit,))
    group = named.get("group")
    if group is None or not isinstance(group.value, cst.Name | cst.Attribute):
        return None
    text = f"{spelled}.get_global_rank({tree.text(group.value)}, {tree.text(argument.value)})"
    message = (
        f"the place in the group becomes a rank of the whole job; assumes that `{tree.text(group.value)}` is given"
    )
    return Fix(FORM, message, Safety.UNSAFE, (Edit(tree.span(argument.value), text),))
