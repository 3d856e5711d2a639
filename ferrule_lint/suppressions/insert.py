"""Comments written into the source: such as suppress findings (`--add-suppressions`), and such as state a fact."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable

from ferrule_lint.findings import Finding
from ferrule_lint.frontend.suppressions import Comment, LogicalLine, scan

#: a comment that would make a line longer than this stands on a line of its own above
LONGEST_LINE = 120

_EXISTING = re.compile(r"#\s*ferrule(?:-lint)?:\s*ignore\[(?P<codes>[^\]#]*)\]")
_INDENT = re.compile(r"[ \t\f]*")


class CannotInsert(Exception):
    """The file cannot be changed without risk; the message says why."""


def insert(source: bytes, findings: Iterable[Finding], reason: str = "") -> bytes:
    """`source` with a comment at the logical line of each of its `findings`; all else stays byte for byte.

    Raises CannotInsert if the file's lines cannot be told.
    """
    text, encoding = _read(source, reason)
    lines, comments = _scanned(text)
    wanted: dict[LogicalLine, set[str]] = {}
    for finding in findings:
        line = _line_at(lines, finding.span.line)
        if line is not None:
            wanted.setdefault(line, set()).add(finding.code)
    physical = text.split("\n")
    by_line = {comment.line: comment for comment in comments}
    for line in sorted(wanted, key=lambda one: one.first, reverse=True):
        _write(physical, line, by_line.get(line.last), wanted[line], reason)
    return _encoded(physical, encoding)


def state(source: bytes, number: int, word: str) -> bytes:
    """`source` with `# ferrule: WORD` at the logical line that has line `number`; all else stays byte for byte.

    Raises CannotInsert if the file's lines cannot be told, or there is no such line.
    """
    text, encoding = _read(source, "")
    line = _line_at(_scanned(text)[0], number)
    if line is None:
        raise CannotInsert("there is no statement in that line")
    physical = text.split("\n")
    _append(physical, line, f"# ferrule: {word}")
    return _encoded(physical, encoding)


def _read(source: bytes, reason: str) -> tuple[str, str]:
    """The text of a file and its encoding, in which the reason can be written as well."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        text = source.decode(encoding)
        reason.encode(encoding)
    except UnicodeEncodeError:
        raise CannotInsert(f"the reason cannot be written in {encoding}") from None
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise CannotInsert(f"it cannot be read: {error}") from None
    if re.search(r"\r(?!\n)", text):
        raise CannotInsert("its lines end in lone carriage returns")
    return text, encoding


def _scanned(text: str) -> tuple[list[LogicalLine], list[Comment]]:
    try:
        return scan(text.replace("\r\n", "\n"))
    except (tokenize.TokenError, SyntaxError) as error:
        raise CannotInsert(f"it cannot be read: {error}") from None


def _encoded(physical: list[str], encoding: str) -> bytes:
    return "\n".join(physical).encode("utf-8-sig" if encoding == "utf-8-sig" else encoding)


def _line_at(lines: Iterable[LogicalLine], number: int) -> LogicalLine | None:
    return next((one for one in lines if one.first <= number <= one.last), None)


def _write(physical: list[str], line: LogicalLine, comment_there: Comment | None, codes: set[str], reason: str) -> None:
    """Suppress `codes` in `line`: in the comment that is there, at its end, or above it."""
    body, ending = _parts(physical[line.last - 1])
    existing = _EXISTING.search(body, comment_there.column - 1) if comment_there else None
    if existing:
        present = [code.strip() for code in existing["codes"].split(",") if code.strip()]
        merged = ", ".join([*present, *sorted(codes - set(present))])
        rest = body[existing.end("codes") :]
        # what somebody has written stands for all codes of the comment
        rest += f" {reason}" if reason and rest == "]" else ""
        physical[line.last - 1] = body[: existing.start("codes")] + merged + rest + ending
        return
    _append(physical, line, f"# ferrule: ignore[{', '.join(sorted(codes))}]" + (f" {reason}" if reason else ""))


def _parts(physical_line: str) -> tuple[str, str]:
    """A line without blanks at its end, and what is left of how it ends."""
    ending = "\r" if physical_line.endswith("\r") else ""
    return physical_line.removesuffix("\r").rstrip(), ending


def _append(physical: list[str], line: LogicalLine, comment: str) -> None:
    """Write a comment at the end of a statement or, where that gets too long, above it."""
    body, ending = _parts(physical[line.last - 1])
    if len(body) + 2 + len(comment) <= LONGEST_LINE:
        physical[line.last - 1] = f"{body}  {comment}{ending}"
        return
    indent = _INDENT.match(physical[line.first - 1])
    physical.insert(line.first - 1, (indent[0] if indent else "") + comment + ending)
