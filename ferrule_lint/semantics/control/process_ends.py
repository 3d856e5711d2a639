"""Calls that end the process, with a status of failure or without one.

A launcher ends a job when one of its processes fails. One that ends with success leaves the others waiting for it.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.text import dotted_name

#: calls after which nothing runs, as after a `raise`
_ENDS_PROCESS = ("sys.exit", "exit", "quit", "os._exit")
#: what a program ends with that has done what it was to do
_SUCCESS = (f.Const("0"), f.Const("None"))


def status_of(call: f.Call) -> str:
    """What a call ends the process with, "failure" or "success"; "" if it does not end it."""
    if dotted_name(call.func) not in _ENDS_PROCESS:
        return ""
    return "failure" if call.args and call.args[0] not in _SUCCESS else "success"
