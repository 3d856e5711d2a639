"""Comments that suppress findings: `# ferrule: ignore[FER101] reason`, blocks, whole files, and `# noqa: FER101`.

Each code of a comment becomes one `SuppressionComment` with the lines in which it counts, so that nobody after this
needs the source again. Only files that seem to have such a comment are tokenized.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ferrule_lint.facts.stated import WORDS as STATED
from ferrule_lint.facts.types import SuppressionComment

#: words that may follow `# ferrule:`, or the same with the tool's whole name
WORDS = ("ignore", "ignore-file", "disable", "enable")
#: ruff's word
_ALIASES = {"file-ignore": "ignore-file"}

#: of a range that goes on to the end of the file
LAST_LINE = 2**31

_PRESENT = re.compile(rb"#\s*ferrule(?:-lint)?:|(?i:noqa\s*:[^\n\r]*FER[0-9])")
_DIRECTIVE = re.compile(
    r"(?:^|(?<=\s))#\s*ferrule(?:-lint)?:\s*(?P<word>[A-Za-z][\w-]*)\s*(?P<codes>\[[^\]#]*\]?)?(?P<reason>[^#]*)"
)
_NOQA = re.compile(
    r"#\s*(?P<noqa>noqa)\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*)(?P<reason>[^#]*)", re.IGNORECASE
)
_CODE = re.compile(r"[^\s,\[\]]+")
_OURS = re.compile(r"FER[0-9]+")
#: how much alike a word has to be to one of ours that is taken for a mistake, and not for prose
_ALIKE = 0.8


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """The physical lines of one statement, or of the header of a compound one; `column` from 1."""

    first: int
    last: int
    column: int


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment; `line` and `column` from 1."""

    line: int
    column: int
    text: str
    #: place in the list of logical lines of the one it is part of, or of the next one if it stands alone
    index: int
    alone: bool


@dataclass(frozen=True, slots=True)
class _Directive:
    word: str
    #: (code, column, end column)
    codes: tuple[tuple[str, int, int], ...]
    reason: str
    comment: Comment
    column: int
    end_column: int


def suppression_comments(source: bytes, tree: ast.Module) -> tuple[SuppressionComment, ...]:
    """The suppression comments of a file that was parsed into `tree`, by line."""
    if b"ferrule" not in source and b"noqa" not in source.lower():
        return ()
    if not _PRESENT.search(source):
        return ()
    lines, comments = scanned(source)
    directives = [directive for comment in comments for directive in _directives(comment)]
    if not directives:
        return ()
    scopes = list(_function_scopes(tree))
    found = [*_plain(directives, lines, scopes), *_blocks(directives, lines)]
    return tuple(sorted(found, key=lambda one: (one.line, one.column)))


def decode(source: bytes) -> str:
    """The text of a file, with line ends as the parser sees them."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return source.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def scanned(source: bytes) -> tuple[list[LogicalLine], list[Comment]]:
    """`scan` of a file; nothing where its lines cannot be told."""
    try:
        return scan(decode(source))
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError, LookupError):
        return [], []


def scan(text: str) -> tuple[list[LogicalLine], list[Comment]]:
    """The logical lines and the comments of a file, in order; raises what tokenizing raises."""
    lines: list[LogicalLine] = []
    comments: list[Comment] = []
    first = column = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, col = token.start
            comments.append(Comment(row, col + 1, token.string, len(lines), alone=not first))
        elif token.type == tokenize.NEWLINE:
            lines.append(LogicalLine(first, token.start[0], column))
            first = 0
        elif not first and token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
            first, column = token.start[0], token.start[1] + 1
    return lines, comments


def _directives(comment: Comment) -> Iterator[_Directive]:
    for match in _DIRECTIVE.finditer(comment.text):
        word = _ALIASES.get(match["word"].lower(), match["word"].lower())
        if word in STATED or (word not in WORDS and match["codes"] is None and not _is_meant_for_us(word, match)):
            # a fact about the program, or prose about ferrules
            continue
        yield _directive(match, word, comment)
    for match in _NOQA.finditer(comment.text):
        directive = _directive(match, "noqa", comment)
        ours = tuple(code for code in directive.codes if _OURS.fullmatch(code[0]))
        if ours:
            yield _Directive("noqa", ours, directive.reason, comment, directive.column, directive.end_column)


def _is_meant_for_us(word: str, match: re.Match[str]) -> bool:
    """Whether a word that has no meaning here was meant to have one: it stands alone, as ruff's `noqa` does, or is
    nearly one of ours."""
    from difflib import get_close_matches

    known = (*WORDS, *STATED)
    return word == "noqa" or not match["reason"].strip() or bool(get_close_matches(word, known, n=1, cutoff=_ALIKE))


def _directive(match: re.Match[str], word: str, comment: Comment) -> _Directive:
    start = match.start("codes")
    codes = tuple(
        # what has a hyphen is the name of a rule, which FER002 shows as it is written
        (
            code[0] if "-" in code[0] else code[0].upper(),
            comment.column + start + code.start(),
            comment.column + start + code.end(),
        )
        for code in _CODE.finditer(match["codes"] or "")
    )
    end = match.end("codes") if match["codes"] else match.end("noqa" if match.re is _NOQA else "word")
    reason = " ".join(match["reason"].split()).lstrip("-: ")
    return _Directive(word, codes, reason, comment, comment.column + match.start(), comment.column + end)


def _function_scopes(tree: ast.Module) -> Iterator[tuple[int, int, int]]:
    """(first line of the decorators, line of the `def`, last line) of each function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield start, node.lineno, node.end_lineno or node.lineno


def _plain(
    directives: Iterable[_Directive], lines: list[LogicalLine], scopes: list[tuple[int, int, int]]
) -> Iterator[SuppressionComment]:
    """All but blocks."""
    for one in directives:
        problem = _problem(one)
        if problem:
            yield _malformed(one, problem)
        elif one.word == "ignore-file":
            yield from _each(one, "file", 1, LAST_LINE)
        elif one.word in ("ignore", "noqa"):
            # a `noqa` counts in its own line only, as elsewhere
            if one.word == "noqa" and one.comment.alone:
                yield from _each(one, "noqa", one.comment.line, one.comment.line)
                continue
            if one.comment.index >= len(lines):
                yield _malformed(one, "there is no code below it")
                continue
            line = lines[one.comment.index]
            first, last = line.first, line.last
            for start, header, end in scopes:
                if start <= line.first <= header:
                    first, last = start, end
                    break
            yield from _each(one, one.word, first, last)


def _problem(one: _Directive) -> str:
    if one.word == "noqa" and not one.codes:
        return "write `# ferrule: ignore[FER101]`, or `ignore-file[FER101]` for the whole file"
    if one.word not in (*WORDS, "noqa"):
        return f"`{one.word}` is none of {', '.join((*WORDS, *STATED))}"
    if not one.codes:
        return f"it names no rule: write `# ferrule: {one.word}[FER101]`"
    if one.word in ("disable", "enable") and not one.comment.alone:
        return f"`{one.word}` has to stand on a line of its own; for one line there is `ignore`"
    return ""


def _blocks(directives: Iterable[_Directive], lines: list[LogicalLine]) -> Iterator[SuppressionComment]:
    """`disable` until `enable`, or until the indented block that it stands in ends."""
    opened: list[tuple[_Directive, tuple[str, int, int], int]] = []

    def close(before: int) -> Iterator[SuppressionComment]:
        for directive, code, end in [entry for entry in opened if entry[2] < before]:
            yield _comment(directive, "block", code, directive.comment.line, end)
            opened.remove((directive, code, end))

    for one in directives:
        if one.word not in ("disable", "enable") or _problem(one):
            continue
        yield from close(one.comment.line)
        if one.word == "disable":
            end = _end_of_block(one.comment, lines)
            opened.extend((one, code, end) for code in one.codes)
            continue
        for code in one.codes:
            match = next((entry for entry in reversed(opened) if entry[1][0] == code[0]), None)
            if match is None:
                yield _malformed(one, f"{code[0]} is not disabled here")
            else:
                opened.remove(match)
                yield _comment(match[0], "block", match[1], match[0].comment.line, one.comment.line)
    for directive, code, end in opened:
        yield _comment(directive, "block", code, directive.comment.line, end)


def _end_of_block(comment: Comment, lines: list[LogicalLine]) -> int:
    """The last line before the first statement that is indented less; comments between still belong to the block."""
    for line in lines[comment.index :]:
        if line.column < comment.column:
            return line.first - 1
    return LAST_LINE


def _each(one: _Directive, form: str, first: int, last: int) -> Iterator[SuppressionComment]:
    for code in one.codes:
        yield _comment(one, form, code, first, last)


def _comment(one: _Directive, form: str, code: tuple[str, int, int], first: int, last: int) -> SuppressionComment:
    name, column, end = code
    return SuppressionComment(form, name, one.comment.line, column, end, first, last, one.reason)


def _malformed(one: _Directive, problem: str) -> SuppressionComment:
    line = one.comment.line
    return SuppressionComment("malformed", "", line, one.column, one.end_column, line, line, problem)
