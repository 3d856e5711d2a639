"""How far a policy has moved in an update, by which the update is stopped: `if approx_kl > target_kl: break`.

The divergence is estimated from what the rank's own rollouts hold, and these come out of a memory of which nothing is
known. Its name says what it is, as that of a loss does: a mean that is written out here (`(ratio - 1 - log).mean()`)
over what the ranks have not agreed on is the rank's own, where it is compared with a limit that is named for it. What a
call hands back under such a name may have been averaged over the ranks on the way, and counts for nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, shown
from ferrule_lint.semantics.sources.named_results import own

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_KL = re.compile(r"_?((approx|approximate|mean|avg|current|policy)_)*kl(_div(ergence)?s?|_mean|_approx)?")
#: what an update is not to go beyond
_LIMIT = re.compile(r"(target|thresh\w*|max|limit|desired|stop)_?kl|kl_?(target|thresh\w*|max|limit|stop|tol)")
#: what only makes a number of the mean, or a mean of the numbers
_AS_NUMBER = frozenset("item detach cpu numpy float mean sum".split())
#: what ranks have in common, or what they have met over
_SHARED = re.compile(r"reduce|gather|sync|global|broadcast|world|(^|_)all_", re.IGNORECASE)


def of_target(frame: Frame, target: f.Expr, source: f.Expr, value: Value) -> Value:
    """What a name is bound to: the rank's own estimate, if its name says so and nothing else is known of the value."""
    if frame.light or frame.function is None or type(target) is not f.Name or not _KL.fullmatch(target.id):
        return value
    known = (value.divergence, value.data, value.const, value.items, value.group, value.target, value.presence)
    if value.uniform or value.agreed or value.types or any(v is not None for v in known):
        return value
    if not _is_written_out(source) or not _is_limited(frame.function.body):
        return value
    return own(frame, target, value, "estimated on the rank's own rollouts")


def _is_written_out(source: f.Expr) -> bool:
    """Whether the estimate is computed here: arithmetic of which a mean is taken."""
    while type(source) is f.Call and last_name(source.func) in _AS_NUMBER:
        on_module = type(source.func) is not f.Attr or last_name(source.func.base) in ("torch", "np", "numpy")
        if on_module and not source.args:
            return False
        source = source.args[0] if on_module else source.func.base  # type: ignore[union-attr]
    return type(source) is f.Op and not any(
        type(node) is f.Call and _SHARED.search(last_name(node.func)) for node in walk(source)
    )


def _is_limited(body: f.Body) -> bool:
    """Whether a function compares such an estimate with its limit."""
    for node in walk(body):
        if type(node) is f.Compare and len(node.ops) == 1 and node.ops[0] in ("<", "<=", ">", ">="):
            texts = [shown(side) for side in (node.left, *node.rights)]
            if any(_LIMIT.search(text) for text in texts) and sum("kl" in text for text in texts) == len(texts):
                return True
    return False
