"""Local group: a group that only its members create says so, with `use_local_synchronization=True`.

Then the others need not call. For `new_group` under a test of membership, where lifting the call would give the other
ranks an object that stands for no group.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Fix, Safety
from ferrule_lint.fixes.edits import insertion
from ferrule_lint.fixes.site import Site, callee

FORM = "local-group"
_OPTION = "use_local_synchronization=True"
#: how a witness ends whose group is made for too few, or kept by too many: that only its members call would not help
_LAST_ROUND = (" is what the last round of the loop has left", " is the group that the last round of the loop has made")


def propose(site: Site) -> Fix | None:
    """The option, behind the last argument."""
    tree, call = site.tree, site.call
    if any(step.note.endswith(_LAST_ROUND) for step in site.finding.witness):
        return None
    if site.library(call) is None or callee(call) != "new_group":
        return None
    if not call.args or any(arg.star or "synchronization" in tree.text(arg) for arg in call.args):
        # without ranks the group has all of them
        return None
    if not isinstance(call.args[0].value, cst.Name | cst.List | cst.Call | cst.Attribute) or not _listed(call):
        return None
    last, end = tree.span(call.args[-1].value), tree.span(call)
    rest = tree.source.line(last.end_line)[last.end_column - 1 :]
    if end.end_line > last.end_line and rest.partition("#")[0].strip() == ",":
        line = tree.source.line(tree.span(call.args[-1]).line)
        edit = insertion(last.end_line + 1, f"{line[: len(line) - len(line.lstrip())]}{_OPTION},\n")
    elif end.end_line > last.end_line and "#" in rest:
        return None
    else:
        edit = insertion(last.end_line, f", {_OPTION}", last.end_column)
    message = (
        "the group is created by its members alone; assumes torch 2.1 or later, a job whose process group is not bound"
        " to a device, and that groups which overlap are created in one order"
    )
    return Fix(FORM, message, Safety.UNSAFE, (edit,))


def _listed(call: cst.Call) -> bool:
    """Whether the ranks are given."""
    first = call.args[0]
    return first.keyword is None or first.keyword.value == "ranks"
