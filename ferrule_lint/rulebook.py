"""The rule pages: `rules/FER*.md`, read and checked.

A page is front matter between two `---` lines (`key: value`), a title, and sections with fixed headings. Its
examples are fenced blocks tagged ```` ```python bad ```` or ```` ```python good ````; the tests lint every one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from ferrule_lint.resources import rules_dir

ExampleKind = Literal["bad", "good"]

#: says which fixes are safe, and what the others assume; a rule without fixes may do without
FIX_SAFETY = "Fix safety"
#: what every page has, in this order
HEADINGS = (
    "What it does",
    "Why is this bad?",
    "A real case",
    "Examples",
    "Fix",
    FIX_SAFETY,
    "Configuration",
    "References",
)
KEYS = ("code", "name", "family", "severity", "fix", "since")
SEVERITIES = ("error", "warning")
FIXES = ("none", "safe", "unsafe")
#: the first digit of a code names its family
FAMILIES = {"0": "source", "1": "control-flow", "2": "shape", "3": "pipeline", "4": "group"}

_CODE = re.compile(r"FER[0-9]{3}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SINCE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_FENCE = re.compile(r"(?P<ticks>`{3,})(?P<info>[^`]*)")


class RulePageError(ValueError):
    """A rule page that breaks the format; `line` counts from 1, 0 is the page as a whole."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class Example:
    """One tagged block of a page; `line` is where its source starts in the page, counted from 1."""

    kind: ExampleKind
    source: str
    line: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule page. `text` is the page without its front matter and starts in line `text_line` of the file."""

    code: str
    name: str
    family: str
    severity: str
    fix: str
    since: str
    title: str
    text: str
    text_line: int = 1

    @property
    def examples(self) -> tuple[Example, ...]:
        """The tagged example blocks, in the order of the page."""
        return tuple(
            Example(cast(ExampleKind, info.split()[1]), source, self.text_line + line)
            for info, source, line in _fences(self.text.splitlines())
            if info.split()[:1] == ["python"] and info.split()[1:] in (["bad"], ["good"])
        )


def load_rules() -> dict[str, Rule]:
    """All rule pages by code, in the order of their codes; a malformed page is a RulePageError."""
    rules: dict[str, Rule] = {}
    names: dict[str, str] = {}
    for page in sorted(rules_dir().iterdir(), key=lambda entry: entry.name):
        if not (page.name.startswith("FER") and page.name.endswith(".md")):
            continue
        rule = parse_page(page.read_text(encoding="utf-8"), str(page))
        if page.name != f"{rule.code}.md":
            raise RulePageError(str(page), 1, f"the page of {rule.code} has to be called {rule.code}.md")
        if rule.name in names:
            raise RulePageError(str(page), 1, f"{names[rule.name]} is called {rule.name!r} too")
        names[rule.name] = rule.code
        rules[rule.code] = rule
    return rules


def parse_page(source: str, path: str) -> Rule:
    """The rule that the text of a page describes."""
    lines = source.splitlines()
    matter, end = _front_matter(lines, path)
    body = lines[end:]
    title = _check_body(body, end, path, fixable=matter["fix"] != "none")
    return Rule(title=title, text="\n".join(body) + "\n", text_line=end + 1, **matter)


def _front_matter(lines: list[str], path: str) -> tuple[dict[str, str], int]:
    """The keys of the front matter, and the number of lines that it takes."""
    if not lines or lines[0].rstrip() != "---":
        raise RulePageError(path, 1, "a rule page starts with front matter: a line `---`")
    matter: dict[str, str] = {}
    where: dict[str, int] = {}
    for number, line in enumerate(lines[1:], start=2):
        text = line.strip()
        if text == "---":
            break
        key, colon, value = text.partition(":")
        key, value = key.strip(), value.strip()
        if not colon or not value:
            raise RulePageError(path, number, f"expected `key: value`, not {text!r}")
        if key not in KEYS:
            raise RulePageError(path, number, f"unknown key {key!r}: expected one of {', '.join(KEYS)}")
        if key in matter:
            raise RulePageError(path, number, f"{key!r} is given twice")
        matter[key], where[key] = value, number
    else:
        raise RulePageError(path, len(lines), "the front matter has no closing `---`")
    for key in KEYS:
        if key not in matter:
            raise RulePageError(path, number, f"the front matter lacks {key!r}")
        _check_value(key, matter, where[key], path)
    return matter, number


def _check_value(key: str, matter: dict[str, str], line: int, path: str) -> None:
    value = matter[key]
    allowed: tuple[str, ...] = ()
    if key in ("code", "name", "since"):
        pattern = {"code": _CODE, "name": _NAME, "since": _SINCE}[key]
        if not pattern.fullmatch(value):
            raise RulePageError(path, line, f"{key} {value!r} does not look like {pattern.pattern}")
    elif key == "family":
        allowed = (FAMILIES[matter["code"][3]],) if matter["code"][3] in FAMILIES else tuple(FAMILIES.values())
    elif key == "severity":
        allowed = SEVERITIES
    else:
        allowed = FIXES
    if allowed and value not in allowed:
        raise RulePageError(path, line, f"{key} {value!r}: expected {' or '.join(allowed)}")


def _check_body(body: list[str], offset: int, path: str, *, fixable: bool) -> str:
    """Check title, headings and fences; the title. `offset` lines of the file come before the body."""
    expected = [one for one in HEADINGS if one != FIX_SAFETY or fixable or f"## {FIX_SAFETY}" in body]
    in_fence = [False] * len(body)
    for info, source, start in _fences(body, path, offset):
        language, *tags = info.split() or [""]
        if language == "python" and tags not in ([], ["bad"], ["good"]):
            raise RulePageError(path, offset + start, f"unknown example tag {tags[0]!r}: expected bad or good")
        for index in range(start - 1, start + source.count("\n") + 1):
            in_fence[index] = True
    title = ""
    headings: list[str] = []
    for index, line in enumerate(body):
        if in_fence[index]:
            continue
        number = offset + index + 1
        if line.startswith("# "):
            if title or headings:
                raise RulePageError(path, number, "a page has one title, before its first heading")
            title = line[2:].strip()
        elif line.startswith("## "):
            heading = line[3:].strip()
            if len(headings) == len(expected) or heading != expected[len(headings)]:
                wanted = "no more" if len(headings) == len(expected) else f"`## {expected[len(headings)]}`"
                raise RulePageError(path, number, f"unexpected heading `## {heading}`: expected {wanted}")
            headings.append(heading)
    if not title:
        raise RulePageError(path, offset + 1, "the page has no title (`# ...`)")
    if len(headings) < len(expected):
        raise RulePageError(path, offset + len(body), f"the page lacks `## {expected[len(headings)]}`")
    return title


def _fences(lines: list[str], path: str = "", offset: int = 0) -> Iterator[tuple[str, str, int]]:
    """Fenced blocks as (info string, source, index in `lines` of the first line of the source)."""
    opened: tuple[str, str, int] | None = None
    for index, line in enumerate(lines):
        if opened is None:
            if match := _FENCE.fullmatch(line.rstrip()):
                opened = match["ticks"], match["info"].strip(), index + 1
        elif line.rstrip() == opened[0]:
            _, info, start = opened
            yield info, "".join(f"{text}\n" for text in lines[start:index]), start
            opened = None
    if opened is not None:
        raise RulePageError(path, offset + opened[2], "a fenced block that is never closed")
