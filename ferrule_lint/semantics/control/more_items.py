"""Objects of which some ranks hold more than others, where what is more communicates nothing.

    hooks = [Evaluate()]
    if rank == 0:
        hooks.append(Writer())
    for hook in hooks:
        hook.after_step()

The first rank makes a round more, in which it is alone with what issues nothing. Which of the items those are is not
told by a list, but as a rule they are those of the classes that issue nothing; what communicates, and is registered by
some ranks alone, is told where that is done (`registered`).
https://github.com/facebookresearch/detectron2/blob/main/detectron2/engine/defaults.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.project.entities import ClassInfo, by_id

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: classes of items, and methods of one, that are looked at
_MOST_CLASSES = 24
_MOST_METHODS = 24


def are_silent(frame: Frame, found: Divergence, items: Value) -> bool:
    """Whether ranks differ by rank in how many objects of the project's they hold, and some of those issue nothing."""
    if found.kind != "rank" or frame.light or not 2 <= len(items.element_types) <= _MOST_CLASSES:
        return False
    return any(_is_silent(frame, info) for info in by_id(items.element_types))


def _is_silent(frame: Frame, info: ClassInfo) -> bool:
    methods = [m for c in frame.analysis.names.mro(info) for m in c.methods.values() if m.name != "__init__"]
    if not methods or len(methods) > _MOST_METHODS:
        return False
    known = (frame.analysis.summaries.of(method, (), info, None, frame.depth + 1) for method in methods)
    return all(found is not None and not found[0].events for found in known)
