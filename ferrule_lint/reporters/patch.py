"""Changes as people read them: a unified diff of a file, and the few lines that a fix of a finding changes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ferrule_lint.findings import Fix
from ferrule_lint.fixes.text import SourceText
from ferrule_lint.reporters.source import decode
from ferrule_lint.reporters.text import Line, visible

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def unified(path: str, old: bytes, new: bytes) -> str:
    """A diff that `patch -p1` takes, with the line ends of the file."""
    out: list[str] = []
    for line in difflib.unified_diff(_lines(decode(old)), _lines(decode(new)), f"a/{path}", f"b/{path}"):
        out.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(out)


def styled(diff: str) -> Iterator[Line]:
    """A diff for a terminal."""
    for line in diff.removesuffix("\n").split("\n"):
        style = "bold" if line.startswith(("--- ", "+++ ")) else _STYLES.get(line[:1], "")
        yield [(_shown(line.removesuffix("\r")), style)]


def _shown(text: str) -> str:
    """A line of a diff with its tabs, and nothing else that could move the cursor."""
    return "\t".join(visible(part) for part in text.split("\t"))


def changed_lines(source: bytes, fix: Fix) -> list[str]:
    """The lines that a fix takes away and adds, with `-`, `+` or `@@` in front; none if it does not fit the file.

    Of a helper that it writes into the file there is the first line only.
    """
    try:
        before = SourceText(source)
        after = SourceText(before.edited(replace(edit, text=_short(edit.text)) for edit in fix.edits))
    except (ValueError, LookupError, SyntaxError):
        return []
    diff = difflib.unified_diff(_lines(before.text), _lines(after.text), n=1)
    return [line.rstrip("\r\n") for line in list(diff)[2:]]


def _short(text: str) -> str:
    """A definition without its body."""
    head, _, _ = text.partition("\n")
    return f"{head} ...\n\n\n" if head.startswith("def ") and head.endswith(":") else text


def _lines(text: str) -> Sequence[str]:
    # not `splitlines`: to Python a form feed ends no line
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
