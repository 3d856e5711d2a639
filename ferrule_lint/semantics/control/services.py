"""Calls that ask a service over the network: it may answer one rank and not another.

A handler that names what such calls raise (`requests.RequestException`) says so by itself. One for whatever may go
wrong is taken to be there for the question, too, if one is asked in its `try`.
"""

from __future__ import annotations

import re

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
    for node in walk(body):
        if type(node) is f.Call and _ASKS.search(outer_name(module, node.func)):
            return shown(node.func)
    return ""
