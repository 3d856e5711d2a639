"""What a model file may say, derived from the dataclasses of `types`, and how a TOML table becomes one of them.

A field added to a dataclass is a key of the TOML form at once: the annotation tells the sort of value. Only what an
annotation cannot tell (which words are allowed) is written down here.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ferrule_lint.models.types import Argument, AttributeModel, CallModel, ClassModel, Convention

#: the axes that a model may name; "world" spans all, "attn_dp" lies inside tp, "edp" (copies of the same experts),
#: "replicate" (copies of a sharded model) and "shard" (its parts) inside dp, "cfg" are the branches of classifier-free
#: guidance, "private" is outside torch.distributed
AXES = ("dp", "tp", "pp", "cp", "ep", "world", "attn_dp", "edp", "replicate", "shard", "cfg", "private")

#: the words allowed for a key; a key that is not here takes any string
CHOICES: Mapping[str, tuple[str, ...]] = {
    "p2p": ("", "send", "recv", "both"),
    "returns": ("uniform", "true", "false", "rank_and_size", "divergent", "data", "argument", "same", "unknown"),
    "kind": ("", "rank", "data", "host", "structure"),
    "wraps": ("", "shards", "ddp"),
    "wraps_all": ("", "shards", "ddp"),
    "strategy": ("", "shards", "stage", "named"),
    "results": ("", "module", "loader"),
    "context": ("", "enter", "exit", "both"),
    "confidence": ("high", "medium", "low"),
    "role": ("module", "sharded", "ddp", "loader", "group", "leaf", "generation"),
    "what": (
        "axis",
        "rank",
        "uniform",
        "initialized",
        "batch",
        "data",
        "optional",
        "ragged",
        "tokens",
        "content",
        "tensor",
        "loader",
        "module",
        "group",
        "local_size",
    ),
    "axes": AXES,
    "root_of": AXES,
}

#: keys whose value is a regular expression
PATTERNS = frozenset({"receiver", "pattern"})

TABLES: Mapping[str, type[Any]] = {
    "call": CallModel,
    "attribute": AttributeModel,
    "class": ClassModel,
    "convention": Convention,
}

_ARGUMENT = re.compile(r"([A-Za-z_]\w*)(?:@(\d+))?")
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class ValueProblem(Exception):
    """A mistake in a table: the key it stands at, the offending element (for lists) and what is wrong."""

    def __init__(self, message: str, key: str | None = None, element: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.key = key
        self.element = element


def _fields(model: type[Any]) -> dict[str, str]:
    """The keys of a table and the annotations of their values."""
    fields = {field.name: str(field.type) for field in dataclasses.fields(model)}
    fields.pop("library", None)
    if "name" in fields:
        fields.pop("name")
        fields = {"names": "tuple[str, ...]", **fields}
    return fields


#: table -> key -> annotation
KEYS: Mapping[str, Mapping[str, str]] = {table: _fields(model) for table, model in TABLES.items()}
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "call": ("names",),
    "attribute": ("names", "returns"),
    "class": ("names", "role"),
    "convention": ("what", "pattern"),
}


def suggest(word: str, known: tuple[str, ...]) -> str:
    """A did-you-mean for `word`, or the known words where they are few."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(repr(item) for item in known)}" if len(known) <= 12 else ""


def parse_argument(text: str) -> Argument:
    """`"group@2"` or `"group"` as an `Argument`."""
    match = _ARGUMENT.fullmatch(text)
    if match is None:
        raise ValueError(f'{text!r} is no argument; write "name@position" or "name"')
    return Argument(match[1], int(match[2]) if match[2] else None)


def _string(key: str, value: object, element: str | None = None) -> str:
    if not isinstance(value, str):
        raise ValueProblem(f"{key!r} has to be a string, not {_sort(value)}", key)
    choices = CHOICES.get(key)
    if choices is not None and value not in choices:
        raise ValueProblem(f"{value!r} is no value of {key!r}{suggest(value, choices)}", key, element)
    return value


def _sort(value: object) -> str:
    names = {str: "a string", bool: "a truth value", int: "a number", list: "a list", dict: "a table"}
    return names.get(type(value), type(value).__name__)


def _argument(key: str, value: object, element: str | None = None) -> Argument:
    try:
        return parse_argument(_string(key, value))
    except ValueError as error:
        raise ValueProblem(str(error), key, element) from None


def _list(key: str, value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueProblem(f"{key!r} has to be a list of strings, not {_sort(value)}", key)
    return value


def _value(key: str, annotation: str, value: object) -> object:
    """The value of a key, checked and converted by the annotation of its field."""
    if annotation == "bool":
        if not isinstance(value, bool):
            raise ValueProblem(f"{key!r} has to be true or false, not {_sort(value)}", key)
        return value
    if annotation in ("str", "str | None"):
        return _string(key, value)
    if annotation == "Argument | None":
        return _argument(key, value)
    if annotation == "tuple[Argument, ...]":
        return tuple(_argument(key, item, item) for item in _list(key, value))
    if annotation == "tuple[str, ...]":
        return tuple(_string(key, item, item) for item in _list(key, value))
    raise TypeError(f"no model key can have the type {annotation}")


def check_pattern(key: str, pattern: str) -> None:
    """Raise if `pattern` is no regular expression."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueProblem(f"{key!r} is no regular expression: {error}", key) from None


def _check_call(values: Mapping[str, Any]) -> None:
    """The rules that bind several keys of a `[[call]]`."""
    if values.get("returns") == "divergent" and not values.get("kind"):
        raise ValueProblem("returns = \"divergent\" needs a 'kind'", "returns")
    if values.get("event", "x") == "":
        raise ValueProblem("'event' is empty; leave the key out", "event")
    for key in ("same_shape", "makes_uniform", "fills", "deals", "root", "p2p", "hidden"):
        if values.get(key) and not values.get("event"):
            raise ValueProblem(f"{key!r} speaks of an event, but there is no 'event'", key)
    if values.get("wrapped") and not values.get("wraps"):
        raise ValueProblem("'wrapped' needs 'wraps'", "wrapped")
    if values.get("parts_by") and values.get("wraps") != "shards":
        raise ValueProblem("'parts_by' needs wraps = \"shards\"", "parts_by")
    if values.get("results") and not values.get("wraps"):
        raise ValueProblem("'results' needs 'wraps'", "results")
    if values.get("configured") and values.get("wraps") != "shards" and not values.get("shards_by"):
        raise ValueProblem("'configured' needs wraps = \"shards\" or 'shards_by'", "configured")
    if values.get("launched") and not values.get("configured"):
        raise ValueProblem("'launched' needs 'configured'", "launched")


def _check_names(names: tuple[str, ...], receiver: bool, whole_modules: bool) -> None:
    if not names:
        raise ValueProblem("'names' is empty", "names")
    seen: set[str] = set()
    for name in names:
        if not _NAME.fullmatch(name.removesuffix(".*") if whole_modules else name):
            raise ValueProblem(f"{name!r} is no dotted name", "names", name)
        if receiver and "." in name:
            message = f"{name!r}: with 'receiver' a name is the bare name of a method or attribute"
            raise ValueProblem(message, "names", name)
        if name in seen:
            raise ValueProblem(f"{name!r} is given twice", "names", name)
        seen.add(name)


def build(table: str, entry: Mapping[str, object], library: str, check_patterns: bool) -> Iterator[Any]:
    """The models of one `[[table]]` entry, one for each of its names.

    Shipped files skip `check_patterns`: compiling is most of the cost of loading, and the tests do it for them.
    """
    keys = KEYS[table]
    values: dict[str, Any] = {}
    for key, value in entry.items():
        annotation = keys.get(key)
        if annotation is None:
            raise ValueProblem(f"unknown key {key!r} in [[{table}]]{suggest(key, tuple(keys))}", key)
        values[key] = _value(key, annotation, value)
        if check_patterns and key in PATTERNS:
            check_pattern(key, values[key])
    for key in _REQUIRED[table]:
        if key not in values:
            raise ValueProblem(f"[[{table}]] needs the key {key!r}")
    if table == "convention":
        yield Convention(**values)
        return
    if table == "call":
        _check_call(values)
    if table == "attribute" and values["returns"] == "divergent":
        values.setdefault("kind", "rank")
    names = values.pop("names")
    _check_names(names, "receiver" in values, table == "class")
    model = TABLES[table]
    for name in names:
        yield model(name=name, library=library, **values)
