"""What other threads put into queues, and which flags they set: only that is there on one rank sooner than on another.

A queue or flag that the code which looks at it fills and sets itself is as full on every rank as that code makes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.text import called_name, last_name, words
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.reads import Memo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: what asks a queue or flag for its state now
ASKS = frozenset({"is_set", "empty", "full", "qsize", "get_nowait"})
#: what starts another thread, or hands a function to one, or has it called whenever something happens
_STARTS = frozenset(
    "Thread Process Timer submit run_in_executor to_thread run_in_thread start_new_thread create_task ensure_future "
    "run_coroutine_threadsafe call_soon_threadsafe call_later add_done_callback add_signal_handler signal spawn "
    "apply_async map_async start_soon gather run_coroutine register_callback".split()
)
_FILLS = frozenset({"set", "put", "put_nowait"})
#: calls of calls that are followed from a thread's function
_DEEPEST = 3


class Threads:
    """Asked by the name of the attribute or variable that holds the queue or flag."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._fed: dict[str, bool] = {}
        #: path of a file -> what `_started` says of it
        self._threads: Memo[str, tuple[set[str], set[str]]] = Memo(analysis.names.reads)

    def feed(self, name: str) -> bool:
        """Whether another thread may fill a queue, or set a flag, of this name; also if nobody is seen to do so."""
        with self._analysis.names.reads.answering("feed", name):
            if name not in self._fed:
                self._fed[name] = self._feed(name)
        return self._fed[name]

    def _feed(self, name: str) -> bool:
        found = [self.in_file(name, module.path) for module in self._analysis.names.mentioning(name)]
        return not any(fills for fills, _ in found) or any(in_thread for _, in_thread in found)

    def in_file(self, name: str, path: str) -> tuple[bool, bool]:
        """Whether a file fills a queue, or sets a flag, of this name, and whether in a thread that it starts."""
        module = self._analysis.names.modules.get(path)
        with self._analysis.names.reads.answering("feed in", f"{name} {path}"):
            writers = [w for w in module.functions.values() if _fills(w, name)] if module is not None else []
            return bool(writers), module is not None and self._in_thread(module, name, writers)

    def _in_thread(self, module: ModuleInfo, name: str, writers: Iterable[FunctionInfo]) -> bool:
        """Whether some of the writers run in a thread that this file starts, or such a thread is given the queue."""
        reached, given = self._threads.find(module.path, lambda: _started(module))
        if name in given:
            return True
        names = {w.name for w in writers}
        for _ in range(_DEEPEST):
            inside = [fn for fn in module.functions.values() if fn.name in reached]
            reached = reached.union(*(_called(fn) for fn in inside))
        return not names.isdisjoint(reached)


def _started(module: ModuleInfo) -> tuple[set[str], set[str]]:
    """The names of a file's functions that run in threads of their own, or whenever something happens, and all names
    that are given to such threads."""
    started = {function.name for function in module.functions.values() if function.is_async}
    given: set[str] = set()
    if not module.mentions_any(_STARTS):
        return started, given
    for _, calls in module.calls():
        for call in calls:
            if last_name(call.func) in _STARTS:
                arguments = (*call.args, *(value for _, value in call.keywords))
                started |= {called_name(x) for x in arguments}
                given |= set(words(arguments))
    return started - {""}, given


def _fills(function: FunctionInfo, name: str) -> bool:
    """Whether a function puts something into a queue of this name, or sets the flag."""
    called = (call.func for call in function.calls)
    return any(type(c) is f.Attr and c.attr in _FILLS and last_name(c.base) == name for c in called)


def _called(function: FunctionInfo) -> set[str]:
    return {last_name(call.func) for call in function.calls}
