"""What ranks choose by lot, where each draws for itself: items of a list of draws, and which of two loaders is walked.

```python
np.random.seed(seed + rank)
kinds = ["image" if np.random.random() < share else "video" for _ in range(epochs)]
for epoch in range(epochs):
    loader = videos if kinds[epoch] == "video" else images
    for batch in loader: ...
```

That a list holds what differs makes no other list of it; its items differ. And two loaders have different numbers of
batches.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of
from ferrule_lint.semantics.domain.lattice import Value, worse
from ferrule_lint.semantics.domain.text import place_name, position, shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: how the step ends that says of two loaders that one of them is walked
OF_ANOTHER = "have different numbers of batches"
_LOADER = re.compile(r"(?i)(loader|data_iter(ator)?)$")
#: what makes one item as another
_MAKES = (f.Call, f.IfExp)


def item_of(frame: Frame, e: f.Subscript) -> Value | None:
    """An item of a list that a comprehension has made, each by what the host says."""
    made = definition(frame, e.base)
    if type(made) is not f.Comprehension or made.kind != "list" or len(made.elements) != 1:
        return None
    if type(made.elements[0]) not in _MAKES or (type(e.index) is f.Op and e.index.kind == "Slice"):
        return None
    with frame.recording():
        divergence = frame.eval(made.elements[0]).divergence
    if divergence is None or divergence.kind != "host":
        return None
    return Value(divergence=divergence.then(frame.step("flow", e.pos, f"`{shown(e)}` is one of them")))


def loader_of_arms(frame: Frame, formula: Formula, one: f.Expr, other: f.Expr, merged: Value) -> Value:
    """One of two loaders, where ranks choose otherwise: another number of batches."""
    divergence = divergence_of(formula)
    if divergence is None or divergence.kind != "host" or divergence.confidence == Confidence.LOW:
        return merged
    places = place_name(one), place_name(other)
    if not all(map(_LOADER.search, places)) or places[0] == places[1]:
        return merged
    note = f"`{places[0]}` and `{places[1]}` {OF_ANOTHER}"
    step = frame.step("flow", position(one), note)
    length = worse(merged.length, divergence.then(step).at_most(Confidence.MEDIUM))
    return merged._replace(length=length, uniform=False, loader=True)


def loaders_of_branch(frame: Frame, formula: Formula, s: f.If) -> None:
    """The same where either arm of an `if` gives a name one of them."""
    there = {place: value for place, value in map(_assigned, s.orelse) if place}
    for place, one in map(_assigned, s.body) if there else ():
        if place in there and place in frame.env and one is not None and (other := there[place]) is not None:
            frame.env[place] = loader_of_arms(frame, formula, one, other, frame.env[place])


def _assigned(s: f.Stmt) -> tuple[str, f.Expr | None]:
    if type(s) is not f.Assign or len(s.targets) != 1:
        return "", None
    return place_name(s.targets[0]), s.value
