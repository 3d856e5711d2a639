"""What a form sees: one finding, the statements around it, and the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import libcst as cst

from ferrule_lint.findings import EventSite, Finding, Span, Step
from ferrule_lint.fixes.definitions import Read
from ferrule_lint.fixes.module import ModuleText
from ferrule_lint.fixes.names import reads, surely_bound
from ferrule_lint.fixes.tree import Tree

#: what decides: the construct, and its test, iterable or left operand
Owner = cst.If | cst.IfExp | cst.While | cst.For | cst.CompFor | cst.BooleanOperation


@dataclass(frozen=True, slots=True)
class Site:
    """`finding` with its nodes.

    `call` is the anchored call, else that of an event; `owner` what decides about it, if it can be found.
    """

    finding: Finding
    #: the other findings of the same function, which one fix may cover
    others: tuple[Finding, ...]
    module: ModuleText
    tree: Tree
    function: cst.FunctionDef
    call: cst.Call
    owner: Owner | None
    #: the contents of other files of the project; raises OSError
    read: Read
    #: the tree of the top-level statement of this file that a line is part of
    tree_at: Callable[[int], Tree | None]

    def event_calls(self) -> list[cst.Call]:
        """The calls of all events; none if some event is in another function, or cannot be found."""
        found: list[cst.Call] = []
        for event in self.finding.events:
            calls = self.tree.calls_at(event.line, event.column) if event.path == self.finding.path else []
            call = self.call if self.call in calls else next(iter(calls), None)
            if call is None or self.tree.function(call) is not self.function:
                return []
            if call not in found:
                found.append(call)
        return found

    def sure(self, statement: cst.CSTNode, names: set[str], *, same: bool = True) -> bool:
        """Whether `names` have a value on every rank that reaches `statement`; unless `same` is off, no rank's own."""
        return surely_bound(self.tree, self.function, statement, names, arms=not same, same=same)

    def group(self, place: cst.CSTNode) -> Group | None:
        """The group over which ranks have to agree at `place`; None if it cannot be told, or not be named there.

        A collective of torch.distributed that is called here says its group. For all others the axes have to: what runs
        over all ranks is agreed on by all. So is what runs over the data-parallel ranks, which is certain only of
        jobs that have no other axis.
        """
        texts: set[str] = set()
        certain = True
        for event in self.finding.events:
            argument = None if event.through else self._named_group(event)
            if argument is not None:
                if not self.sure(place, reads(argument)) or self._may_be_none(event, argument, place):
                    return None
                texts.add(f", group={self.tree.text(argument)}")
            elif set(event.axes) == {"world"}:
                texts.add("")
            elif set(event.axes) <= {"world", "dp"}:
                texts.add("")
                certain = False
            else:
                return None
        return Group(texts.pop(), certain) if len(texts) == 1 else None

    def library(self, call: cst.Call) -> str | None:
        """What a call of torch.distributed says for that: `dist` of `dist.send(x, 1)`. None for any other call."""
        named = self.tree.text(call.func).rpartition(".")[0]
        return named if self.module.says(named, "torch.distributed") else None

    def _may_be_none(self, event: EventSite, group: cst.BaseExpression, place: cst.CSTNode) -> bool:
        """Whether a collective is issued only where its group is there, and `place` may be reached without one: None
        would stand for all ranks of the job."""
        call = next(iter(self.tree.calls_at(event.line, event.column)), None)
        text = re.escape(self.tree.text(group))
        asks = re.compile(rf"(?<![\w.])(not )?{text}( is (not )?None)?(?![\w.(\[]| ==| !=)")
        around = set(map(id, self.tree.around(place)))
        tests = () if call is None else (one for one in self.tree.around(call) if isinstance(one, cst.If | cst.IfExp))
        below_ = (one for one in tests if id(one) not in around)
        return any(asks.fullmatch(self.tree.text(term)) for one in below_ for term in all_terms(one.test))

    def _named_group(self, event: EventSite) -> cst.BaseExpression | None:
        """The group that a call of torch.distributed is given."""
        for call in self.tree.calls_at(event.line, event.column)[:1] if event.path == self.finding.path else ():
            if self.library(call) is not None:
                named = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "group"]
                place = GROUP_PLACE.get(callee(call), 99)
                listed = [arg.value for arg in call.args[place : place + 1] if arg.keyword is None]
                return next(iter([*named, *listed]), None)
        return None


@dataclass(frozen=True, slots=True)
class Group:
    """`text` is what a call of a helper is given: ", group=..." or "" for all ranks.

    `certain`: whether the ranks that come here are surely those.
    """

    text: str
    certain: bool


#: where torch.distributed takes the group, if it is not named
GROUP_PLACE = {
    "P2POp": 3,
    "all_reduce": 2,
    "broadcast": 2,
    "all_gather": 2,
    "all_gather_into_tensor": 2,
    "all_gather_object": 2,
    "broadcast_object_list": 2,
    "barrier": 0,
    "reduce_scatter_tensor": 3,
    "reduce": 3,
    "send": 2,
    "recv": 2,
    "isend": 2,
    "irecv": 2,
    "gather": 3,
    "scatter": 3,
    "gather_object": 3,
    "scatter_object_list": 3,
}


def owner_of(tree: Tree, finding: Finding) -> Owner | None:
    """The construct that the finding's condition decides about."""
    span = finding.condition_span
    for test in tree.exactly(span) if span is not None else ():
        node = tree.parent(test)
        if isinstance(node, cst.If | cst.While | cst.IfExp) and node.test is test:
            return node
        if isinstance(node, cst.For | cst.CompFor) and node.iter is test:
            return node
        if isinstance(node, cst.BooleanOperation) and node.left is test:
            outer = _outermost(tree, node)
            holder = tree.parent(outer)
            if isinstance(holder, cst.If | cst.While | cst.IfExp) and holder.test is outer:
                return holder
            return node
    if span is None:
        # a test that begins with `not` is said to stand behind it
        for step in finding.witness:
            if step.role == "condition" and step.path == finding.path:
                for node in tree.walk(tree.module):
                    if isinstance(node, cst.If | cst.While | cst.IfExp) and _holds(tree.span(node.test), step):
                        return node
    return None


def in_a_callee(site: Site) -> Site | None:
    """The same with the function of this file that the finding's function calls, in which what it passes decides."""
    places = [
        (step.line, step.column)
        for step in site.finding.witness
        if step.role == "condition" and step.path == site.finding.path and step.note.endswith(" decides")
    ]
    tree = site.tree_at(places[0][0]) if len(places) == 1 else None
    for one in () if tree is None else tree.walk(tree.module):
        test = one.iter if isinstance(one, cst.For) else one.test if isinstance(one, cst.If) else None
        if tree is None or test is None:
            continue
        span = tree.span(test)
        # a test that begins with `not` is said to stand behind it
        inside = isinstance(one, cst.If) and (span.line, span.column) < places[0] < (span.end_line, span.end_column)
        if not inside and (span.line, span.column) != places[0]:
            continue
        function = tree.function(one)
        if function is not None and isinstance(one, cst.For | cst.If):
            return replace(site, tree=tree, function=function, owner=one)
    return None


def counted_loop(site: Site) -> cst.For | None:
    """The `for` loop around the finding's call whose rounds it counts, also where what it walks was cut above."""
    places = {
        (step.line, step.column)
        for step in site.finding.witness
        if step.role == "condition" and step.path == site.finding.path and "how many rounds" in step.note
    }
    for one in site.tree.around(site.call):
        if isinstance(one, cst.For):
            span = site.tree.span(one.iter)
            if (span.line, span.column) in places:
                return one
    return None


def _holds(span: Span, step: Step) -> bool:
    return (span.line, span.column) <= (step.line, step.column) < (span.end_line, span.end_column)


def _outermost(tree: Tree, node: cst.BooleanOperation) -> cst.CSTNode:
    current: cst.CSTNode = node
    while isinstance(parent := tree.parent(current), cst.BooleanOperation | cst.UnaryOperation):
        current = parent
    return current


def conjuncts(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The terms of a conjunction, in order; anything else is one term."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return [*conjuncts(test.left), *conjuncts(test.right)]
    return [test]


def all_terms(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The terms of a test, whatever joins them."""
    if isinstance(test, cst.BooleanOperation):
        return [*all_terms(test.left), *all_terms(test.right)]
    return conjuncts(test)


def given(call: cst.Call, name: str, place: int | None) -> cst.Arg | None:
    """An argument by its name, or by its place if it is not named."""
    named = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)
    if named is not None or place is None or place >= len(call.args):
        return named
    return call.args[place] if call.args[place].keyword is None else None


def callee(call: cst.Call) -> str:
    """The last name of what is called: "all_reduce" for `dist.all_reduce(...)`."""
    func = call.func
    if isinstance(func, cst.Attribute):
        return func.attr.value
    return func.value if isinstance(func, cst.Name) else ""
