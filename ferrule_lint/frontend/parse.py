"""Source bytes -> the tree of the standard parser."""

from __future__ import annotations

import ast
import re
import sys
import warnings

from ferrule_lint.frontend.errors import SourceError
from ferrule_lint.frontend.newer_syntax import as_older

#: how the text begins that Git keeps of a file which lies in its large file storage, and that a clone may have alone:
#: nothing is known of the file itself
_POINTER = b"version https://git-lfs.github.com/spec/"
#: the place of what a script fills in before there is a program: `${size}`, `{{ cookiecutter.size }}`, `{% if x %}`
_PLACE = re.compile(rb"\$\{\w+\}|\{\{\s*cookiecutter\.\w+[^{}\n]*\}\}|\{%-?\s*\w+[^%\n]*%\}")


def parse(source: bytes) -> ast.Module:
    """The tree of a file; SourceError with what is wrong with it."""
    try:
        return _parse(source)
    except SyntaxError as error:
        if source.startswith(_POINTER) or _is_template(source, error.lineno or 0):
            return ast.Module(body=[], type_ignores=[])
        older = as_older(source) if sys.version_info < (3, 13) else None
        if older is not None:
            try:
                return _parse(older)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                pass
        line = error.lineno or 0
        raise SourceError(line, _reason(error.msg or "invalid syntax"), _column(source, line)) from None
    except (ValueError, LookupError) as error:  # null bytes, an unknown coding line, bytes that are not the coding's
        raise SourceError(0, str(error)) from None
    except (RecursionError, MemoryError):
        raise SourceError(0, "nested too deeply to parse") from None


def _is_template(source: bytes, line: int) -> bool:
    """Whether no Python reads a file because of a place in this line that is yet to be filled in."""
    return any(_PLACE.search(text) is not None for text in source.splitlines()[line - 1 : line] if line)


def _parse(source: bytes | str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in the linted code are its owner's business
        return ast.parse(source)


def _column(source: bytes, line: int) -> int:
    """The column of a mistake in `line`, in characters, or 0. What the parser says of bytes counts bytes."""
    from ferrule_lint.frontend.suppressions import decode

    try:
        _parse(decode(source))
    except SyntaxError as error:
        # before Python 3.12, a mistake in an f-string has a place within the string alone
        if error.lineno == line and not (error.msg or "").startswith("f-string"):
            return max(error.offset or 0, 0)
    except (ValueError, LookupError, RecursionError, MemoryError):
        pass
    return 0


def _reason(message: str) -> str:
    """What the parser says. What it rejects in an f-string is most often what later ones take (PEP 701)."""
    newer = message.startswith("f-string") and sys.version_info < (3, 12)
    return f"{message} (the linter runs on Python 3.11; from 3.12 on this may be legal)" if newer else message
