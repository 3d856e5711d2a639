"""Source bytes -> the tree of the standard parser."""

from __future__ import annotations

import ast
import re
import sys
import warnings

from ferrule_lint.frontend.errors import SourceError


def parse(source: bytes) -> ast.Module:
    """The tree of a file; SourceError with what is wrong with it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the linted code are its owner's business
            return ast.parse(source)
    except SyntaxError as error:
        newer = _as_newer(source) if sys.version_info < (3, 12) else None
        if newer is not None:
            return newer
        raise SourceError(error.lineno or 0, error.msg or "invalid syntax") from None
    except (ValueError, LookupError) as error:  # null bytes, an unknown coding line, bytes that are not the coding's
        raise SourceError(0, str(error)) from None
    except (RecursionError, MemoryError):
        raise SourceError(0, "nested too deeply to parse") from None


def _as_newer(source: bytes) -> ast.Module | None:
    """The tree of a file whose f-strings are those of a newer Python than this one."""
    if not _FORMATTED.search(source):
        return None
    from ferrule_lint.frontend import newer  # the concrete parser is asked for such files only

    rewritten = newer.rewritten(source)
    if rewritten is None or rewritten == source:
        return None
    try:
        return ast.parse(rewritten)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_FORMATTED = re.compile(rb"\b([fF][rR]?|[rR][fF])[\"']")
