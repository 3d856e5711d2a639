"""Pass the group: a function of the project that agrees on a count, if it is told over which group, is told.

An optional `dp_group=None` switches the agreement off. Every call of the function here that leaves it out gets it.
"""

from __future__ import annotations

import itertools

import libcst as cst

from ferrule_lint.findings import Fix, Safety
from ferrule_lint.fixes.arguments import argument
from ferrule_lint.fixes.definitions import definitions
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.names import below
from ferrule_lint.fixes.site import Site, callee

FORM = "pass-group"
#: where Megatron-Core keeps its groups
_MEGATRON = "megatron.core.parallel_state"


def propose(site: Site) -> Fix | None:
    """The group as one more argument."""
    group = _data_parallel(site)
    if group is None:
        return None
    tree, name = site.tree, ""
    parameter: str | None = None
    steps = site.finding.witness
    for before, step in itertools.pairwise(steps):
        if step.role == "call" and step.note.startswith("returned by ") and step.path == site.finding.path:
            calls = [call for call in tree.calls_at(step.line, step.column) if callee(call) in step.note]
            if calls and tree.function(calls[0]) is site.function:
                name = callee(calls[0])
                parameter = _group_parameter(site, before.path, name)
    if parameter is None:
        return None
    calls = [one for one in below(site.function.body) if isinstance(one, cst.Call) and callee(one) == name]
    lacking = [call for call in calls if not any(_keyword(arg) == parameter for arg in call.args)]
    edits = [argument(tree, call, f"{parameter}={group}") for call in lacking]
    if not all(edits):
        return None
    message = f"`{name}` is told the group to agree over; assumes that all ranks of `{group}` come here"
    return Fix(FORM, message, Safety.UNSAFE, in_order(edit for made in edits for edit in made)) if edits else None


def _keyword(arg: cst.Arg) -> str:
    return "" if arg.keyword is None else arg.keyword.value


def _group_parameter(site: Site, path: str, name: str) -> str | None:
    """The one parameter of a function that is a group, and None if it is not given."""
    found = list(definitions(site.read, path, name))
    if len(found) != 1:
        return None
    params = found[0].params
    names = [
        one.name.value
        for one in (*params.params, *params.kwonly_params)
        if "group" in one.name.value and isinstance(one.default, cst.Name) and one.default.value == "None"
    ]
    return names[0] if len(names) == 1 else None


def _data_parallel(site: Site) -> str | None:
    """How this file can say the group of the data-parallel ranks: all ranks, but for jobs of Megatron-Core."""
    parallel = site.module.spelled(_MEGATRON)
    if parallel is not None:
        return f"{parallel}.get_data_parallel_group()"
    spelled = site.module.spelled("torch.distributed")
    return None if spelled is None or set(site.finding.axes) - {"dp", "world"} else f"{spelled}.group.WORLD"
