"""Callables that a call is given, and runs: a thread's, those of `map`, whatever an unknown call is handed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.calls.arguments import Arguments
from ferrule_lint.semantics.control import started
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value
from ferrule_lint.semantics.domain.targets import ExternalTarget, FunctionTarget, MethodTarget, PartialTarget
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.walk.binding import element_of, loop_term

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import ClassInfo
    from ferrule_lint.semantics.walk.frame import Frame


def run(frame: Frame, function: Value, arguments: Arguments) -> Value:
    """Call a value that some call was given."""
    from ferrule_lint.semantics.calls.dispatch import dispatch  # which runs what its calls are given

    return dispatch(frame, function, arguments)


def run_in_thread(frame: Frame, arguments: Arguments) -> Value:
    """`asyncio.to_thread(function, ...)`, `executor.submit(function, ...)`: the function runs with the rest."""
    if not arguments.positional:
        return UNKNOWN
    e = arguments.expr
    rest = arguments.replaced(expr=e._replace(args=e.args[1:]), positional=arguments.positional[1:])
    return _run_for(frame, e, last_name(e.func), arguments.positional[0], rest)


def mapped(frame: Frame, arguments: Arguments) -> Value:
    """`map(function, items)`: the function runs once for each item."""
    if len(arguments.positional) < 2:
        return UNKNOWN
    iterable, expr = arguments.positional[1], arguments.expr.args[1]
    item = of_item(frame, arguments.expr, iterable, expr)
    with frame.recording() as terms:
        result = run(frame, arguments.positional[0], item)
    if terms:
        frame.emit(loop_term(frame, iterable, tuple(terms), arguments.expr.pos, expr))
    return Value(
        data=result.data,
        length=iterable.length,
        unordered=iterable.unordered,
        element_types=result.types,
        holds=result.external,
        shape=result.shape,
        uneven_last=result.shape is not None,
        shape_deps=result.shape_deps,
    )


def of_item(frame: Frame, call: f.Call, iterable: Value, walked: f.Expr) -> Arguments:
    """What a function is called with that a call asks for each item: one of them, which is not what is walked."""
    item = call._replace(func=f.Name("next", call.pos), args=(walked,), keywords=())
    return Arguments(call._replace(args=(item,), keywords=()), (element_of(frame, iterable, walked),), {})


def mapped_in_threads(frame: Frame, arguments: Arguments) -> Value:
    """`executor.map(function, items)`: the same, and nothing says which of them comes first."""
    before = len(frame.terms)
    result = mapped(frame, arguments)
    if _has_threads(frame):
        started.note(frame, arguments.expr, before)
    return result


def _has_threads(frame: Frame) -> bool:
    """Whether the executors of a file are of threads; processes have groups of their own."""
    return frame.module.mentions_any(_THREADS) and not frame.module.mentions_any(_PROCESSES)


_THREADS = frozenset({"ThreadPoolExecutor"})
_PROCESSES = frozenset({"ProcessPoolExecutor"})


#: names of calls that store a callable for later
_KEEPS = re.compile(
    r"^(setattr|append|add|insert|extend|update|partial|wraps|field|setdefault|Process)$|(^|_)(register|subscribe|hook|on)(_|$)|^(add|set)_"
)


#: classes whose instances hold settings, a function to call among them (`TrainConfig(finalize_func=reduce_all)`)
_SETTINGS = re.compile(r"^_*[A-Z]\w*(Config(uration)?|Settings|Options|Arguments|Args)$")


#: calls that do nothing but run, in another thread, what they are given
RUNS = frozenset({"Thread", "Timer"})
#: classes whose instances run what their own `run` says, beside what comes after their `start()`
_THREAD_CLASSES = frozenset({"threading.Thread", "threading.Timer"})


def run_callbacks(frame: Frame, arguments: Arguments, name: str) -> None:
    """The callables that a call is given run, unless it keeps them by its name."""
    if _KEEPS.search(name) is not None or _SETTINGS.search(name) is not None:
        return
    for i, value in enumerate(arguments.values):
        if (type(value.target) in (FunctionTarget, PartialTarget) and is_callback(value)) or (
            _is_thread(name) and _is_collective(frame, value)
        ):
            _run_for(frame, arguments.expr, name, value, _handed_on(arguments, i))


def run_thread(frame: Frame, info: ClassInfo, instance: Value, call: f.Call) -> None:
    """What an instance of a thread's class does once it is started, which is taken to be so where it is made."""
    names = frame.analysis.names
    run_method = names.method(info, "run") if _THREAD_CLASSES & set(names.external_bases(info)) else None
    if run_method is None or names.method(info, "start") is not None:
        return
    constructor = names.method(info, "__init__")
    begins = constructor is not None and any(map(_starts, constructor.calls))
    if not begins and (frame.function is None or not any(map(_starts, frame.function.calls))):
        return  # who starts it stands elsewhere, if anywhere
    before = len(frame.terms)
    frame.analysis.call_function(frame, run_method, instance, (), {}, call.pos)
    started.note(frame, call, before, made=not begins)


def _starts(call: f.Call) -> bool:
    return last_name(call.func) == "start" and not call.args


def _run_for(frame: Frame, call: f.Call, name: str, function: Value, arguments: Arguments) -> Value:
    """What a call of something with this name runs; if that is in a thread, beside what comes after it."""
    before = len(frame.terms)
    result = run(frame, function, arguments)
    if _is_thread(name):
        started.note(frame, call, before)
    return result


def _is_thread(name: str) -> bool:
    """Whether a call of this name runs in a thread what it is given."""
    return name in RUNS or name == started.SUBMITS or name in started.AWAITED


def _is_collective(frame: Frame, value: Value) -> bool:
    """Whether something is a collective of a library, or the method of a tensor that is one: `p.full_tensor`."""
    if type(value.target) is MethodTarget:
        receiver = value.target.receiver
        return value.target.name == FULL_TENSOR and not receiver.types and receiver.external is None
    model = frame.models.call(value.target.dotted) if type(value.target) is ExternalTarget else None
    return model is not None and model.event is not None


#: brings the parts of a DTensor together
FULL_TENSOR = "full_tensor"


def _handed_on(arguments: Arguments, i: int) -> Arguments:
    """What a call gets that is handed to an unknown one: by Python's habit (`submit`, `run`, `run_in_executor`), the
    positional arguments that follow it."""
    e = arguments.expr
    rest = arguments.positional[i + 1 :] if i < len(e.args) else ()
    if arguments.is_open or any(v.target is not None for v in rest):
        rest = ()
    return Arguments(e._replace(args=e.args[i + 1 :] if rest else (), keywords=()), rest, {})


def is_callback(value: Value) -> bool:
    target = value.target
    while type(target) is PartialTarget:
        target = target.target.target
    return type(target) is FunctionTarget and not target.function.is_generator
