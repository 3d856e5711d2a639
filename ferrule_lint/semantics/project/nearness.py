"""Which files can have to do with what is wrapped somewhere in the project: those that some program holds together.

Where a wrapped module's class cannot be told, it may be any. But a repository of examples has many programs, and what
one of them wraps is not made in another: the two share no file that imports both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ferrule_lint.semantics.project.programs import imported

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis


def near(analysis: Analysis, wrapping: Iterable[str]) -> frozenset[str]:
    """The files that some file imports, over others or itself, which also imports one of these; and the packages that
    they lie in, since a registry finds modules without an import."""
    modules = analysis.names.modules
    forwards = {path: {m.path for m in imported(analysis, module)} for path, module in modules.items()}
    backwards: dict[str, set[str]] = defaultdict(set)
    for path, others in forwards.items():
        for other in others:
            backwards[other].add(path)
    found = _closed(_closed(wrapping, backwards), forwards)
    packages = {_package(path, modules) for path in found} - {""}
    return frozenset(found | {path for path in modules if _package(path, modules) in packages})


def _closed(start: Iterable[str], edges: dict[str, set[str]]) -> set[str]:
    found, todo = set(start), list(start)
    while todo:
        for other in edges.get(todo.pop(), ()):
            if other not in found:
                found.add(other)
                todo.append(other)
    return found


def _package(path: str, modules: Iterable[str]) -> str:
    """The topmost package that a file lies in, "" for a loose one."""
    folder, top = path.rpartition("/")[0], ""
    while folder and f"{folder}/__init__.py" in modules:  # type: ignore[operator]
        folder, top = folder.rpartition("/")[0], folder
    return top
