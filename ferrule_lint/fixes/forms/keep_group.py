"""Keep the group: a collective that leaves out the group which its function was given gets it.

The group is the one that the finding speaks of: a parameter that the function's other collectives get, or one that a
function of the project takes under the same name; of `tp_size` buffers for a gather, the parameter `tp_group`.
"""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.findings import Fix, Safety
from ferrule_lint.fixes.arguments import argument
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.names import below, parameters
from ferrule_lint.fixes.site import Site, callee

FORM = "keep-group"
_GIVEN = re.compile(r"this function was given `(\w+)`")
_COUNTED = re.compile(r"as many buffers as `(?:dist\.)?(\w+)` has")
_SIZE = re.compile(r"_(?:world_)?size$")


def propose(site: Site) -> Fix | None:
    """The group as one more argument."""
    group = _group(site)
    keyword = None if group is None else _keyword(site, group)
    if group is None or keyword is None or not site.sure(site.call, {group}):
        return None
    edits = argument(site.tree, site.call, f"{keyword}={group}")
    message = f"`{callee(site.call)}` is told the group; assumes that the ranks of `{group}` are meant, and no others"
    return Fix(FORM, message, Safety.UNSAFE, in_order(edits)) if edits else None


def _group(site: Site) -> str | None:
    """The parameter that is the group."""
    given, known = _GIVEN.search(site.finding.message), parameters(site.function)
    if given is not None:
        return given[1] if given[1] in known else None
    counted = _COUNTED.search(site.finding.message)
    if counted is None:
        return None
    named = counted[1] if counted[1] in known and "group" in counted[1] else _SIZE.sub("_group", counted[1])
    return named if named in known and "group" in named else None


def _keyword(site: Site, group: str) -> str | None:
    """How the function that is called names its group."""
    tree, call = site.tree, site.call
    if site.module.spelled(f"torch.distributed.{callee(call)}") == tree.text(call.func):
        return "group"
    own = {event.line for event in site.finding.events if event.path == site.finding.path}
    if tree.span(call).line not in own or not isinstance(call.func, cst.Attribute):
        return group  # a function of the project, which takes it under the same name
    prefix = tree.text(call.func.value)
    if site.library(call) is not None:
        return "group"
    likewise = {
        arg.keyword.value
        for one in below(site.function.body)
        if isinstance(one, cst.Call) and isinstance(one.func, cst.Attribute) and tree.text(one.func.value) == prefix
        for arg in one.args
        if arg.keyword is not None and isinstance(arg.value, cst.Name) and arg.value.value == group
    }
    return likewise.pop() if len(likewise) == 1 else None
