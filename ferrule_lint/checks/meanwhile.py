"""Which statements of a function run while a thread does that it has started: up to where it waits for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, way_to
from ferrule_lint.facts.walk import stands_in as stands_in_expr
from ferrule_lint.semantics.calls.callbacks import RUNS
from ferrule_lint.semantics.control.started import AWAITED, MAPS, SUBMITS, Started
from ferrule_lint.semantics.domain.text import last_name, shown, words
from ferrule_lint.semantics.domain.trace import CallTerm, Trace, every_term
from ferrule_lint.semantics.project.entities import ModuleInfo
from ferrule_lint.semantics.walk.frame import Frame

#: calls behind which a thread has ended, by their names: `thread.join()`, `future.result()`, `self.wait_for_saves()`
_WAITS = re.compile(
    r"(^|_)(join|results?|waits?|shutdown|close|stop|finish|finali[sz]e|drain|flush|sync|synchronize|ensure|complete|"
    r"as_completed|cancel|exception|exit|cleanup|terminate)(_|$)"
)
#: what starts a thread that its class has made
_START = "start"
_SIMPLE = (f.ExprStmt, f.Assign, f.Return)
_LEAVES = (f.Return, f.Raise, f.Break, f.Continue)
_POOL = re.compile(r"Executor|Pool|executor|pool")
#: a thread that is told such a thing stands for a rank
_RANK = re.compile(r"(^|_)(ranks?|world|world_size|devices?|workers?|replicas?|nodes?)(_|$)")
_PATHS = re.compile(r"path$|^osp?$")
#: what waits for several at once, for all that anybody knows in no order
_GATHERS = frozenset({"gather", "wait", "as_completed"})
_SPEAKS_OF_THREADS = frozenset({SUBMITS, *RUNS})
#: functions that call each other, and leave a thread running
_DEEPEST = 3


def started_in(
    frame: Frame, trace: Trace, body: f.Body, seen: set[str] | None = None, depth: int = 0
) -> Iterator[Started]:
    """The threads that a function starts and that issue something, and those which what it calls leaves running; each
    function is looked into once (`seen`)."""
    seen = set() if seen is None else seen
    yield from frame.started
    for term in every_term(trace):
        if type(term) is CallTerm and depth < _DEEPEST:
            yield from (s._replace(pos=term.pos) for s in _left_running(frame, term, seen, depth))


def _left_running(frame: Frame, call: CallTerm, seen: set[str], depth: int) -> Iterator[Started]:
    """What a callee has started and does not wait for."""
    function = call.summary.function
    if function is None or function.id in seen or function is frame.function:
        return
    seen.add(function.id)
    known = frame.analysis.frame_of(function) if function.module.mentions_any(_SPEAKS_OF_THREADS) else None
    if known is None:
        return
    for started in started_in(known[1], known[0].trace, function.body, seen, depth + 1):
        begun = _begun(function.body, started)
        if begun is not None and runs_on(started) and not any(map(_waits, _after(function.body, begun))):
            yield started._replace(made=False)


def runs_on(started: Started) -> bool:
    """Whether a thread runs beside what stands behind the call that starts it: not where that waits for what it hands
    back, as an `await` does, of which nothing is kept."""
    return started.how != MAPS and started.how not in AWAITED


def during(body: f.Body, started: Started) -> list[f.Stmt]:
    """The statements that run after a thread has been started, up to the first that waits for it."""
    begun = _begun(body, started)
    found: list[f.Stmt] = []
    for s in _after(body, begun) if begun is not None else ():
        if _waits(s):
            break
        found.append(s)
    return found


def stands_in(body: f.Body, statements: list[f.Stmt], pos: f.Pos) -> bool:
    """Whether a place of a function is in one of its statements."""
    around = [block[i] for block, i in way_to(body, pos)]
    return any(s is one for s in statements for one in around)


def is_several(frame: Frame, started: Started, body: f.Body) -> bool:
    """Whether a loop starts one thread after the other and waits for none of them in between. Threads that each stand
    for a rank are another matter, and so is an executor with a single one."""
    begun = _begun(body, started)
    call = next((c for c in nodes(body, f.Call) if c.pos == started.pos), None)
    if begun is None or call is None:
        return False
    if _names_rank((*call.args, *(v for _, v in call.keywords))) or (
        not started.made and _has_one_thread(frame.module, _is_of_loop(call))
    ):
        return False
    if started.how == MAPS:
        return not _is_told_its_rank(started)
    if started.how in AWAITED:
        return _is_gathered(body, call)
    if started.made and not _is_made_again(body, call):
        return False
    around = [block[i] for block, i in way_to(body, begun)]
    for s in around:
        if type(s) is f.For or type(s) is f.While:
            return not _waits(s) and not (type(s) is f.For and _names_rank((s.target, s.iterable)))
    if not around or not isinstance(around[-1], _SIMPLE) or _waits(around[-1]):
        return False
    return any(stands_in_expr(call, c) and not _names_rank(c) for c in nodes(around[-1], f.Comprehension))


def _is_made_again(body: f.Body, call: f.Call) -> bool:
    """Whether a call makes a thread in each round of a loop, or for each item of a comprehension."""
    around = [block[i] for block, i in way_to(body, call.pos)]
    return any(type(s) is f.For or type(s) is f.While for s in around) or any(
        stands_in_expr(call, c) for c in nodes(body, f.Comprehension)
    )


def _names_rank(node: object) -> bool:
    return any(_RANK.search(name) for name in words(node))


def _is_told_its_rank(started: Started) -> bool:
    """Whether what is run for each item calls it a rank."""
    called = (t.summary.function for t in started.terms if type(t) is CallTerm)
    return any(_RANK.search(p.name) for function in called if function is not None for p in function.parameters)


def _is_of_loop(call: f.Call) -> bool:
    """Whether a function goes to the executor that every event loop has, with many threads."""
    given = call.args[0] if call.args else None
    return last_name(call.func) in AWAITED and (last_name(call.func) == "to_thread" or given == f.Const("None"))


def _is_gathered(body: f.Body, call: f.Call) -> bool:
    """Whether a call stands for each item of a comprehension whose results are waited for together:
    `gather(*[to_thread(read, x) for x in xs])`, also by the name of that list."""
    for gather in nodes(body, f.Call):
        if last_name(gather.func) not in _GATHERS:
            continue
        if any(stands_in_expr(call, c) and not _names_rank(c) for c in nodes(gather.args, f.Comprehension)):
            return True
        given = set(words(gather.args))
        for s in nodes(body, f.Assign):
            made = s.value if {last_name(t) for t in s.targets} & given else None
            if type(made) is f.Comprehension and stands_in_expr(call, made) and not _names_rank(made):
                return True
    return False


def _has_one_thread(module: ModuleInfo, of_loop: bool = False) -> bool:
    """Whether the executors of a file have one thread each: what they run is in order among itself. `of_loop`: also
    where the file makes none."""
    pools = (call for _, calls in module.calls() for call in calls if _POOL.search(last_name(call.func)))
    sizes = [dict(call.keywords).get("max_workers", call.args[0] if call.args else None) for call in pools]
    return (not sizes and not of_loop) or any(type(size) is f.Const and size.text == "1" for size in sizes)


def _begun(body: f.Body, started: Started) -> f.Pos | None:
    """Where a thread begins to run, or None where it does not in this function."""
    if not started.made:
        return started.pos
    return min(
        (c.pos for c in nodes(body, f.Call) if last_name(c.func) == _START and c.pos[:2] >= started.pos[:2]),
        default=None,
    )


def _after(body: f.Body, pos: f.Pos) -> Iterator[f.Stmt]:
    """The statements that run after a place, in their order: behind it in its block, then in those around it, and of a
    loop also what stands before it, in the next round."""
    way = way_to(body, pos)
    if way and isinstance(s := way[-1][0][way[-1][1]], _SIMPLE) and _waits(s):
        return
    for depth in range(len(way) - 1, -1, -1):
        block, i = way[depth]
        for s in block[i + 1 :]:
            yield s
            if isinstance(s, _LEAVES):
                return
        around = way[depth - 1][0][way[depth - 1][1]] if depth else None
        if type(around) is f.With and any(_POOL.search(shown(expr)) for expr, _ in around.items):
            return
        if type(around) is f.For or type(around) is f.While:
            yield from block[:i]
        elif type(around) is f.Try:
            yield from (s for part in (around.orelse, around.final) if part is not block for s in part)


def _waits(s: f.Stmt) -> bool:
    return any(_WAITS.search(last_name(call.func)) and not _joins_text(call) for call in nodes(s, f.Call))


def _joins_text(call: f.Call) -> bool:
    """`os.path.join(...)`, `osp.join(...)`, `", ".join(...)`."""
    base = call.func.base if type(call.func) is f.Attr else None
    return last_name(call.func) == "join" and (type(base) is f.Const or _PATHS.search(last_name(base)) is not None)
