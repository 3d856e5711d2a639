"""Functions in other files of the project, where a form has to know how they are called or what they do."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Callable, Iterator

import libcst as cst

from ferrule_lint.fixes.names import below
from ferrule_lint.flagger.segments import segments

Read = Callable[[str], bytes]


def definitions(read: Read, path: str, name: str) -> Iterator[cst.FunctionDef]:
    """The functions and methods called `name` in a file; none if it cannot be read or parsed."""
    try:
        parts = [part for part in segments(read(path)) if re.search(rf"\bdef {re.escape(name)}\b", part.text)]
        for part in parts:
            if not part.too_deep:
                for node in below(cst.parse_module(part.text), functions=True):
                    if isinstance(node, cst.FunctionDef) and node.name.value == name:
                        yield node
    except (OSError, tokenize.TokenError, SyntaxError, UnicodeDecodeError, LookupError, cst.ParserSyntaxError):
        return
