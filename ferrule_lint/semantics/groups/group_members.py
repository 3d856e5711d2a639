"""The ranks that a new group is made of: every rank has to give the same ones.

`new_group` is entered by all ranks of the default group, with the same list. A list that is worked out from this
rank's own number, or read off a group that this rank is in, is another one on the ranks of the other groups.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import held_tests, spelled_out
from ferrule_lint.facts.walk import statements, under_tests
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.axes import WORLD, is_untold
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, place_name, position, shown
from ferrule_lint.semantics.groups import last_round, like_this_rank
from ferrule_lint.semantics.project import options
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.walk.frame import CallIssue

if TYPE_CHECKING:
    from ferrule_lint.models.types import CallModel
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.domain.trace import Event
    from ferrule_lint.semantics.walk.frame import Frame

_DEEPEST = 6
#: calls of a function that makes a group, looked at for the ranks that they pass; callers are gone through for
#: what they hold
_MOST_CALLS, _LAYER = 8, 1
_LEAVES = (f.Return, f.Continue, f.Break, f.Raise)
#: what lists the members of a group
_LISTING = ("get_process_group_ranks",)
_LISTS = frozenset("list tuple sorted range set".split())
_COPIES = frozenset("list tuple sorted tensor".split())


#: asked of a `new_group` in or behind a loop, and what is said of it
_OF_LAST_ROUND = (
    (
        last_round.left_over,
        "stands behind the loop that works out the ranks of each group: only the last one is made, and the ranks of the"
        " others are in none",
    ),
    (
        last_round.kept,
        "makes a group in each round of the loop, and all ranks go on with the last one: the ranks of the others are"
        " not in it",
    ),
)


def check(frame: Frame, arguments: Arguments, event: Event) -> None:
    """An issue at a `new_group` whose list of ranks is the calling rank's own."""
    expr = arguments.expression("ranks", 0)
    if event.op != "new_group" or expr is None or frame.light:
        return
    for asked, message in _OF_LAST_ROUND:
        left = asked(frame, expr, arguments.expr.pos)
        if left is not None:
            frame.issues.append(CallIssue("FER401", arguments.expr.pos, left, event, f"`{event.op}` {message}"))
            return
    local = arguments.keywords.get("use_local_synchronization")
    if local is not None and local.const != "False":
        return
    with frame.aside():
        divergence = _own_ranks(frame, expr, 0) or _handed_own(frame, expr)
        place = _place_among(frame, expr) if divergence is None else None
    if place is not None:
        message = (
            "the ranks of a new group are ranks of the whole job, but a place in a group is looked for among these:"
            " convert the places of the group into ranks first"
        )
        frame.issues.append(CallIssue("FER402", arguments.expr.pos, place, event, message))
    if divergence is not None:
        message = (
            f"`{event.op}` is called with other ranks on the ranks of another group, but every rank has to create every"
            " group, with the same list and in the same order"
        )
        frame.issues.append(CallIssue("FER401", arguments.expr.pos, divergence, event, message))


def _place_among(frame: Frame, expr: f.Expr) -> Divergence | None:
    """`place in ranks`, where `ranks` is what the new group is made of: why the place is none of the job's ranks."""
    text = place_name(expr)
    if not text:
        return None
    body = frame.function.body if frame.function is not None else frame.module.body
    for node in frame.analysis.bodies.looked_in(body, text):
        divergence = frame.eval(node.left).divergence
        if divergence is None or divergence.kind != "rank" or divergence.confidence < Confidence.HIGH:
            continue
        if not divergence.axes & {"world", "?"}:
            return divergence.then(frame.step("flow", node.pos, f"`{shown(node.left)}` is looked for in `{text}`"))
    return None


def is_of_one_rank(frame: Frame, model: CallModel, arguments: Arguments) -> bool:
    """Whether a group is made of a single rank (`new_group([0])`, `new_group([rank])`): its member meets nobody."""
    expr = arguments.expression("ranks", 0)
    if model.event != "new_group" or last_name(arguments.expr.func) != "new_group" or expr is None:
        return False
    listed = definition(frame, expr)
    alone = listed.elements[0] if type(listed) is f.Sequence and len(listed.elements) == 1 else None
    return alone is not None and type(alone) not in (f.Starred, f.Sequence, f.Comprehension)


def literal_ranks(expr: f.Expr | None) -> str:
    """The text of a list or range of ranks that is written out: it tells apart groups made in two arms of a test."""
    if type(expr) is f.Sequence and all(type(e) is f.Const for e in expr.elements):
        return shown(expr)
    while (
        type(expr) is f.Call and len(expr.args) == 1 and last_name(expr.func) in ("list", "tuple", "sorted", "tensor")
    ):
        expr = expr.args[0]
    if type(expr) is f.Call and last_name(expr.func) in ("range", "arange"):
        return shown(expr)
    return ""


def _own_ranks(frame: Frame, expr: f.Expr, depth: int) -> Divergence | None:
    """Why a list of ranks is another one on other ranks, or None."""
    if depth > _DEEPEST:
        return None
    if type(expr) is f.Name or type(expr) is f.Attr:
        return _assigned(frame, expr, depth)
    if type(expr) is f.Sequence:
        # of a group of its own for each rank (`[rank]`): nobody is to be met
        alone = len(expr.elements) == 1
        by_rank = (_by_rank(frame, e, frame.eval(e)) for e in expr.elements if not alone)
        of_items = (_own_ranks(frame, e, depth + 1) for e in expr.elements if type(e) in (f.Subscript, f.Name))
        return next((d for d in (*by_rank, *of_items) if d is not None), None)
    if type(expr) is f.Comprehension:
        frame.eval(expr)
        inner = [*expr.elements, *(c for g in expr.generators for c in g.conditions)]
        asked = [*inner, *like_this_rank.asked_alike(frame, expr)]
        found = next((d for e in asked if (d := _by_rank(frame, e, frame.eval(e))) is not None), None)
        return found or _own_ranks(frame, expr.generators[0].iterable, depth + 1)
    if type(expr) is f.Subscript:
        by_index = _by_rank(frame, expr.index, frame.eval(expr.index))
        return by_index or _item_of_group(frame, expr) or _own_ranks(frame, expr.base, depth + 1)
    if type(expr) is f.Call:
        if last_name(expr.func) in _LISTING:
            return _members(frame, expr)
        if last_name(expr.func) == "next":
            sought = (_by_rank(frame, e, frame.eval(e)) for e in like_this_rank.sought_among(expr))
            return next((d for d in sought if d is not None), None)
        if last_name(expr.func) in _LISTS:
            by_rank = (_by_rank(frame, a, frame.eval(a)) for a in expr.args)
            of_items = (_own_ranks(frame, a, depth + 1) for a in expr.args)
            return next((d for d in (*by_rank, *of_items) if d is not None), None)
        return _returned(frame, expr)
    if type(expr) is f.Op:
        return next((d for o in expr.operands if (d := _own_ranks(frame, o, depth + 1)) is not None), None)
    return None


def _returned(frame: Frame, call: f.Call) -> Divergence | None:
    """The same of what a function of the project returns, as far as that is worked out from the rank in it."""
    function = frame.analysis.names.resolve(call.func, frame.module)
    if type(function) is not FunctionInfo:
        return None
    handed_back = [s.value for s in statements(function.body) if type(s) is f.Return and s.value is not None]
    if len(handed_back) != 1:
        return None
    found = _own_ranks(frame.analysis.caller(function.module, function, _LAYER), handed_back[0], 0)
    # a parameter that is called `rank` may be any
    return found if found is not None and found.confidence is Confidence.HIGH else None


def _handed_own(frame: Frame, expr: f.Expr) -> Divergence | None:
    """The same of a parameter, as a caller tells: `make(list(range(start, start + size)))`."""
    function = frame.function
    while type(expr) is f.Call and len(expr.args) == 1 and last_name(expr.func) in _COPIES:
        expr = expr.args[0]
    if function is None or type(expr) is not f.Name or frame.version(expr.id) or is_test(frame.module.path):
        return None
    if frame.conditions:
        return None  # made once, when it is asked for first: others may have asked for all groups before
    for module, caller, call in islice(options.calls_of(frame.analysis, function), _MOST_CALLS):
        given = options.passed(call, function, function.owner is not None, expr.id)
        if given is None or is_test(module.path):
            continue
        by = frame.analysis.caller(module, caller, _LAYER)
        under = by.under(call)
        found = _own_ranks(by, given, 0) if under is None or under.kind != "rank" else None
        if found is not None:
            return found.then(by.step("call", call.pos, f"passed on here: `{shown(call)}`"))
    return None


def _by_rank(frame: Frame, expr: f.Expr, value: Value) -> Divergence | None:
    divergence = value.divergence
    # `[i for i, name in enumerate(hosts) if name == gethostname()]`: those on this rank's own host
    by_host = type(expr) is f.Compare and expr.ops == ("==",)
    kinds = ("rank", "host") if by_host else ("rank",)
    if divergence is None or divergence.kind not in kinds or divergence.confidence == Confidence.LOW:
        return None
    return divergence.then(frame.step("flow", position(expr), f"`{shown(expr)}` chooses this rank's own group"))


def _members(frame: Frame, call: f.Call) -> Divergence | None:
    """The members of a group: another list on the ranks of the other groups, if there are any."""
    if not call.args and not call.keywords:
        return None
    expr = call.args[0] if call.args else call.keywords[0][1]
    axes = frame.eval(expr).group or frame.axes_in(shown(expr))
    if axes is None or "world" in axes or is_untold(axes):
        return None
    note = f"`{shown(call)}` lists the group that this rank is in"
    return frame.source(WORLD, "rank", call.pos, note, frame.least_of_tests)


def _item_of_group(frame: Frame, expr: f.Subscript) -> Divergence | None:
    """`grid.pp_group[0]`: what is called a group along an axis and has items lists the ranks of this rank's own."""
    name = last_name(expr.base)
    if type(expr.base) is not f.Attr or not name.endswith("_group") or frame.eval(expr.base).items is not None:
        return None
    axes = frame.axes_in(name)
    if not axes or "world" in axes or "private" in axes:
        return None
    return frame.source(WORLD, "rank", expr.pos, f"`{shown(expr.base)}` lists the group that this rank is in",
                        frame.least_of_tests)  # fmt: skip


def _assigned(frame: Frame, expr: f.Expr, depth: int) -> Divergence | None:
    """The same for what a name or attribute was set to in this function."""
    place = place_name(expr)
    body = frame.function.body if frame.function is not None else frame.module.body
    held: dict[str, f.Expr] | None = None
    for value, tests in frame.analysis.bodies.assignments(body, place):
        if tests and held is None:
            held = held_tests(body)
        for test in (spelled_out(asked, held or {}) for asked in tests):
            if type(test) is f.Compare and test.ops == ("in",) and shown(test.rights[0]) == shown(value):
                divergence = _by_rank(frame, test.left, frame.eval(test.left))
                if divergence is not None:
                    return divergence
        divergence = _own_ranks(frame, value, depth + 1)
        if divergence is not None:
            return divergence
    return _collected(frame, place, body)


def _collected(frame: Frame, place: str, body: f.Body) -> Divergence | None:
    """The same for what is put into a list one by one: `for i, host in enumerate(hosts): if host == own:
    ranks.append(i)`."""
    for s, tests in under_tests(body):
        call = s.value if type(s) is f.ExprStmt else None
        if type(call) is not f.Call or type(call.func) is not f.Attr or call.func.attr != "append":
            continue
        if place and place_name(call.func.base) == place:
            found = (_by_rank(frame, test, frame.eval(test)) for test in tests if type(test) is f.Compare)
            divergence = next((d for d in found if d is not None), None)
            if divergence is not None:
                return divergence
    return None
