"""What the settings may say: each key of the file, and how its value is read.

The JSON Schema beside this file (`settings.schema.json`) says the same to editors; the tests hold one to the other.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ferrule_lint.findings import Confidence
from ferrule_lint.project.presets import preset_names

#: those of `reporters.formats`, which this part of the package may not import
OUTPUT_FORMATS = (
    "full", "concise", "grouped",
    "json", "json-lines", "sarif", "github", "gitlab", "junit", "azure", "pylint", "rdjson", "html",
)  # fmt: skip
SEVERITIES = ("error", "warning")
#: the rule that has settings of its own, and their names
_REQUIRE_REASON = ("FER002", "require-reason")

Sharded = bool | str | tuple[str, ...]


class InvalidValue(ValueError):
    """A value that cannot be used. `key` is the key inside the table that is wrong, if the value is a table."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """What `[rules.FER101]` says; None: nothing."""

    severity: str | None = None
    min_confidence: Confidence | None = None
    #: FER002 only: a suppression comment has to give a reason
    require_reason: bool = False


def suggestion(word: str, known: list[str] | tuple[str, ...]) -> str:
    """`; did you mean "x"?` for the known word nearest to `word`, or nothing."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f'; did you mean "{near[0]}"?' if near else ""


def code_meant(word: str, names: Mapping[str, str]) -> str:
    """The code that is most likely meant by a word that is none, or "". `names` are those of the rules, by code."""
    for code, name in names.items():
        if name == word.lower():
            return code
    # nearer than `E501`, which is another tool's
    near = difflib.get_close_matches(word.upper(), sorted(names), n=1, cutoff=0.81)
    return near[0] if near else ""


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InvalidValue("expected a list of strings")
    return tuple(value)


def _codes(value: Any) -> tuple[str, ...]:
    for code in _strings(value):
        if not re.fullmatch(r"ALL|[A-Z]+[0-9]*", code):
            raise InvalidValue(f'"{code}" is not a rule code or the beginning of one')
    return tuple(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue("expected true or false")
    return value


def _choice(words: tuple[str, ...], value: Any) -> str:
    listed = ", ".join(f'"{word}"' for word in words)
    if not isinstance(value, str):
        raise InvalidValue(f"expected one of {listed}")
    if value not in words:
        raise InvalidValue(f'"{value}" is none of {listed}{suggestion(value, words)}')
    return value


def _confidence(value: Any) -> Confidence:
    return Confidence.parse(_choice(("low", "medium", "high"), value))


def _sharded(value: Any) -> Sharded:
    if isinstance(value, bool):
        return value
    if value == "auto":
        return "auto"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(map(_regular_expression, value))
    raise InvalidValue('expected "auto", true, false or a list of patterns of class names')


def _regular_expression(pattern: str) -> str:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        # most often it is a pattern as for files, which other settings take
        hint = '; any text is ".*"' if pattern.startswith("*") else ""
        raise InvalidValue(f'"{pattern}" is no regular expression: {error}{hint}') from None
    return pattern


def _path(value: Any) -> Path:
    if not isinstance(value, str) or not value:
        raise InvalidValue("expected a path")
    return Path(value).expanduser()


def _table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidValue("expected a table")
    return value


def _per_file(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    ignores = []
    for pattern, codes in _table(value).items():
        if not pattern.strip("!/ "):
            raise InvalidValue(f'"{pattern}" is not a pattern of paths', pattern)
        try:
            ignores.append((pattern, _codes(codes)))
        except InvalidValue as error:
            raise InvalidValue(f'"{pattern}": {error}', pattern) from None
    return tuple(ignores)


def _rules(value: Any) -> tuple[tuple[str, RuleSettings], ...]:
    rules = []
    for code, table in _table(value).items():
        if not re.fullmatch(r"FER[0-9]{3}", code):
            raise InvalidValue(f'"{code}" is not the code of a rule', code)
        try:
            rules.append((code, _rule(code, _table(table))))
        except InvalidValue as error:
            raise InvalidValue(f'"{code}": {error}', code) from None
    return tuple(rules)


def _rule(code: str, table: Mapping[str, Any]) -> RuleSettings:
    fields: dict[str, Any] = {}
    readers: dict[str, Callable[[Any], Any]] = {
        "severity": lambda value: _choice(SEVERITIES, value),
        "min-confidence": _confidence,
    }
    if code == _REQUIRE_REASON[0]:
        readers[_REQUIRE_REASON[1]] = _boolean
    for key, value in table.items():
        if key not in readers:
            raise InvalidValue(f'unknown setting "{key}"{suggestion(key.replace("_", "-"), tuple(readers))}')
        try:
            fields[key.replace("-", "_")] = readers[key](value)
        except InvalidValue as error:
            raise InvalidValue(f'"{key}": {error}') from None
    return RuleSettings(**fields)


#: key in the file (its field in `Settings` has underscores) -> how its value is read; raises InvalidValue
KEYS: Mapping[str, Callable[[Any], Any]] = {
    "preset": lambda value: _choice(preset_names(), value),
    "select": _codes,
    "ignore": _codes,
    "extend-select": _codes,
    "per-file-ignores": _per_file,
    "rules": _rules,
    "min-confidence": _confidence,
    "exclude": _strings,
    "extend-exclude": _strings,
    "force-exclude": _boolean,
    "respect-gitignore": _boolean,
    "sharded": _sharded,
    "models": lambda value: tuple(_path(item) for item in _strings(value)),
    "fix": _boolean,
    "unsafe-fixes": _boolean,
    "extend-safe-fixes": _codes,
    "extend-unsafe-fixes": _codes,
    "fix-preference": lambda value: _choice(("agree", "hoist"), value),
    "output-format": lambda value: _choice(OUTPUT_FORMATS, value),
    "cache-dir": _path,
    "baseline": _path,
}
#: the key that names another settings file, whose settings count where this file says nothing
EXTEND = "extend"
#: the key that names a set of defaults
PRESET = "preset"
#: keys whose values are tables
TABLES = ("per-file-ignores", "rules")
#: keys whose paths are relative to the file that says them
PATHS = ("models", "cache-dir", "baseline")


def read_extend(value: Any) -> Path:
    """The path that `extend` names; raises InvalidValue."""
    return _path(value)
