"""Where a module is wrapped whose forward or backward pass communicates: a step of the witness.

That a call of a module is a collective is decided by another call, mostly in another file. Who reads the finding wants
to see it; where it is not what the module comes from, the finding is wrong.
"""

from __future__ import annotations

from dataclasses import replace

from ferrule_lint.findings import EventSite, Finding, Step
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.project.entities import ClassInfo
from ferrule_lint.semantics.project.evidence import place_of
from ferrule_lint.semantics.project.wrapped import WrapSite

_PASSES = ("forward", "backward")


def with_wraps(analysis: Analysis, finding: Finding) -> Finding:
    """The finding, with a step before the last where that is a forward or a backward pass which says nothing itself."""
    first = next(iter(finding.events), None)
    if first is None or not finding.witness or not first.hidden or first.op not in _PASSES:
        return finding
    *before, last = finding.witness
    step = _step(analysis, first, last.path)
    return finding if step is None else replace(finding, witness=(*before, step, last))


def _step(analysis: Analysis, event: EventSite, path: str) -> Step | None:
    sharding, backward = analysis.sharding, event.op == "backward"
    info = analysis.names.class_of_id(event.module)
    site = sharding.reducing_site(path) if backward else sharding.site(info, path)
    if site is None:
        return None
    note = f"`{site.text}` {'wraps a module: gradients are reduced' if backward else _what(analysis, site, info)}"
    return Step("wrap", site.path, *place_of(site, analysis.names.modules), note)


def _what(analysis: Analysis, site: WrapSite, info: ClassInfo | None) -> str:
    """What a call does to a module of this class."""
    given = analysis.names.class_of_id(site.given)
    if given is None or info is None:
        return "wraps a module whose class cannot be told: it may be this one"
    if given.id == info.id:
        return f"wraps `{info.name}`"
    if given in analysis.names.mro(info):
        return f"wraps `{given.name}`, the base of `{info.name}`"
    if info in analysis.names.mro(given):
        return f"wraps `{given.name}`, which inherits from `{info.name}`"
    return f"wraps `{given.name}`, and `{info.name}` in it"
