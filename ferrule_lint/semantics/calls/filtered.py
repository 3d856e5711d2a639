"""What is left where a function is asked of each item: `dataset.filter(is_mine)`, `filter(is_mine, items)`.

A function that asks for the rank (`lambda x, i: i % world_size == rank`) deals the items out, more to one rank
than to another; and a share stays one (`share.map(tokenize)`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls.arguments import Arguments
from ferrule_lint.semantics.calls.callbacks import is_callback, of_item, run, run_callbacks
from ferrule_lint.semantics.domain.lattice import Divergence, Value, worse
from ferrule_lint.semantics.domain.text import shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


#: methods that hand on what they are called on, item by item
_HANDS_ON = frozenset(
    "map shuffle filter batch prefetch with_format with_transform rename_column rename_columns remove_columns "
    "select_columns cast_column add_column flatten_indices to_list tolist to_pandas reset_index sort_values".split()
)


def by_method(frame: Frame, name: str, arguments: Arguments, receiver: Value) -> Value | None:
    """A method of a data set or table that keeps some or all of its items: `items.filter(test)` with a test that asks
    for the rank, or `share.map(tokenize)`; None of anything else."""
    length = receiver.length
    if length is not None and length.kind == "rank" and name in _HANDS_ON and not receiver.types:
        run_callbacks(frame, arguments, name)
        return receiver._replace(const=None, target=None, items=None, uniform=False)
    expr = arguments.expression("function", 0)
    if name != "filter" or expr is None:
        return None
    share = dealt(frame, arguments.value_of(expr), receiver, arguments.expr)
    if share is None:
        return None
    run_callbacks(frame, arguments, name)
    return receiver._replace(
        length=worse(receiver.length, share), emptiness=share.at_most(Confidence.LOW),
        const=None, target=None, items=None, uniform=False,
    )  # fmt: skip


def dealt(frame: Frame, test: Value | None, items: Value, call: f.Call) -> Divergence | None:
    """Why other items pass a test on another rank, and as many or not: the rank is asked for in it."""
    if test is None or items.multiple or not is_callback(test):
        return None
    with frame.recording():
        answer = run(frame, test, Arguments(call._replace(args=(), keywords=()), (), {}))
    asked = answer.observed
    if asked is None or asked.kind != "rank":
        return None
    note = f"`{shown(call)}` takes another share on every rank"
    return asked.then(frame.step("condition", call.pos, note)).at_most(Confidence.MEDIUM)


def by_content(frame: Frame, test: Value, items: Value, call: f.Call) -> Divergence | None:
    """Why more items of the rank's own batches pass a test than on another rank: it looks at what is in them
    (`filter(lambda batch: batch["labels"].any(), loader)`)."""
    if not (items.loader or items.data is not None) or not is_callback(test) or len(call.args) != 2:
        return None
    with frame.recording():
        answer = run(frame, test, of_item(frame, call, items, call.args[1]))
    asked = answer.observed
    if asked is None or asked.kind != "data":
        return None
    note = f"`{shown(call)}` leaves out what does not pass"
    return asked.then(frame.step("condition", call.pos, note)).at_most(Confidence.MEDIUM)
