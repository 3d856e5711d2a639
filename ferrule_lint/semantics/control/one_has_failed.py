"""Collectives that a rank is to issue because it has failed: the ranks that have not do not come to them.

`except Exception: dist.barrier()`, and by what a handler keeps, `except Exception as e: error = e` with
`if error is not None: dist.broadcast_object_list([error])` behind the block. What fails on all ranks at once needs
nobody to wait for. Where the `try` communicates as well, the handler may stand in for what is left of that, and where
only some ranks come to it, the others may wait elsewhere; then nothing is said here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk, way_to
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.control.failing import outer_name
from ferrule_lint.semantics.domain.assigned import assigning
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import shown
from ferrule_lint.semantics.domain.trace import CallTerm, Event, Trace, every_term

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: handlers of these are there for whatever may go wrong
_ANY = frozenset({"Exception", "BaseException", "RuntimeError", "OSError", "IOError"})
#: what ranks meet in, by the first word of its name
_MEETS = ("barrier", "all_", "broadcast", "reduce", "gather", "scatter")
#: statements behind a `try` among which the test of what its handler has kept is looked for
_NEAR = 8


def alone(
    frame: Frame, handler: f.Handler, caught: tuple[str, ...], attempt: f.Body, issued: Trace
) -> Divergence | None:
    """Why what a handler catches is one rank's; None if nothing says so.

    `caught`: the last names of the classes; `attempt`: the body of the `try`; `issued`: what that has issued.
    """
    if (caught and _ANY.isdisjoint(caught)) or frame.path_divergence() is not None:
        return None  # who is not here at all may wait for the one that has failed
    if any(type(t) is Event or (type(t) is CallTerm and t.summary.events) for t in every_term(issued)):
        return None
    if not any(type(node) is f.Call for node in walk(attempt)):
        return None  # an import, an entry that is looked up: there, or not there, on all of them
    call = _meeting(frame, handler.body) or _under_flag(frame, handler, attempt)
    if call is None:
        return None
    note = f"a rank that has failed alone comes to `{shown(call.func)}`"
    return frame.source(WORLD, "host", (handler.line, 1, handler.line, 1), note, Confidence.MEDIUM)


def _under_flag(frame: Frame, handler: f.Handler, attempt: f.Body) -> f.Call | None:
    """The collective behind the `try` under a test of nothing but what the handler has set."""
    kept = {
        target.id: s.value
        for s in handler.body
        if type(s) is f.Assign and _tells(s.value, handler.name)
        for target in s.targets
        if type(target) is f.Name
    }
    if not kept or frame.function is None or not attempt:
        return None
    way = way_to(frame.function.body, (attempt[0].line, 1))
    tries = ((block[i], block[i + 1 :]) for block, i in way)
    behind = next((rest for s, rest in tries if type(s) is f.Try and s.body is attempt), ())
    for s in behind[:_NEAR]:
        if type(s) is f.If and (arm := _arm_of_failure(s, kept)) is not None:
            return _meeting(frame, arm)
        if any(any(assigning((s,), name)) for name in kept):
            return None  # what it holds now may be agreed on
    return None


def _tells(value: f.Expr | None, caught: str | None) -> bool:
    """Whether what a handler keeps is a constant or the exception itself."""
    return type(value) is f.Const or (type(value) is f.Name and value.id == caught)


def _arm_of_failure(s: f.If, kept: dict[str, f.Expr | None]) -> f.Body | None:
    """The arm of a test to which a rank comes that has run the handler: `if failed:`, `if error is not None:`, `if not
    ok:`; None if the test asks for something else."""
    test, outcome = s.test, True
    if type(test) is f.Not:
        test, outcome = test.operand, False
    if type(test) is f.Compare and test.rights == (f.Const("None"),) and test.ops in (("is",), ("is not",)):
        outcome = outcome is (test.ops == ("is not",))
        test = test.left
    if type(test) is not f.Name or test.id not in kept:
        return None
    failed = kept[test.id] not in (f.Const("False"), f.Const("None"), f.Const("0"))
    return s.body if failed is outcome else s.orelse


def _meeting(frame: Frame, body: f.Body) -> f.Call | None:
    """A call in a block, under no test of its own, that is a library's collective."""
    for s in body:
        if type(s) not in (f.ExprStmt, f.Assign):
            continue
        for node in walk((s,)):
            model = frame.models.call(outer_name(frame.module, node.func)) if type(node) is f.Call else None
            if type(node) is f.Call and model is not None and (model.event or "").startswith(_MEETS):
                return node
    return None
