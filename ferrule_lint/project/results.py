"""What a run found, kept under all that it depends on: an unchanged project is not analysed again.

The key is a digest of the files that are read (names and contents), of those that are reported, of the settings, of the
model files, and of the tool itself with the Python it runs on. An entry is JSON with a checksum, read back into the
types of `findings` and nothing else; whatever is wrong with it, the project is analysed.

Another entry, under the settings and the tool alone, has what was found file by file, for the next run over a project
that has changed (`checks.remembered`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import hashlib
import json
import os
import sys
import types
import typing
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import ferrule_lint
from ferrule_lint.findings import Finding
from ferrule_lint.project.cache import prepare, write_entry
from ferrule_lint.project.config import Settings
from ferrule_lint.project.discovery import Discovery
from ferrule_lint.project.nearest import Nearest
from ferrule_lint.resources import rules_dir

_PACKAGE = Path(ferrule_lint.__file__).parent
_T = typing.TypeVar("_T")
#: settings that decide where things are read and shown, and what is done about findings, not what is found
_ELSEWHERE = frozenset(
    "root source output_format cache_dir models overrides by_file baseline preset fix unsafe_fixes".split()
)
#: entries that are kept: branches that one goes back and forth between, and subsets that are linted
MOST = 32
#: their bytes: what is kept of each file of a large project is tens of megabytes
MOST_BYTES = 256_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class Results:
    """The part of a report that comes from the analysis."""

    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    lines: int
    statistics: dict[str, int]


@cache
def tool_version() -> str:
    """What results depend on besides the project: every file of the tool, and the Python it runs on."""
    digest = hashlib.sha256(f"{ferrule_lint.__version__} {sys.version_info[:3]}".encode())
    for folder, pattern in ((_PACKAGE, "**/*.py"), (Path(str(rules_dir())) / "models", "*.toml")):
        for path in sorted(folder.glob(pattern)):
            with contextlib.suppress(OSError):
                digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def digests(discovery: Discovery, contents: Mapping[str, bytes]) -> dict[str, str] | None:
    """A digest of each file that is read; None if one cannot be. `contents` stand in for files."""
    found: dict[str, str] = {}
    try:
        for path in discovery.read:
            content = contents.get(path)
            if content is None:
                with open(f"{discovery.root}/{path}", "rb") as file:
                    content = file.read()
            found[path] = hashlib.sha256(content).hexdigest()
    except OSError:
        return None
    return found


def key(discovery: Discovery, settings: Settings, files: Mapping[str, str], elsewhere: bool = False) -> str | None:
    """The name of the entry for a run over files with these digests, which may have looked `elsewhere` as well; None if
    a model file cannot be read."""
    digest = hashlib.sha256(f"{tool_version()} {elsewhere}".encode())
    nearest = Nearest(dataclasses.replace(settings, root=discovery.root))
    try:
        digest.update(said(settings))
        for own in nearest.among(discovery.report):
            digest.update(said(own))
            digest.update(f"{own.source}".encode())
    except OSError:
        return None
    reported = set(discovery.report)
    for path, content in files.items():
        digest.update(f"\n{path}\0{path in reported}{content}".encode())
    return digest.hexdigest()


def key_of_project(settings: Settings, what: str) -> str | None:
    """The name of an entry with what is known of a project whatever its files hold; None if a model file cannot be
    read."""
    digest = hashlib.sha256(f"{tool_version()} {what} {settings.sharded!r}".encode())
    try:
        for model in settings.models:
            digest.update(hashlib.sha256(model.read_bytes()).digest())
    except OSError:
        return None
    return digest.hexdigest()


def said(settings: Settings) -> bytes:
    """What settings say that decides what is found; raises OSError for a model file that cannot be read."""
    names = (field.name for field in dataclasses.fields(settings) if field.name not in _ELSEWHERE)
    text = "".join(f"{name}={getattr(settings, name)!r}\n" for name in names).encode()
    return text + b"".join(hashlib.sha256(model.read_bytes()).digest() for model in settings.models)


class ResultsCache:
    """The entries in `folder`, which is that of the facts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries = folder / "results"

    def load(self, name: str, kind: type[_T]) -> _T | None:
        """What is kept under `name`, if there is a whole entry of this kind."""
        entry = self._entries / f"{name}.json"
        try:
            head, _, body = entry.read_bytes().partition(b"\n")  # a text would be one more copy of a hundred megabytes
            if head != _head(body):
                return None
            results = _decode(kind, json.loads(body))
            # what is used stays
            with contextlib.suppress(OSError):
                os.utime(entry)
        except Exception:
            # a damaged or foreign entry can fail in any way
            return None
        return typing.cast(_T, results)

    def store(self, name: str, results: object) -> None:
        """Keep a dataclass; silently not, if the folder cannot be written or the disk is full."""
        try:
            body = json.dumps(encoded(results), separators=(",", ":")).encode("ascii")
            prepare(self.folder)
            self._entries.mkdir(exist_ok=True)
            write_entry(self._entries / f"{name}.json", _head(body), b"\n", body)
            self._forget()
        except (OSError, ValueError, RecursionError):
            return

    def _forget(self) -> None:
        """Drop the entries that nobody has used for longest."""
        entries = [(path.stat(), path) for path in self._entries.glob("*.json")]
        left = MOST_BYTES
        for place, (status, path) in enumerate(sorted(entries, key=lambda entry: entry[0].st_mtime, reverse=True)):
            left -= status.st_size
            if place and (place >= MOST or left < 0):
                path.unlink(missing_ok=True)


def _head(body: bytes) -> bytes:
    return f"ferrule-results {zlib.crc32(body):08x}".encode("ascii")


#: what JSON has as it is
_PLAIN = (str, int, bool)


# ---------------------------------------------------------------------- values <-> JSON, by their types
def encoded(value: Any) -> Any:
    """A dataclass, or tuple or list of them, as JSON has it."""
    if dataclasses.is_dataclass(value):
        return [encoded(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, tuple | list):
        return [encoded(item) for item in value]
    return int(value) if isinstance(value, enum.IntEnum) else value


@cache
def _fields(cls: Any) -> tuple[Any, ...]:
    notes = typing.get_type_hints(cls)
    return tuple([notes[field.name] for field in dataclasses.fields(cls)])


def _decode(kind: Any, value: Any) -> Any:
    """`value` as a `kind`; ValueError or TypeError if it is none."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return kind(*_all(_fields(kind), value))
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        _expect(isinstance(value, list))
        if arguments[0] in _PLAIN:
            _expect({arguments[0]}.issuperset(map(type, value)))
            return tuple(value)
        return tuple([_decode(arguments[0], item) for item in value])
    if origin is dict:
        _expect(isinstance(value, dict) and all(type(item) is arguments[1] for item in value.values()))
        return value
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in arguments:
            return None
        return _decode(next(a for a in arguments if a is not type(None)), value)
    if isinstance(kind, type) and issubclass(kind, enum.IntEnum):
        return kind(value)
    _expect(type(value) is kind)
    return value


def _all(kinds: Iterable[Any], values: Any) -> list[Any]:
    _expect(isinstance(values, list))
    return [_decode(kind, value) for kind, value in zip(kinds, values, strict=True)]


def _expect(holds: bool) -> None:
    if not holds:
        raise ValueError("not what is kept here")
