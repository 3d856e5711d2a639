"""Agree on a file: what a rank sets because it has found a file decides elsewhere, so all set it, or none.

`if os.path.exists(f"{folder}/state_{rank}.pt"): self.average = Average(model)` leaves some ranks without an average,
and what is done with it needs all of them. The file counts as there if every rank has found its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.agreeing import agreeing
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.site import Group, Site, conjuncts
from ferrule_lint.fixes.terms import asks
from ferrule_lint.fixes.tree import Tree

FORM = "agree-on-file"
_DIFFERS = " differs between processes"
_SET = " is set there on some ranks only"


def propose(site: Site) -> Fix | None:
    """The test for the file, asked of all ranks."""
    if any(event.op in ("send", "recv", "isend", "irecv") for event in site.finding.events):
        return None
    tests = list(_tests(site))
    group = _group(site)
    if not tests or group is None:
        return None
    helper = agreeing(tests[0][0], "MIN", group)
    if helper is None:
        return None
    name, edits = helper
    wraps = [Edit(there.tree.span(one.test), f"{name}({there.tree.text(one.test)})") for there, one in tests]
    assumptions = ["what only some ranks can see may be done without"]
    assumptions += [] if group.certain else ["all ranks of the job come here"]
    message = f"a file counts as there if every rank sees it; assumes that {' and that '.join(assumptions)}"
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, *wraps)))


def _tests(site: Site) -> Iterator[tuple[Site, cst.If]]:
    """The tests for files under which something is set, with what surrounds each, as far as they are in this file."""
    steps = [step for step in site.finding.witness if step.path == site.finding.path]
    lines = [step.line for step in steps if step.note.endswith(_SET)]
    found: list[cst.If] = []
    for step in steps:
        tree = site.tree_at(step.line) if step.note.endswith(_DIFFERS) else None
        for node in () if tree is None else tree.walk(tree.module):
            if tree is None or not isinstance(node, cst.If) or node.orelse is not None or node in found:
                continue
            test, body, function = tree.span(node.test), tree.span(node.body), tree.function(node)
            if not test.line <= step.line <= test.end_line or function is None:
                continue
            if not any(body.line <= line <= body.end_line for line in lines) or not _asks_for_file(tree, node):
                continue
            found.append(node)
            yield replace(site, tree=tree, function=function, owner=node), node


def _asks_for_file(tree: Tree, node: cst.If) -> bool:
    """Whether a test asks for a file, and if something is there: all of it can be asked on every rank."""
    answers = [asks(tree, term) for term in conjuncts(node.test)]
    binding = any(isinstance(one, cst.NamedExpr | cst.Await) for one in tree.walk(node.test))
    plain = not isinstance(tree.parent(node), cst.If)
    return plain and not binding and "file" in answers and set(answers) <= {"file", "presence", "truth"}


def _group(site: Site) -> Group | None:
    """The ranks over which the file is looked for, if those are all of the job."""
    axes = {axis for event in site.finding.events for axis in event.axes}
    return Group("", axes == {"world"}) if axes and axes <= {"world", "dp"} else None
