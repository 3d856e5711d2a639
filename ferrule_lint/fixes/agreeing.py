"""The function by which ranks agree on a flag: one that the project has already, else a helper written into the file.

A project's own function is told from its definition: one flag, one `all_reduce` of it with MAX (or MIN), and the result
as a truth value. Whether its result is the same on all ranks is for the analysis to say, when it verifies the fix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from ferrule_lint.findings import Edit
from ferrule_lint.fixes.definitions import definitions
from ferrule_lint.fixes.helpers import ANY_RANK, EVERY_RANK
from ferrule_lint.fixes.names import below, local_names
from ferrule_lint.fixes.site import Group, Site, callee

_HELPERS = {"MAX": ("_any_rank", ANY_RANK), "MIN": ("_every_rank", EVERY_RANK)}
_COLLECTIVE = re.compile(r"^(all_|reduce|broadcast|barrier|gather|scatter|send|recv|isend|irecv|monitored_barrier)")


def agreeing(site: Site, op: str, group: Group) -> tuple[str, tuple[Edit, ...]] | None:
    """The name of a function that tells whether a flag is true on some rank ("MAX") or on all ("MIN"), with the edits
    that it takes. What is passed is the flag, and `group.text`. None if there is no place for a helper.
    """
    name, template = _HELPERS[op]
    own = site.module.written(name, template)
    if own is not None:
        return own, ()
    for known, path in _candidates(site):
        found = list(definitions(site.read, path, known[1]))
        if len(found) == 1 and _agrees(found[0], op, group):
            return known[0], ()
    return site.module.helper(name, template)


def _candidates(site: Site) -> Iterator[tuple[tuple[str, str], str]]:
    """((name here, name there), path) of the functions of the project that the function with the finding can call."""
    hidden = local_names(site.function) | {site.function.name.value}
    for name in site.module.functions:
        if name not in hidden:
            yield (name, name), site.finding.path
    for one in site.module.imports:
        if one.plain or one.section == "standard":
            continue
        for bound, stands in one.names:
            if bound not in hidden:
                for path in _paths(site.finding.path, one.module):
                    yield (bound, stands.rpartition(".")[2]), path


def modules_of(site: Site, name: str) -> Iterator[tuple[str, str]]:
    """(path, name there) of what `name` may be in other files of the project, by the file's imports."""
    for one in site.module.imports:
        for bound, stands in () if one.plain or one.section == "standard" else one.names:
            if bound == name:
                yield from ((path, stands.rpartition(".")[2]) for path in _paths(site.finding.path, one.module))


def _paths(here: str, module: str) -> Iterator[str]:
    """Where a module of the project may be, seen from a file of it."""
    name = module.lstrip(".")
    dots = len(module) - len(name)
    tail = name.replace(".", "/")
    folders = here.split("/")[:-1]
    if dots:
        yield "/".join([*folders[: len(folders) - dots + 1], tail]) + ".py"
        return
    root = tail.split("/")[0]
    if root in folders:
        yield "/".join([*folders[: folders.index(root)], tail]) + ".py"
    else:
        yield tail + ".py"


def _agrees(function: cst.FunctionDef, op: str, group: Group) -> bool:
    """Whether a function reduces its one flag, and returns what came out as a truth value."""
    params = function.params
    listed = [*params.posonly_params, *params.params]
    required = [one.name.value for one in listed if one.default is None]
    optional = {one.name.value for one in (*listed, *params.kwonly_params) if one.default is not None}
    if len(required) != 1 or function.asynchronous is not None or function.decorators:
        return False
    if isinstance(params.star_arg, cst.Param) or (group.text and "group" not in optional):
        return False
    calls = [one for one in below(function.body) if isinstance(one, cst.Call)]
    collectives = [call for call in calls if _COLLECTIVE.match(callee(call))]
    code = cst.Module([]).code_for_node
    if [callee(call) for call in collectives] != ["all_reduce"]:
        return False
    how = [code(arg.value) for arg in collectives[0].args if arg.keyword is not None and arg.keyword.value == "op"]
    how += [code(arg.value) for arg in collectives[0].args[1:2] if arg.keyword is None]
    over = [code(arg.value) for arg in collectives[0].args if arg.keyword is not None and arg.keyword.value == "group"]
    if any(one not in optional for one in over):
        # a group of its own
        return False
    last = function.body.body[-1] if function.body.body else None
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else None
    if not how or not how[0].endswith(f"ReduceOp.{op}") or not isinstance(small, cst.Return) or small.value is None:
        return False
    made = [call for call in calls if callee(call) in ("tensor", "full", "as_tensor")]
    text = code(small.value)
    told = text.startswith("bool(") or re.search(r"\.item\(\) (> 0|== 1|>= 1|!= 0)$", text) is not None
    return told and any(re.search(rf"\b{required[0]}\b", code(call)) for call in made)
