"""What goes wrong in files that nobody has asked for, because of a test in one that somebody has.

Whoever lints the one file that was changed, as a hook before a commit does, asks what that change has broken. A helper
that returns early where the local batch has nothing, or loops over what it is given, makes ranks differ at its calls:
that is where such a finding stands, and it may be in another file. Its witness leads to the test.
"""

from __future__ import annotations

from collections.abc import Collection

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import ModuleInfo
from ferrule_lint.semantics.project.programs import is_test

#: files that are linted, with which others are looked at; who lints more has most calls among them
MOST_ASKED = 20
#: files that call what stands in those which are looked at
MOST_CALLING = 8


def calling(analysis: Analysis, report: Collection[str]) -> list[str]:
    """The files that import one in `report`, and call something by a name that this defines; no tests."""
    modules, users = analysis.names.modules, analysis.imports.users
    near: dict[str, set[str]] = {}
    for path in sorted(report):
        for user in users.get(path, ()) if path in modules else ():
            if user not in report and user in modules and not is_test(user):
                near.setdefault(user, set()).update(_defined(modules[path]))
    found = [path for path in sorted(near) if _calls(modules[path], frozenset(near[path]))]
    if len(found) > MOST_CALLING:
        analysis.count("calling files")
    return found[:MOST_CALLING]


def comes_from(finding: Finding, report: Collection[str]) -> bool:
    """Whether a test in one of the files in `report` is what ranks differ by in a finding of another one."""
    return finding.path not in report and any(s.role == "condition" and s.path in report for s in finding.witness)


def _defined(module: ModuleInfo) -> set[str]:
    names = {function.name for function in module.functions.values() if function.parent is None}
    names.update(name.rpartition(".")[2] for name in module.classes)
    return {name for name in names if not name.startswith("__")}


def _calls(module: ModuleInfo, names: frozenset[str]) -> bool:
    if not names or not module.mentions_any(names):
        return False
    bodies = (module.body, *(function.body for function in module.functions.values()))
    return any(type(node) is f.Call and last_name(node.func) in names for body in bodies for node in walk(body))
