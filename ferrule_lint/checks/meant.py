"""Forwards of modules of which nothing says that they are the ones which the project shards.

Where the class of what is wrapped cannot be told, any module may be the one (`medium`). That is one guess. Where ranks
differ by another one (an input that is called optional, a share of the items), the two together are mostly wrong:
batches have what the model is made for, and who deals items out to ranks runs a model that each has for itself.
"""

from __future__ import annotations

from dataclasses import replace

from ferrule_lint.findings import Confidence, EventSite, Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.sources.absent_inputs import is_of_images
from ferrule_lint.semantics.sources.collected import is_of_entry


def as_it_is_meant(analysis: Analysis, finding: Finding) -> Finding:
    """The finding, as a guess where both of its ends are one."""
    if finding.confidence == Confidence.LOW or not finding.events or not _is_guessed(finding):
        return finding
    path = finding.witness[-1].path if finding.witness else finding.path
    told = finding.kind == "structure" and any(is_of_images(step) or is_of_entry(step) for step in finding.witness)
    if not all(e.hidden and e.op == "forward" and _may_be_any(analysis, e, path, told) for e in finding.events):
        return finding
    return replace(finding, confidence=Confidence.LOW)


def _is_guessed(finding: Finding) -> bool:
    """Whether ranks differ by what a batch may leave out, or in the number of rounds that their rank gives them."""
    return finding.kind == "structure" or (finding.code == "FER104" and finding.kind == "rank")


def _may_be_any(analysis: Analysis, event: EventSite, path: str, told: bool) -> bool:
    """Whether a forward is that of a sharded module only because something of unknown class is sharded in another file,
    which takes nothing from this one. What a class shards of its own is told by that. Of models that are given images,
    with which text alone is mixed in, or what batches are seen to have at times, it is guess enough if no more than
    settings decide that anything is sharded."""
    sharding, names = analysis.sharding, analysis.names
    info = names.class_of_id(event.module)
    site = sharding.site(info, path)
    if site is None or site.path == path or sharding.shards_in(site):
        return False
    if told and not sharding.is_left_open(site):
        return False
    if info is not None and names.class_of_id(site.given) is not None:
        return False
    names.reads.ask("imports", "")
    return path not in analysis.imports.imported.get(site.path, ())
