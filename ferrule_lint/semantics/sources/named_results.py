"""What an unknown call makes, by the name that it is bound to: `batch = ...`, `loss = ...`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, position

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def arguments_of_unknown(
    frame: Frame, target: f.Expr, source: f.Expr, value: Value, named: re.Pattern[str], shared: re.Pattern[str]
) -> tuple[f.Expr, ...]:
    """The arguments of the call that a name of the kind `named` is bound to: none of them if something is known of its
    value, or if the name or the function says, by `shared`, that the ranks have met over it."""
    if type(target) is not f.Name or type(source) is not f.Call or not named.fullmatch(target.id):
        return ()
    known = (value.divergence, value.data, value.const, value.items, value.group, value.target, value.presence)
    if frame.light or value.uniform or value.agreed or value.types or any(v is not None for v in known):
        return ()
    if shared.search(target.id) or shared.search(last_name(source.func)):
        return ()
    return (*source.args, *(v for _, v in source.keywords))


def own(frame: Frame, target: f.Expr, value: Value, what: str) -> Value:
    """The value, as the rank's own data."""
    note = f"`{last_name(target)}` is {what}"
    return value._replace(data=frame.source(DP, "data", position(target), note, Confidence.MEDIUM))
