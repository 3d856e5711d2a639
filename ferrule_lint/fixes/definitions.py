"""Functions in other files of the project, where a form has to know how they are called or what they do."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Callable, Iterator

import libcst as cst

from ferrule_lint.fixes.names import below
from ferrule_lint.flagger.segments import segments

Read = Callable[[str], bytes]


def classes(read: Read, path: str, name: str) -> Iterator[cst.ClassDef]:
    """The top-level classes called `name` in a file; none if it cannot be read or parsed."""
    try:
        for part in segments(read(path)):
            if not part.too_deep and re.search(rf"^class {re.escape(name)}\b", part.text, re.MULTILINE):
                found = (node for node in cst.parse_module(part.text).body if isinstance(node, cst.ClassDef))
                yield from (node for node in found if node.name.value == name)
    except (OSError, tokenize.TokenError, SyntaxError, UnicodeDecodeError, LookupError, cst.ParserSyntaxError):
        return


def definitions(read: Read, path: str, name: str) -> Iterator[cst.FunctionDef]:
    """The functions and methods called `name` in a file; none if it cannot be read or parsed."""
    try:
        source = read(path)
        if name.isascii() and f"def {name}".encode() not in source:
            return  # reading its tokens takes longer by far
        parts = [part for part in segments(source) if re.search(rf"\bdef {re.escape(name)}\b", part.text)]
        for part in parts:
            if not part.too_deep:
                for node in below(cst.parse_module(part.text), functions=True):
                    if isinstance(node, cst.FunctionDef) and node.name.value == name:
                        yield node
    except (OSError, tokenize.TokenError, SyntaxError, UnicodeDecodeError, LookupError, cst.ParserSyntaxError):
        return
