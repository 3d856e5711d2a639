"""Calls that end the process, with a status of failure or without one, and what tells another process of a failure.

A launcher ends a job when one of its processes fails. One that ends with success leaves the others waiting for it.
"""

from __future__ import annotations

import re

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import dotted_name, last_name
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo

#: calls after which nothing runs, as after a `raise`
_ENDS_PROCESS = ("sys.exit", "exit", "quit", "os._exit")
#: what a program ends with that has done what it was to do
_SUCCESS = (f.Const("0"), f.Const("None"))


def status_of(call: f.Call) -> str:
    """What a call ends the process with, "failure" or "success"; "" if it does not end it."""
    if dotted_name(call.func) not in _ENDS_PROCESS:
        return ""
    return "failure" if call.args and call.args[0] not in _SUCCESS else "success"


def fails_by_return(function: FunctionInfo | None, s: f.Return) -> bool:
    """Whether a function hands a status of failure to what ends the process with it: `return 1`, of `sys.exit(main())`
    at the end of the file, where nobody else in there calls it."""
    number = s.value.text if type(s.value) is f.Const else ""
    if function is None or "." in function.qualname or not number.isdigit() or int(number) == 0:
        return False
    ending = {call.pos for call in _statuses(function.module) if last_name(call.func) == function.name}
    called = [call for _, call in function.module.calls_named(function.name)]
    return bool(ending) and all(call.pos in ending for call in called)


def _statuses(module: ModuleInfo) -> list[f.Call]:
    """The calls that say with which status the process ends, at the end of a file."""
    ends = [c for name in ("exit", "SystemExit") for owner, c in module.calls_named(name) if owner is None]
    return [c.args[0] for c in ends if len(c.args) == 1 and type(c.args[0]) is f.Call]


def tells_of_failure(s: f.Try) -> bool:
    """Whether a `finally` tells the process behind a queue that the work has not come to its end, which ends them all:
    `finally:`, `if not done: results_queue.put(("stopped", worker_id))`, of `done = True` in the `try`."""
    done = {
        t.id
        for one in statements((*s.body, *s.orelse))
        if type(one) is f.Assign and one.value == f.Const("True")
        for t in one.targets
        if type(t) is f.Name
    }
    for one in s.final if done else ():
        if type(one) is not f.If:
            continue
        flag, arm = (one.test.operand, one.body) if type(one.test) is f.Not else (one.test, one.orelse)
        if type(flag) is f.Name and flag.id in done and any(map(_hands_on, arm)):
            return True
    return False


def _hands_on(s: f.Stmt) -> bool:
    call = s.value if type(s) is f.ExprStmt else None
    if type(call) is not f.Call or type(call.func) is not f.Attr or call.func.attr not in TELLS:
        return False
    return _TO_ANOTHER.search(last_name(call.func.base)) is not None


#: methods that hand something to another process, and what they are called on
TELLS = frozenset(["put", "put_nowait", "send"])
_TO_ANOTHER = re.compile(r"(?i)(^|_)(queue|q|pipe|conn(ection)?)$")
