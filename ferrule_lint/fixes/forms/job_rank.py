"""Job rank: a process says which rank of the job it is, in place of its place on the node.

It is asked where the launcher tells it, in the variable RANK, as torchrun does; without one the number stays what it
was. Where the function is given both numbers, it takes the other one.
https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
"""

from __future__ import annotations

import re

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.site import Site, given

FORM = "job-rank"
_ON_NODE = "this counts on one node"
_BESIDE = re.compile(r"`\w+` is the number of the device, `(?P<rank>\w+)` the rank")
#: of `init_process_group`, counted from zero
_PLACE = 4


def propose(site: Site) -> Fix | None:
    """The argument `rank` of a process that starts."""
    call = site.call
    if _ON_NODE not in site.finding.message or any(arg.star for arg in call.args):
        return None
    argument = given(call, "rank", _PLACE)
    if argument is None:
        return None
    beside = next(filter(None, (_BESIDE.match(step.note) for step in site.finding.witness)), None)
    text = beside["rank"] if beside is not None else _asked(site, site.tree.text(argument.value))
    if text is None:
        return None
    assumption = "that is the rank of the job" if beside is not None else "the launcher says there which rank it is"
    message = f"the process starts as `{text}`; assumes that {assumption}"
    return Fix(FORM, message, Safety.UNSAFE, (Edit(site.tree.span(argument.value), text),))


def _asked(site: Site, before: str) -> str | None:
    """The rank as the environment has it, else what it was `before`; None if the file has nothing to ask it with."""
    os = site.module.spelled("os")
    return None if os is None else f'int({os}.environ.get("RANK", {before}))'
