"""Calls that ask a service over the network: it may answer one rank and not another.

A handler that names what such calls raise (`requests.RequestException`) says so by itself. One for whatever may go
wrong is taken to be there for the question, too, if one is asked in its `try`. That something is not there is an
answer, and one that all ranks get.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.control.failing import outer_name
from ferrule_lint.semantics.domain.text import shown
from ferrule_lint.semantics.project.entities import ModuleInfo

#: functions that send a request and wait for the answer, by their dotted names
_ASKS = re.compile(
    r"^(requests|httpx)\.(get|post|put|head|request|patch|delete)$|^urllib\.request\.(urlopen|urlretrieve)$|"
    r"^huggingface_hub\.(\w+\.)*(snapshot_download|hf_hub_download)$"
)


def asked(module: ModuleInfo, body: f.Body) -> str:
    """The call in a block that asks a service; nothing if there is none."""
    return next((shown(call.func) for call in _asking(module, body)), "")


def asked_alone(module: ModuleInfo, body: f.Body) -> f.Call | None:
    """The one call in a block that asks a service, if there is one."""
    calls = list(_asking(module, body))
    return calls[0] if len(calls) == 1 else None


def _asking(module: ModuleInfo, body: f.Body) -> Iterator[f.Call]:
    return (node for node in walk(body) if type(node) is f.Call and _ASKS.search(outer_name(module, node.func)))


#: what a service says of something that it does not have
_MISSING = re.compile(r"^['\"]?(404|NoSuch(Key|Bucket|Entity)|NotFound|\w*NotFoundError|NOT_FOUND|ENOENT)['\"]?$")


def only_missing(body: f.Body) -> bool:
    """Whether a handler goes on only where the answer is that something is not there, and raises anything else:
    `if e.response["Error"]["Code"] == "404": return False`, `raise`."""
    for s in body:
        if type(s) is f.Raise:
            return True
        if type(s) in (f.Return, f.Continue, f.Break):
            return False
        if type(s) is not f.If:
            continue
        missing = _asks_if_missing(s.test)
        if _raises(s.body) and missing is False:
            return True
        if not _raises(s.body):
            if missing is not True:
                return False
            if _raises(s.orelse):
                return True
    return False


def _raises(body: f.Body) -> bool:
    return bool(body) and type(body[-1]) is f.Raise


def _asks_if_missing(test: f.Expr) -> bool | None:
    """Whether a test holds where something is not there; False where it holds for any other answer."""
    names = (n.text if type(n) is f.Const else n.attr if type(n) is f.Attr else "" for n in walk(test))
    if not any(_MISSING.match(name) for name in names):
        return None
    return type(test) is not f.Not and not (type(test) is f.Compare and test.ops in (("!=",), ("not in",)))
