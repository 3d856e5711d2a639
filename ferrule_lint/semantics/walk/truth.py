"""What the truth of a value says: `if flag:`, `if batch:`, `if mask.any():`, and what reading its content says."""

from __future__ import annotations

import re

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import sharded_only, special_methods
from ferrule_lint.semantics.data import dropped_samples
from ferrule_lint.semantics.data.iteration import definition, last_round
from ferrule_lint.semantics.data.layout import is_number
from ferrule_lint.semantics.data.module_outputs import is_output
from ferrule_lint.semantics.domain.conditions import LAST_ROUND, Atom, Formula, Known, negate
from ferrule_lint.semantics.domain.dependences import (
    EMPTY,
    FLOWS,
    LATER,
    NO_DEPS,
    NOTHING,
    OBSERVED,
    PRESENT,
    TRUE,
    Deps,
    observed,
    without,
)
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value, is_member
from ferrule_lint.semantics.domain.targets import ClassTarget, FunctionTarget, ModuleTarget
from ferrule_lint.semantics.domain.text import called_name, last_name, place_name, position, render, shown
from ferrule_lint.semantics.sources import environment, first_rank, measured, parts
from ferrule_lint.semantics.sources.rank_axes import is_world_size
from ferrule_lint.semantics.walk import passed_over
from ferrule_lint.semantics.walk.frame import Frame


def atom_of(
    frame: Frame, expr: f.Expr, value: Value, deps: Deps | None = None, divergence: Divergence | None = None
) -> Formula:
    """A test as an atom: the same wherever its text stands and nothing in it has been assigned since."""
    key = frame.key(expr)
    if value.uniform and not value.divergence:
        key = "=" + key  # a test that is certainly uniform can never be told apart by ranks
    return Atom(key, divergence or value.divergence, (value.deps if deps is None else deps) or NO_DEPS)


def _last_round(frame: Frame, expr: f.Expr) -> bool | None:
    """Whether a name holds the test for the last round of a loop around it (True), or for all others."""
    named = definition(frame, expr) if type(expr) is f.Name and frame.rounds else None
    if type(named) is not f.Compare or len(named.ops) != 1:
        return None
    return last_round(frame, named.left, named.ops[0], named.rights[0])


def in_last_round(frame: Frame, expr: f.Expr, last: bool) -> Formula:
    """A test that holds in the last round of a loop alone, or (`last` is False) in all the others."""
    at_end = Atom(LAST_ROUND + frame.key(expr), None, NO_DEPS)
    return at_end if last else negate(at_end)


def truthiness(frame: Frame, expr: f.Expr, value: Value) -> tuple[Formula, Value]:
    """A value that is tested as it is: the formula, and what is known of its truth."""
    if (last := _last_round(frame, expr)) is not None:
        return in_last_round(frame, expr, last), UNKNOWN
    name = called_name(expr)
    closed = value.const == "False" and type(expr) is f.Name and _is_parameter(frame, expr.id)
    told = name and frame.models.convention("initialized", name) is not None and value.divergence is None
    if told and not closed and not _is_of_parts(frame, expr) and not _is_one_way(frame, name):
        return Known(True), Value(uniform=True, const="True")
    if value.const is not None and value.divergence is None and not value.deps and not is_member(value.const):
        truth = value.const not in ("None", "False", "0", "0.0", "''", '""', "b''")
        if value.const in ("<given>",):
            truth = True
        return Known(truth), Value(uniform=True, const=repr(truth))
    surely = value.presence is None and value.divergence is None
    if surely and type(value.target) in (FunctionTarget, ClassTarget, ModuleTarget):
        return Known(True), Value(uniform=True, const="True")
    if value.there and type(expr) is f.Name and is_world_size(expr.id) and value.divergence is None:
        return Known(True), Value(uniform=True, const="True")  # no job has no ranks
    if environment.is_read(definition(frame, expr)):
        return Atom("=" + frame.key(expr), None, NO_DEPS), Value(uniform=True)
    first = first_rank.truth(value)
    if first is not None:
        return first, value.plain()._replace(types=NOTHING, rank=first_rank.of(first))
    if value.divergence is not None and (value.group is not None or MEMBERSHIP.search(name)):
        value = value._replace(divergence=value.divergence._replace(member=not first_rank.has_alone(value)))
    if value.divergence is None:
        if value.presence is not None:
            value = value._replace(
                divergence=value.presence.then(
                    frame.step("flow", position(expr), f"whether `{shown(expr)}` is there differs between ranks")
                )
            )
        elif value.data is not None and not value.container and _is_content(frame, expr, value):
            value = observe(frame, value, position(expr), shown(expr))
        elif value.length is not None and value.items is None and value.emptiness is None:
            value = value._replace(divergence=value.length)
        elif value.emptiness is not None:
            value = value._replace(divergence=value.emptiness._replace(empty=True))
        elif (nothing := _nothing_in(frame, expr, value) or special_methods.truth(frame, expr, value)) is not None:
            value = value._replace(divergence=nothing)
        elif not value.uniform and type(expr) is f.Call and (again := frame.files.looked_at_again(expr, frame.key)):
            value = value._replace(divergence=again)
    asked = observed(value.deps) if value.boolean else without(value.deps, LATER)  # no size is zero
    deps = frozenset((p, PRESENT if how == FLOWS and value.container else how) for p, how in asked)
    if type(expr) is f.Name and (expr.id, FLOWS) in deps and frame.version(expr.id) == 0:
        deps |= {(expr.id, TRUE)}
    # whether anything is left of what was filtered is up to what decided that
    deps |= frozenset([d for d in value.length_deps if d[1] in (OBSERVED, PRESENT, EMPTY)])
    return atom_of(frame, expr, value, deps), value.plain()._replace(types=NOTHING, data=None, uniform=value.uniform)


def _is_one_way(frame: Frame, name: str) -> bool:
    """Whether a flag is one of several ways to train (`is_ddp`), and not that there are several processes."""
    return "ddp" in name.lower() and frame.module.mentions_like(_OTHER_WAYS)


_OTHER_WAYS = re.compile(r"fsdp|fully_?shard|deep_?speed", re.IGNORECASE)


def _is_of_parts(frame: Frame, expr: f.Expr) -> bool:
    """Whether a flag that may be called after the job (`is_distributed`) holds whether a module is in parts."""
    if type(expr) is not f.Name or frame.function is None or not frame.version(expr.id):
        return False
    return sharded_only.asks(frame.analysis, frame.function, expr) is not None


def _nothing_in(frame: Frame, expr: f.Expr, value: Value) -> Divergence | None:
    """Why there may be nothing on this rank in what is tested as it is."""
    found = nothing_in_round(frame, expr, value) or passed_over.asked(frame, expr, value)
    return found or _empty_list(frame, expr, value) or parts.nothing_of(frame, expr, value)


def _empty_list(frame: Frame, expr: f.Expr, value: Value) -> Divergence | None:
    """Why local data that says it is a list (`samples: list[Sample]`) may be empty. Of anything else its truth may ask
    whether it is there."""
    if type(expr) is not f.Name or value.data is None or frame.function is None or frame.version(expr.id):
        return None
    if value.container:
        return None
    parameter = next((p for p in frame.function.parameters if p.name == expr.id), None)
    if parameter is None or parameter.annotation is None or not _LIST.match(render(parameter.annotation)):
        return None
    step = frame.step("flow", position(expr), f"`{expr.id}` is a list, and may be empty on a rank")
    return value.data.then(step)._replace(empty=True)


#: annotations of what is always there, and has items
_LIST = re.compile(r"(typing\.)?([Ll]ist|Sequence|tuple|Tuple)\b(?!.*None)")


def _is_parameter(frame: Frame, name: str) -> bool:
    return frame.function is not None and any(p.name == name for p in frame.function.parameters)


#: names of groups and of tests whether this process is in one
MEMBERSHIP = re.compile(r"group|member|_in_|(^|_)pg(_|$)", re.IGNORECASE)


def _is_content(frame: Frame, expr: f.Expr, value: Value) -> bool:
    """Whether the truth of local data is what it holds, and not whether it is there."""
    if type(expr) is f.Subscript and is_number(frame.ask(expr.base).layout):
        return True  # the one number of a tensor: `flag[0]`
    return value.boolean or is_number(value.layout) or reads_content(expr)


def reads_content(expr: f.Expr) -> bool:
    """Whether the truth of a value of tensor data is its content: a computed predicate, not `if batch:`."""
    if type(expr) is not f.Call:
        return False
    name = last_name(expr.func)
    return name in PREDICATES or (name in _OF_ALL and type(expr.func) is f.Attr and not expr.args)


#: methods that make one number of a tensor
_OF_ALL = frozenset("max min amax amin mean prod norm".split())


PREDICATES = frozenset(
    "any all item equal allclose isnan isinf isfinite is_nonzero bool numel len nelement count_nonzero sum int".split()
)


def observe(frame: Frame, value: Value, pos: f.Pos | None, text: str) -> Value:
    """Reading the content of tensor or batch data: from here on the value is known to differ."""
    if value.divergence is not None:
        return value
    deps = observed(value.deps)
    if value.data is None:
        return value.plain()._replace(deps=deps, types=NOTHING)
    divergence = value.data.then(frame.step("flow", pos, f"`{text}` {measured.READ}"))
    return Value(divergence=divergence.at_most(Confidence.MEDIUM), data=value.data, deps=deps)


def nothing_in_round(frame: Frame, expr: f.Expr, value: Value) -> Divergence | None:
    """Why there may be nothing in a round over local data that asks for it: `for batch in loader: if batch is None:`.

    Who asks expects samples that could not be read, and that is each rank's own matter.
    """
    if type(expr) is not f.Name or value.data is None or value.there:
        return None
    for loop, walked, _ in frame.rounds:
        names = loop.target.elements if type(loop.target) is f.Sequence else (loop.target,)
        if not any(type(n) is f.Name and n.id == expr.id for n in names) or is_output(frame, loop.iterable):
            continue
        if walked.loader or (walked.data is not None and not _told_apart(loop) and not _written_out(frame, loop)):
            if dropped_samples.are_all_there(frame):
                return None
            note = f"`{expr.id}` may be nothing in some rounds of this rank"
            return value.data.then(frame.step("flow", position(expr), note)).at_most(Confidence.MEDIUM)
    return None


def _told_apart(loop: f.For) -> bool:
    """Whether each item has a module, a setting or a name of its own: `self.projections[i](x)`, `if i == 0`,
    `zip(streams, self.configs)`, `metrics.items()`. They are the parts of one input, and not samples; which of them are
    there is decided by whoever calls, on all ranks alike."""
    iterable, target = loop.iterable, loop.target
    if type(iterable) is f.Call and last_name(iterable.func) == "enumerate" and iterable.args:
        counter = target.elements[0] if type(target) is f.Sequence and target.elements else None
        if type(counter) is f.Name and any(_own_part(node, counter.id) for node in walk(loop.body)):
            return True
        iterable = iterable.args[0]
    if type(iterable) is not f.Call:
        return False
    if last_name(iterable.func) == "zip":
        return any(place_name(_in_whole(a)).startswith("self.") for a in iterable.args)
    return last_name(iterable.func) == "items" and not iterable.args


def _in_whole(expr: f.Expr) -> f.Expr:
    """What some of the items are taken of, or all in another order: `self.layers[:-1]`, `reversed(self.layers)`."""
    while True:
        if type(expr) is f.Subscript and type(expr.index) is f.Op and expr.index.kind == "Slice":
            expr = expr.base
        elif type(expr) is f.Call and last_name(expr.func) == "reversed" and len(expr.args) == 1:
            expr = expr.args[0]
        else:
            return expr


def _written_out(frame: Frame, loop: f.For) -> bool:
    """Whether what is walked is a list that the function writes out, or several such side by side: what a caller has
    left out of `[types, places[:, 0]]` is nothing that is missing from a sample."""
    iterable = loop.iterable
    walked = iterable.args if type(iterable) is f.Call and last_name(iterable.func) == "zip" else (iterable,)
    return any(type(listed := definition(frame, x)) is f.Sequence and bool(listed.elements) for x in walked)


def _own_part(node: object, counter: str) -> bool:
    """`self.layers[i]`, `projections[i](x)`, `i == 0`"""
    if type(node) is f.Call and type(node.func) is f.Subscript:
        return last_name(node.func.index) == counter
    if type(node) is f.Subscript:
        return last_name(node.index) == counter and place_name(node.base).startswith("self.")
    return type(node) is f.Compare and last_name(node.left) == counter and type(node.rights[0]) is f.Const
