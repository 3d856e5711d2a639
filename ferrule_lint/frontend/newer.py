"""F-strings as Python 3.12 takes them (PEP 701), written so that an older parser takes them, too.

Quotes of the same kind, line breaks and backslashes in what an f-string computes are legal from 3.12 on. A project that
requires it is not broken because the linter runs on 3.11: the file is read with such f-strings in triple quotes, line
for line, and with other characters in place of what is escaped in them.
"""

from __future__ import annotations

import re

import libcst as cst

#: what may add a level to the tree of an expression
_NESTS = re.compile(rb"[(\[{+\-*/.%&|^~<>\"'@=]|\b(?:if|else|elif|lambda|not|and|or|in|is|await)\b")
#: levels of one expression, or of one chain of `elif`: the parser recurses on the machine's stack
_MOST = 1_000
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_QUOTES = ('"""', "'''")


def rewritten(source: bytes) -> bytes | None:
    """The file as an older parser takes it; None if it is broken for a newer one, too."""
    if not _is_flat(source):
        return None
    try:
        module = cst.parse_module(source)
    except (cst.ParserSyntaxError, UnicodeError, RecursionError):
        return None
    return module.visit(_Older(module)).bytes


def _is_flat(source: bytes) -> bool:
    """Whether nothing in a file can be nested so deeply that parsing it ends the process; told line by line, from
    above: brackets in texts and comments count as well."""
    open_brackets = levels = branches = 0
    for line in source.splitlines():
        levels += len(_NESTS.findall(line))
        branches += line.lstrip().startswith(b"elif")
        if levels > _MOST or branches > _MOST:
            return False
        open_brackets += sum(map(line.count, (b"(", b"[", b"{"))) - sum(map(line.count, (b")", b"]", b"}")))
        if open_brackets <= 0 and not line.endswith(b"\\"):
            open_brackets = levels = 0
    return True


class _Older(cst.CSTTransformer):
    def __init__(self, module: cst.Module) -> None:
        super().__init__()
        self._module = module
        self._depth = 0

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        self._depth += 1
        return True

    def leave_FormattedString(
        self, original_node: cst.FormattedString, updated_node: cst.FormattedString
    ) -> cst.BaseExpression:
        self._depth -= 1
        quote = original_node.quote
        computed = [
            self._module.code_for_node(part)
            for part in original_node.parts
            if type(part) is cst.FormattedStringExpression
        ]
        if len(quote) == 3 or not any(quote in text or "\n" in text for text in computed):
            return updated_node
        other = _QUOTES[self._depth % 2]
        return updated_node.with_changes(start=updated_node.prefix + other, end=other)

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.BaseExpression:
        if not self._depth or "\\" not in updated_node.value:
            return updated_node
        return updated_node.with_changes(value=_ESCAPED.sub("__", updated_node.value))
