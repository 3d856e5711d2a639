"""Groups that a rank has with processes of another program, kept in attributes of an instance.

A rank that is set up to send to others keeps their handles and the group it has made with them, in the same blocks.
Whoever asks whether the handles are there asks whether it is a member: ranks without them have no such group, and no
part in it. And where each rank that makes a group says that it is its first, no two of these meet in one; nor do those
that come to a method which only the first may call, where the others of its group have a method of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ferrule_lint.checks.places import calls_at, trace_of
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import every_block, walk
from ferrule_lint.findings import Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.domain.trace import CallTerm, Event, every_term
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

#: makes a group of a name
_MAKES = re.compile(r"^(init|create|make|set_?up|new)_\w*group$")
_FIRST = f.Const("0")
_CODES = frozenset({"FER102", "FER103"})
#: see `semantics.walk.state`
_SET_APART = re.compile(r"`\w+\.(\w+)` is set there on some ranks only")


def among_others(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings without those about groups whose members alone come to them."""
    return [finding for finding in findings if not _is_of_members(analysis, finding)]


def _is_of_members(analysis: Analysis, finding: Finding) -> bool:
    flags = {match[1] for step in finding.witness if (match := _SET_APART.match(step.note))}
    if finding.code not in _CODES or finding.kind != "rank":
        return False
    places = {(s.path, s.line, s.column) for s in finding.witness if s.role in ("call", "event")}
    return (
        _is_one_half(analysis, finding, places)
        or _is_sent(analysis, finding, places)
        or any(
            _is_of_the_first(owner, group)
            or any(_are_set_together(owner, flag, group) for flag in flags if flag != group)
            for owner, group in _passed(analysis, places)
        )
    )


def _is_one_half(analysis: Analysis, finding: Finding, places: Iterable[tuple[str, int, int]]) -> bool:
    """Whether what is issued stands in a method that asserts which side of its group this is (`assert self.rank <= 0`),
    where another method of the class asserts to be the other side, and issues the same."""
    issued = {event.op for event in finding.events}
    return any(
        (side := _side(method)) is not None
        and any(
            _side(other) is (not side) and issued <= _issued_by(analysis, other) for other in owner.methods.values()
        )
        for path, line, column in places
        for method, _ in calls_at(analysis, path, line, column)
        if method is not None and (owner := method.module.classes.get(method.owner or "")) is not None
    )


def _is_sent(analysis: Analysis, finding: Finding, places: Iterable[tuple[str, int, int]]) -> bool:
    """Whether a broadcast is how one rank sends, in a function which says so, beside one that receives by a broadcast
    (`send_grads`, `recv_grads`): who is not asked for calls the other one, or has no part in the group."""
    if {event.op for event in finding.events} != {"broadcast"}:
        return False
    return any(
        "broadcast" in _issued_by(analysis, other)
        for path, line, column in places
        for sender, _ in calls_at(analysis, path, line, column)
        if sender is not None and (said := _SENDS.match(sender.name)) is not None
        for verb in ("recv", "receive")
        if (other := sender.module.functions.get(_beside(sender, f"{said[1]}{verb}{said[2]}"))) is not None
    )


_SENDS = re.compile(r"(_*)send(_\w+)$")


def _beside(function: FunctionInfo, name: str) -> str:
    """The name in its file of what stands beside a function."""
    holder = function.qualname.rpartition(".")[0]
    return f"{holder}.{name}" if holder else name


def _side(method: FunctionInfo) -> bool | None:
    """Whether a method asserts that its rank is the first of the group (True), or another one (False)."""
    for s in method.body:
        test = s.test if type(s) is f.Assert else None
        for part in test.values if type(test) is f.BoolOp and test.op == "and" else (test,):
            if type(part) is f.Compare and _RANK.search(last_name(part.left)) and len(part.ops) == 1:
                against = part.rights[0].text if type(part.rights[0]) is f.Const else ""
                if (side := _SIDES.get((part.ops[0], against))) is not None:
                    return side
    return None


_RANK = re.compile(r"(^|_)rank$")
_SIDES = {
    ("==", "0"): True,
    ("<=", "0"): True,
    ("<", "1"): True,
    (">", "0"): False,
    ("!=", "0"): False,
    (">=", "1"): False,
}


def _issued_by(analysis: Analysis, method: FunctionInfo) -> set[str]:
    terms = list(every_term(trace_of(analysis, method)))
    hidden = (event for term in terms if type(term) is CallTerm for event in term.summary.events)
    return {event.op for event in (*(term for term in terms if type(term) is Event), *hidden)}


def _passed(analysis: Analysis, places: Iterable[tuple[str, int, int]]) -> Iterator[tuple[ClassInfo, str]]:
    """Attributes of the instance that are passed in calls at some places, with the class of the caller."""
    for path, line, column in places:
        for method, call in calls_at(analysis, path, line, column):
            owner = method.module.classes.get(method.owner) if method is not None and method.owner else None
            if method is not None and owner is not None:
                arguments = (*call.args, *(value for _, value in call.keywords))
                yield from ((owner, name) for a in arguments if (name := _own(method, a)))


def _is_of_the_first(owner: ClassInfo, group: str) -> bool:
    """Whether a group is made, under its name, by ranks that each say in so many words to be its first."""
    made = [
        call
        for method in owner.methods.values()
        for call in method.calls
        if _MAKES.search(last_name(call.func))
        and any(_own(method, a) == group for a in (*call.args, *(v for _, v in call.keywords)))
    ]
    return bool(made) and all(_FIRST in call.args or ("rank", _FIRST) in call.keywords for call in made)


def _are_set_together(owner: ClassInfo, flag: str, group: str) -> bool:
    """Whether each block that sets a flag sets the group as well, itself or in a method, and nothing else does."""
    methods = owner.methods.values()
    makers = {m.name for m in methods if any(_sets(m, s, group) for s in walk(m.body))}
    blocks = [(m, block) for m in methods for block in every_block(m.body) if any(_sets(m, s, flag) for s in block)]
    if not blocks or not all(_makes(m, block, group, makers) for m, block in blocks):
        return False
    inside = {call.pos for _, block in blocks for call in walk(block) if type(call) is f.Call}
    calls = [c for m in methods for c in m.calls if _own(m, c.func) in makers]
    within = {m.name for m, block in blocks if any(_sets(m, s, group) for s in walk(block))}
    return all(c.pos in inside for c in calls) and makers <= within | {_name(c) for c in calls}


def _makes(method: FunctionInfo, block: f.Body, group: str, makers: set[str]) -> bool:
    return any(
        _sets(method, node, group) or (type(node) is f.Call and _own(method, node.func) in makers)
        for node in walk(block)
    )


def _name(call: f.Call) -> str:
    return call.func.attr if type(call.func) is f.Attr else ""


def _sets(method: FunctionInfo, node: object, attribute: str) -> bool:
    """Whether a statement gives an attribute of the instance something; None is nothing."""
    if type(node) is not f.Assign or node.value is None or node.value == f.Const("None"):
        return False
    return any(_own(method, target) == attribute for target in node.targets)


def _own(method: FunctionInfo, expr: f.Expr) -> str:
    """The name of an attribute of the instance, or ""."""
    if type(expr) is not f.Attr or not method.parameters:
        return ""
    return expr.attr if place_name(expr) == f"{method.parameters[0].name}.{expr.attr}" else ""
