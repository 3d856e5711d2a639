"""How often something is iterated over: instances of the project's own classes, data loaders, shares of a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import WITH_BLOCKS, blocks, nodes, statements, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import budgets, even_samplers, own_samplers
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.dependences import COUNTED, FLOWS, ITERATED, NO_DEPS, Deps, only
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value, rounds_of, worse
from ferrule_lint.semantics.domain.text import last_name, render, shown, variables
from ferrule_lint.semantics.project.entities import by_id

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame, Round

#: arguments of a data loader that decide how many batches it yields, by name and position
_DECIDING = (("dataset", 0), ("sampler", 3), ("batch_sampler", 4), ("source_datapipe", 0))
#: methods of data sets that leave as many items as their argument says
CUTS = frozenset({"select", "take", "head", "limit", "Subset"})
#: torch's samplers that deal out each item of a data set once
_OF_ALL = frozenset({"RandomSampler", "SequentialSampler"})
#: a sampler that gives every rank as many indices, by its name
_EVEN = "distributed"

#: differences by which an iterator ends for itself: its own number, or its own clock
_OWN_ENDS = frozenset({"rank", "host"})

#: library classes whose `__iter__` a data loader runs
_DRAWN = frozenset({"Sampler", "BatchSampler", "IterableDataset"})


def of_instance(frame: Frame, value: Value, pos: f.Pos | None) -> Value:
    """An instance of a project class with what its `__iter__` tells of the number of rounds, or else its `__len__`: as
    many as a data set for `__getitem__` says it holds, or one that is filled behind a queue."""
    if not value.types or value.filled or value.length is not None or value.items is not None:
        return value
    frame.analysis.light.reads_layer = True
    if frame.light == 1:
        return value
    length, deps = value.length, value.length_deps
    for info in by_id(value.types)[:2]:
        generator = frame.analysis.names.method(info, "__iter__")
        if frame.analysis.is_module(info) or (
            generator is not None and frame.analysis.bodies.once(never_ends, generator.body)
        ):
            continue
        walked = _told_by(frame, info, value, "__iter__", pos)
        own, own_deps = (rounds_of(walked), walked.length_deps) if walked is not None else (None, NO_DEPS)
        if own is None and generator is not None and _hands_out_itself(generator):
            own = _runs_dry(frame, info)
            if own is None:
                own, own_deps = _of_what_it_draws(frame, info, value)
        if own is None and not own_deps:
            said = _told_by(frame, info, value, "__len__", pos) or UNKNOWN
            own = said.divergence or said.length
            own_deps = said.length_deps | only(said.deps, COUNTED, COUNTED, ITERATED)
        length = worse(length, own)
        deps |= own_deps
    return value._replace(length=length, length_deps=deps) if length is not None or deps else value


def _told_by(frame: Frame, info: ClassInfo, value: Value, name: str, pos: f.Pos | None) -> Value | None:
    """What a method of an instance returns, asked on the side; None if its class has no such method."""
    method = frame.analysis.names.method(info, name)
    if method is None:
        return None
    with frame.aside():
        place = pos or (frame.line, 1, frame.line, 1)
        result = frame.analysis.call_function(frame, method, value, (), {}, place)
    return result


def _hands_out_itself(method: FunctionInfo) -> bool:
    """`def __iter__(self): return self`"""
    last = method.body[-1] if method.body else None
    return type(last) is f.Return and type(last.value) is f.Name and last.value.id == method.parameters[0].name


def _runs_dry(frame: Frame, info: ClassInfo) -> Divergence | None:
    """Why an iterator ends on some ranks earlier: its `__next__` says so by the items that this rank has been dealt,
    or by what its host says (a clock)."""
    method = frame.analysis.names.method(info, "__next__")
    known = frame.analysis.frame_of(method) if method is not None and not frame.light else None
    ends = [e.divergence for e in known[1].escapes.values() if e.name == "StopIteration"] if known is not None else []
    return next((d.at_most(Confidence.MEDIUM) for d in ends if d is not None and d.kind in _OWN_ENDS), None)


def _of_what_it_draws(frame: Frame, info: ClassInfo, value: Value) -> tuple[Divergence | None, Deps]:
    """The same by what the instance was built around: its `__next__` draws from that, and lets its end through, or
    looks for that itself."""
    from ferrule_lint.semantics.control import drawing  # which asks for what stands here

    method = frame.analysis.names.method(info, "__next__")
    if method is None or not value.given or frame.light:
        return None, NO_DEPS
    held = [frame.analysis.holders.attribute(info, name, 0) for name in drawing.attributes_of(frame, method)]
    deps = NO_DEPS.union(*(h.length_deps for h in held if h is not None))
    known = frame.analysis.frame_of(method)
    ends = known[1].escapes.values() if known is not None else ()
    deps = deps.union(*(e.deps for e in ends if e.name == "StopIteration"))
    given = dict(value.given)
    built_of = [given[p[1:]] for p, how in sorted(deps) if how == COUNTED and p[0] == "." and p[1:] in given]
    length: Divergence | None = None
    for one in built_of:
        length = worse(length, one.length)
    return length, NO_DEPS.union(*(one.length_deps for one in built_of))


def never_ends(body: f.Body) -> bool:
    """Whether a generator yields in a `while True` that nothing leaves: who walks it stops by another count."""
    return any(
        type(loop) is f.While
        and loop.test == f.Const("True")
        and bool(nodes(loop.body, f.Yield))
        and not _is_left(loop.body, of_loop=True)
        for loop in statements(body)
    )


def _is_left(body: f.Body, of_loop: bool) -> bool:
    """Whether something in a body leaves the loop around it, or the function; `of_loop`: a `break` here is of that
    loop, and not of one in it."""
    for s in body:
        if type(s) is f.Return or type(s) is f.Raise or (type(s) is f.Break and of_loop):
            return True
        if type(s) is f.For or type(s) is f.While:
            if _is_left(s.body, of_loop=False) or _is_left(s.orelse, of_loop):
                return True
        elif type(s) in WITH_BLOCKS and any(_is_left(block, of_loop) for block in blocks(s)):
            return True
    return False


def drawn(frame: Frame, body: f.Body, walked: f.Expr | None = None) -> Divergence | None:
    """Why a loop of a sampler, or of an iterable data set, that yields in its rounds takes as many as its rank's loader
    asks for. Loaders ask ahead of time, and ranks evaluate, resume and run out of data on their own; not of an even
    sampler that is walked (`DistributedSampler`)."""
    function, owner = frame.function, frame.self_class
    if function is None or owner is None or function.name != "__iter__":
        return None
    bases = [base.rpartition(".")[2] for base in frame.analysis.names.external_bases(owner)]
    if _DRAWN.isdisjoint(bases) or not any(type(node) is f.Yield for node in walk(body)):
        return None
    if walked is not None and even_samplers.is_walked(frame, walked):
        return None
    place = (function.line, 1, function.line, 1)
    note = f"a rank's loader draws from `{owner.name}` as often as this rank needs it"
    return frame.source(DP, "host", place, note, Confidence.MEDIUM)


def of_loader(frame: Frame, arguments: Arguments) -> tuple[Divergence | None, Divergence | None, Deps]:
    """Why a data loader yields another number of batches on each rank, why its last batch is smaller on some, and the
    parameters that decide how many there are."""
    length: Divergence | None = None
    deps = NO_DEPS
    for name, position in _DECIDING:
        value = arguments.keywords.get(name)
        if value is None and position < len(arguments.positional) and not arguments.is_open:
            value = arguments.positional[position]
        if value is None:
            continue
        if name == "sampler" and _is_of_all(
            frame, arguments.expression(name, position), arguments.expression("dataset", 0)
        ):
            continue
        if name == "sampler" and value.const != "None" and value.length is None and not value.types:
            return None, None, NO_DEPS  # a library's sampler is there to make it even
        expr = arguments.expression(name, position)
        found = of_instance(frame, value, arguments.expr.pos)
        own = rounds_of(found)
        if own is not None and name.endswith("sampler"):
            whole = any(v.multiple for v in (*arguments.positional[:1], arguments.keywords.get("dataset", UNKNOWN)))
            if name != "sampler" or whole or not own_samplers.are_uneven(frame, value):
                own = own.at_most(Confidence.LOW)  # it knows its rank mostly to make the shares even
        if name == "batch_sampler" and expr is not None and len(value.types) == 1:
            own = budgets.of_sampler(frame, definition(frame, expr), by_id(value.types)[0]) or own
        length = worse(length, own)
        deps |= found.length_deps | only(found.deps, ITERATED, FLOWS)
        if name == "sampler" and _EVEN in last_name(expr).lower():
            return None, None, NO_DEPS
    deps = only(deps, COUNTED, ITERATED, COUNTED)
    if length is None:
        return None, None, deps
    note = f"`{shown(arguments.expr.func)}` yields as many batches as this rank has items for"
    length = length.then(frame.step("flow", arguments.expr.pos, note)).at_most(Confidence.MEDIUM)
    drops = arguments.keywords.get("drop_last")
    return length, None if drops is not None and drops.const != "False" else length, deps


def _is_of_all(frame: Frame, sampler: f.Expr | None, items: f.Expr | None) -> bool:
    """Whether a sampler deals out what there is in the loader's data set, in some order: `RandomSampler(dataset)`."""
    made = definition(frame, sampler) if sampler is not None else None
    if type(made) is not f.Call or last_name(made.func) not in _OF_ALL or items is None:
        return False
    given = (*made.args, *(value for name, value in made.keywords if name != "generator"))
    return len(given) == 1 and render(given[0]) == render(items)


def built_around(frame: Frame, arguments: Arguments) -> Divergence | None:
    """Why a data set of which nothing but its name is known has another number of items on every rank: it is made of
    this rank's share of another, `PackedDataset(dataset.shard(world_size, rank), tokenizer)`."""
    if not arguments.positional or not last_name(arguments.expr.func).lower().endswith("dataset"):
        return None
    share = of_instance(frame, arguments.positional[0], arguments.expr.pos).length
    if share is None or share.kind != "rank":
        return None
    note = f"`{shown(arguments.expr.func)}` is made of this rank's share"
    return share.then(frame.step("flow", arguments.expr.pos, note)).at_most(Confidence.MEDIUM)


def by_name(frame: Frame, name: str, whole: Value, arguments: Arguments) -> Value | None:
    """What a method of a project's own data set does to the number of items, where its name says so:
    `dataset.shard(world_size, rank)`, `dataset.select(range(n))`."""
    if name in CUTS and any(v.multiple for v in arguments.values):
        return Value(multiple=True)
    if name != "shard" or whole.multiple or not any(v.world_size for v in arguments.values):
        return None
    rank = next((v.divergence for v in arguments.values if v.divergence and v.divergence.kind == "rank"), None)
    if rank is None:
        return None
    note = f"`{shown(arguments.expr)}` takes another share on every rank"
    return Value(length=rank.then(frame.step("condition", arguments.expr.pos, note)).at_most(Confidence.MEDIUM))


# ---------------------------------------------------------------------- shares
def counts_rounds(frame: Frame, arguments: Arguments) -> bool:
    """Whether one of the things that are walked side by side is a number of rounds which is not known to differ:
    `zip(range(steps), batches)`."""
    pairs = zip(arguments.expr.args, arguments.positional, strict=False)
    made = [definition(frame, expr) for expr, value in pairs if rounds_of(value) is None]
    return any(type(m) is f.Call and last_name(m.func) == "range" for m in made)


def re_yields(frame: Frame) -> bool:
    """Whether what is yielded has been put aside before, one by one, by a loop that empties what it has gathered:
    `for x in held: yield x` and `held.clear()`. When it is yielded is no matter of how much."""
    if not frame.rounds or frame.function is None or rounds_of(frame.rounds[-1].walked) is not None:
        return False
    last = frame.rounds[-1]
    if type(last.statement.iterable) is not f.Name or any(map(divergence_of, frame.conditions[last.conditions :])):
        return False
    held, nodes = last.statement.iterable.id, list(walk(frame.function.body))
    methods = {n.func.attr for n in nodes if type(n) is f.Call and type(n.func) is f.Attr and _is(n.func.base, held)}
    emptied = [n for n in nodes if type(n) is f.Assign and any(_is(t, held) for t in n.targets)]
    return "append" in methods and ("clear" in methods or len(emptied) > 1)


def _is(expr: f.Expr, name: str) -> bool:
    return type(expr) is f.Name and expr.id == name


def definition(frame: Frame, expr: f.Expr) -> f.Expr:
    """What a name stands for, if that is known."""
    if type(expr) is f.Name:
        known = frame.definitions.get(expr.id)
        if known is not None and known[1] == frame.version(expr.id):
            return known[0]
    return expr


def last_round(frame: Frame, left: f.Expr, op: str, right: f.Expr) -> bool | None:
    """Whether a comparison by `==`, `<` or `<=` holds in the last round of a loop alone (True), or in all the others
    (False: `i < len(items) - 1`); None: it asks for something else. There is one last round on every rank, whatever
    the number of rounds."""
    if op == "==":
        return asks_for_last_round(frame, left, right) or None
    if op == "<" and _is_one_short(frame, left, right):
        return False
    return True if op == "<=" and _is_one_short(frame, right, left) else None


def asks_for_last_round(frame: Frame, left: f.Expr, right: f.Expr) -> bool:
    """`i + 1 == len(items)`, `i == len(items) - 1` in a loop that counts its rounds over these items."""
    counted = [r for one in frame.rounds for r in _counted(frame, one)]
    for counting, ending in ((left, right), (right, left)) if counted else ():
        names = variables(counting)
        parts = (part for part in walk(ending) if isinstance(part, f.Name | f.Attr | f.Call))
        numbers = {text for part in parts for text in _texts(frame, part)}
        if any(r.counter in names and r.number in numbers for r in counted):
            return True
    return False


def _is_one_short(frame: Frame, low: f.Expr, high: f.Expr) -> bool:
    """Whether the larger of two numbers is that of the last round of a loop, seen from its counter: `i` and
    `len(items) - 1`, `i + 1` and a variable for as many, `i` and `n` in a loop over `range(n + 1)`."""
    counter, more = _with_offset(definition(frame, low))
    if type(counter) is not f.Name:
        return False
    counted = [r for one in frame.rounds for r in _counted(frame, one) if r.counter == counter.id]
    for number, less in (_with_offset(high), _with_offset(definition(frame, high))) if counted else ():
        texts = _texts(frame, number)
        if any(r.number in texts and less - more == r.extra - 1 for r in counted):
            return True
    return False


def _texts(frame: Frame, number: f.Expr) -> tuple[str, str]:
    """A number as it is written, and what a variable stands for."""
    return render(number), render(definition(frame, number))


def _with_offset(expr: f.Expr) -> tuple[f.Expr, int]:
    """A number, and what is written out to be added to it."""
    if type(expr) is f.Op and expr.kind in ("Add", "Sub") and type(expr.operands[1]) is f.Const:
        text = expr.operands[1].text
        if text.isdigit():
            return expr.operands[0], int(text) if expr.kind == "Add" else -int(text)
    return expr, 0


class _Rounds(NamedTuple):
    """A loop has `number + extra` rounds, which `counter` counts from 0."""

    counter: str
    number: str
    extra: int = 0


def _counted(frame: Frame, round_: Round) -> Iterator[_Rounds]:
    """How many rounds a loop has: `for i, x in enumerate(xs)`, `n` for `xs = chunks(x, n)`, `for i in range(n)`."""
    target, walked = round_.statement.target, round_.statement.iterable
    while type(walked) is f.Call and last_name(walked.func) in ("tqdm", "progress_bar", "trange") and walked.args:
        walked = walked.args[0]
    if type(walked) is not f.Call or len(walked.args) != 1:
        return
    if last_name(walked.func) == "enumerate" and type(target) is f.Sequence and type(target.elements[0]) is f.Name:
        counter, items = target.elements[0].id, walked.args[0]
        yield _Rounds(counter, f"len({render(items)})")
        made = definition(frame, items)
        given = made.args[1:] if type(made) is f.Call else ()
        yield from (_Rounds(counter, render(n)) for n in given if type(n) is f.Name or type(n) is f.Attr)
    if last_name(walked.func) == "range" and type(target) is f.Name:
        number, extra = _with_offset(walked.args[0])
        if isinstance(number, f.Name | f.Attr | f.Call):
            yield from (_Rounds(target.id, text, extra) for text in _texts(frame, number))
