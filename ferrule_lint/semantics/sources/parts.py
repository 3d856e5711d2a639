"""Lists whose items a function sums up and reduces, or hands over as they are: a rank may hold other ones, or none.

`total = norm(g.norm() for g in grads); all_reduce(total)`: what goes into the sum differs between ranks, and in number,
or nobody would need the sum of the others. So a rank that has nothing to sum up leaves early and the others wait.
What is reduced item by item (`stack(grads)`, a bucket) has the same items everywhere, and says nothing of the kind;
of what is gathered as objects every rank may bring as many as it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import UNKNOWN_GROUP, WORLD
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, place_name, position, render
from ferrule_lint.semantics.sources import admissions, filled_in_step, padded, reducing

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: functions that make one number of many things, by a word in their names
_SUMS = re.compile(r"(^|_)(f?sum|norm|norms|mean|average|max|amax|min|amin|total|count|len)(_|$)")
#: methods that hand on a number
_OF_NUMBERS = frozenset("item sqrt square pow sum mean reshape view unsqueeze squeeze".split())
#: functions that make one thing of the items of a list
_JOINS = frozenset("cat concat concatenate vstack hstack list dict tuple sorted set copy deepcopy".split())
#: functions that only walk what they are given
_WALKS = frozenset("enumerate zip sorted list tuple reversed tqdm iter".split())
_ITEMS = frozenset("values items keys".split())
#: what is waited for, or under way, is kept in step by who puts it there
_UNDER_WAY = re.compile(r"queue|pending|ongoing|flight|waiting|running|request|task|job|(^|_)reqs?(_|$)", re.IGNORECASE)
_MOST_STEPS = 4


class Part(NamedTuple):
    """Where what a list holds is reduced or gathered."""

    pos: f.Pos
    op: str
    group: str
    #: what it goes in by
    name: str


def nothing_of(frame: Frame, expr: f.Expr, value: Value) -> Divergence | None:
    """Why a list, of which a test before that place asks whether it is empty, may be so on this rank alone."""
    place, pos = place_name(expr), position(expr)
    if not place or pos is None or frame.light or frame.function is None:
        return None
    if value.uniform or value.agreed or value.items is not None or value.world_size or value.group is not None:
        return None
    part = of_function(frame, frame.function).get(place)
    if part is None or part.pos[:2] <= pos[:2]:
        return None
    if "." not in place and filled_in_step.is_filled(frame, frame.function, place):
        return None
    if frame.analysis.bodies.once(_takes_own_part, frame.function.body):
        return None
    bodies, body = frame.analysis.bodies, frame.function.body
    if place in bodies.once(_asserted_lengths, body) or padded.is_padded(bodies, body, place):
        return None
    axes = WORLD if part.group in ("", "None") else frame.axes_in(part.group) or UNKNOWN_GROUP
    into = f"`{part.op}`" if part.name == place else f"`{part.name}`, which goes into `{part.op}`"
    note = f"what `{place}` holds goes into {into} there, so a rank may hold other items, or none"
    passed_in = _is_parameter(frame.function, place) and not frame.version(place)
    if passed_in and part.op.endswith("_object"):
        return None  # its truth may ask whether it was passed; of what says that it is a list `admissions` knows
    # who passes a list to be summed up may see to it that there is something in it
    guess = _UNDER_WAY.search(place) or passed_in
    found = frame.source(axes, "data", part.pos, note, Confidence.LOW if guess else Confidence.MEDIUM)
    group = part.group if axes == UNKNOWN_GROUP else ""
    return found._replace(empty=True, group=group, assumed=passed_in)


def _takes_own_part(body: f.Body) -> bool:
    """Whether a function takes this rank's part of gradients that are distributed (`p.grad._local_tensor`): a rank has
    each of these, with an empty part where it has none."""
    attributes = (node for node in walk(body) if type(node) is f.Attr and last_name(node.base) == "grad")
    return any(attribute.attr in ("_local_tensor", "to_local") for attribute in attributes)


def _asserted_lengths(body: f.Body) -> frozenset[str]:
    """The lists of which a function asserts how many items they hold: one for each rank, say, and no rank none."""
    tests = (s.test for s in statements(body) if type(s) is f.Assert)
    equal = (t for t in tests if type(t) is f.Compare and t.ops == ("==",))
    counted = (side for t in equal for side in (t.left, *t.rights) if type(side) is f.Call)
    return frozenset(place_name(c.args[0]) for c in counted if last_name(c.func) == "len" and len(c.args) == 1)


def of_function(frame: Frame, function: FunctionInfo) -> dict[str, Part]:
    """The lists whose items a function sums up and reduces, or gathers, by their places."""
    return _of_function(frame.analysis, function)


def _of_function(analysis: Analysis, function: FunctionInfo) -> dict[str, Part]:
    if not function.module.mentions_any(reducing.WORDS):
        return {}
    return analysis.parts.find(function.id, lambda: _found_in(analysis, function), {})


def _is_built(value: f.Expr) -> bool:
    """Whether a list is made here; who gets one as a whole from a call (the losses that a schedule hands back on the
    last stage) knows where there is one."""
    joined = type(value) is f.Call and (last_name(value.func) in _JOINS or last_name(value.func) in _WALKS)
    return joined or type(value) in (f.Sequence, f.Comprehension, f.DictDisplay, f.Op, f.Name, f.Attr, f.Subscript)


class _Made(NamedTuple):
    """How a function comes by its names."""

    assigned: dict[str, list[f.Expr]]
    #: what the loops walk that add something up, and what they keep beside
    summed: dict[str, list[f.Expr]]


def _found_in(analysis: Analysis, function: FunctionInfo) -> dict[str, Part]:
    found: dict[str, Part] = {}
    made: _Made | None = None
    for node in function.calls:
        reduced = [(given, op, group) for given, op, group in admissions.reduced(analysis, function, node) if given]
        helped = list(_of_helper(analysis, function, node))
        if not reduced and not helped:
            continue
        made = made or _made_in(function)
        told = list(helped)
        for name, place, op, group in helped:
            sources = made.assigned.get(place, ())
            told += [(name, other, op, group) for source in sources for other in _item_by_item(source)]
        for given, op, group in reduced:
            pairs = _handed_over(given, made) if op.endswith("_object") else _summed(given, made)
            told += [(name, place, op, group) for name, place in pairs]
        for name, place, op, group in told:
            collected = "." in place and filled_in_step.is_collected(function, place)
            built = any(_is_built(value) for value in made.assigned.get(place, ()))
            known = collected or built or (place not in made.assigned and _is_parameter(function, place))
            if known and (place not in found or node.pos < found[place].pos):
                found[place] = Part(node.pos, op, group, name or place)
    return found


def _of_helper(analysis: Analysis, function: FunctionInfo, call: f.Call) -> Iterator[tuple[str, str, str, str]]:
    """The lists that a call hands to a helper which sums up what they hold and reduces that: each with the name it goes
    in by, the operation and the group."""
    helper = reducing.helper_of(analysis, function, call)
    if helper is None or helper is function.origin:
        return
    own = {p.name for p in helper.parameters}
    for name, part in _of_function(analysis, helper).items():
        given = reducing.argument(helper, call, name) if name in own and not part.op.endswith("_object") else None
        if given is not None and place_name(given) and name not in helper.traits.set_again:
            group = reducing.argument(helper, call, part.group)
            yield place_name(given), place_name(given), part.op, part.group if group is None else render(group)


def _made_in(function: FunctionInfo) -> _Made:
    made = _Made({}, {})
    for node in statements(function.body):
        if type(node) is f.Assign and len(node.targets) == 1 and node.value is not None:
            place = place_name(node.targets[0])
            if place:
                made.assigned.setdefault(place, []).append(node.value)
        elif type(node) is f.For:
            for inner in statements(node.body):
                name = _adds_up(inner)
                if name:
                    made.summed.setdefault(name, []).append(node.iterable)
            for name, kept in _kept_beside(node):
                made.summed.setdefault(name, []).append(kept)
    return made


def _kept_beside(loop: f.For) -> Iterator[tuple[str, f.Expr]]:
    """The names that a loop adds up, each with a list that it keeps what is added up in, in the rounds that it does not
    leave out: `if p.grad is None: continue`, `total += p.grad.pow(2).sum()`, `grads.append(p.grad)`."""
    leaves_out = any(type(s) is f.If and f.Continue in map(type, s.body) for s in loop.body)
    blocks = [s.body for s in loop.body if type(s) is f.If and not s.orelse] + ([loop.body] if leaves_out else [])
    for block in blocks:
        names = [name for s in block if (name := _adds_up(s))]
        calls = (s.value for s in block if type(s) is f.ExprStmt and type(s.value) is f.Call)
        kept = [c.func.base for c in calls if type(c.func) is f.Attr and c.func.attr == "append"]
        yield from ((name, place) for name in names for place in kept if type(place) is f.Name)


def _adds_up(statement: object) -> str:
    """The name that a statement adds to: `total += x`, `total = total + x`, `total = maximum(total, x)`."""
    if type(statement) is f.AugAssign and type(statement.target) is f.Name:
        return statement.target.id
    if type(statement) is f.Assign and len(statement.targets) == 1 and type(statement.targets[0]) is f.Name:
        value, name = statement.value, statement.targets[0].id
        operands = value.operands if type(value) is f.Op else value.args if type(value) is f.Call else ()
        return name if any(type(o) is f.Name and o.id == name for o in operands) else ""
    return ""


def _handed_over(given: f.Expr, made: _Made) -> Iterator[tuple[str, str]]:
    """The places of lists that are gathered as objects, as they are or joined, each with the name it goes in by."""
    name = place_name(given)
    for source in (given, *made.assigned.get(name, ())):
        yield from ((name, place) for place in _joined(source))


def _summed(given: f.Expr, made: _Made) -> Iterator[tuple[str, str]]:
    """The places of lists that the number which is reduced is a sum of, each with the name it goes in by."""
    seen: set[str] = set()
    todo = [(given, "", 0)]
    while todo:
        expr, name, steps = todo.pop()
        for part in _computed_of(expr):
            if type(part) is f.Call:
                for place in _walked(part):
                    yield name, place
                    sources = made.assigned.get(place, ())
                    yield from ((name, other) for source in sources for other in _item_by_item(source))
            elif type(part) is f.Name and part.id not in seen and steps < _MOST_STEPS:
                seen.add(part.id)
                todo += [(source, name or part.id, steps + 1) for source in made.assigned.get(part.id, ())]
                for iterable in made.summed.get(part.id, ()):
                    yield from ((name or part.id, place) for place in _iterated(iterable))


def _computed_of(expr: f.Expr) -> Iterator[f.Expr]:
    """The names and sums that a number is computed of: `total`, `torch.tensor([total])`, `sum(xs) ** 2`."""
    if type(expr) is f.Name:
        yield expr
    elif type(expr) is f.Op:
        for operand in expr.operands:
            yield from _computed_of(operand)
    elif type(expr) is f.Sequence:
        for operand in expr.elements:
            yield from _computed_of(operand)
    elif type(expr) is f.Call and _SUMS.search(last_name(expr.func)) and _is_method_of_result(expr):
        yield expr._replace(args=(expr.func.base,))  # type: ignore[union-attr]
    elif type(expr) is f.Call and _SUMS.search(last_name(expr.func)) and expr.args:
        yield expr
    elif type(expr) is f.Call and (last_name(expr.func) in admissions.SAME or last_name(expr.func) in _OF_NUMBERS):
        for operand in (*expr.args[:1], *((expr.func.base,) if type(expr.func) is f.Attr else ())):
            yield from _computed_of(operand)


def _is_method_of_result(call: f.Call) -> bool:
    """`stack([g.norm() for g in grads]).sum()`: summed up is what the method is called of."""
    return type(call.func) is f.Attr and type(call.func.base) is f.Call


def _joined(expr: f.Expr) -> Iterator[str]:
    """The list that is handed over: as it is, or joined to one thing."""
    if place_name(expr):
        yield place_name(expr)
    elif type(expr) is f.Call and expr.args and last_name(expr.func) in _JOINS:
        yield from _joined(expr.args[0])


def _walked(call: f.Call) -> Iterator[str]:
    """The lists whose items a sum is made of: `sum(xs)`, `norm(stack([g.norm() for g in grads]))`."""
    for node in walk(call.args):
        if type(node) is f.Generator:
            yield from _iterated(node.iterable)
        elif type(node) is f.Call and node.args and (_SUMS.search(last_name(node.func)) or _gathers_up(node)):
            yield from _iterated(node.args[0])
    for argument in call.args:
        yield from _iterated(argument)


def _gathers_up(call: f.Call) -> bool:
    return last_name(call.func) in ("stack", "cat", "tensor")


def _item_by_item(expr: f.Expr) -> Iterator[str]:
    """The list that another has as many items as: `[g.norm() for g in grads]`, `_foreach_norm(grads)`."""
    if type(expr) is f.Comprehension and not any(g.conditions for g in expr.generators):
        yield from _iterated(expr.generators[0].iterable)
    elif type(expr) is f.Call and expr.args and (last_name(expr.func) in _WALKS or "foreach" in last_name(expr.func)):
        yield from (_item_by_item(expr.args[0]) if type(expr.args[0]) is f.Comprehension else _iterated(expr.args[0]))


def _iterated(expr: f.Expr) -> Iterator[str]:
    if place_name(expr):
        yield place_name(expr)
    elif type(expr) is f.Call and last_name(expr.func) in _WALKS:
        for argument in expr.args:
            yield from _iterated(argument)
    elif type(expr) is f.Call and type(expr.func) is f.Attr and expr.func.attr in _ITEMS:
        yield from _iterated(expr.func.base)


def _is_parameter(function: FunctionInfo, name: str) -> bool:
    return any(p.name == name for p in function.parameters)
