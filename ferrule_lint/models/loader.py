"""Reads and checks the model files: `rules/models/*.toml` and those a project adds.

A mistake is a `ModelError` with the file and the line. The user's files win over the shipped ones: a model of the same
name (and receiver) replaces the shipped model, and their patterns are asked first.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ferrule_lint.models import schema
from ferrule_lint.models.locate import line_of
from ferrule_lint.models.lookup import ModelSet
from ferrule_lint.models.types import AttributeModel, CallModel, ModelFile

_LIBRARY_KEYS = ("name", "aliases")


class ModelError(Exception):
    """A mistake in a model file."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line
        self.message = message


def load_models(extra: Sequence[Path] = ()) -> ModelSet:
    """The shipped models and those of the files `extra`; raises `ModelError`."""
    from ferrule_lint.resources import rules_dir

    return load_directory(Path(str(rules_dir())) / "models", extra)


def load_directory(directory: Path, extra: Sequence[Path] = ()) -> ModelSet:
    """The models of all `*.toml` in `directory`, with the files `extra` before them."""
    shipped = _shipped(str(directory))
    if not extra:
        return ModelSet(shipped)
    files = [load_file(path) for path in extra]
    _check_across(files, [path.read_text("utf-8") for path in extra])
    taken = {identity for file in files for identity in _identities(file)}
    return ModelSet([*files, *(_without(file, taken) for file in shipped)])


def load_file(path: Path, check_patterns: bool = True) -> ModelFile:
    """One model file, checked."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ModelError(str(path), 1, f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = path.read_bytes().count(b"\n", 0, error.start) + 1
        raise ModelError(str(path), line, "is not UTF-8") from None
    return parse(text.replace("\r\n", "\n"), str(path), check_patterns)


def parse(text: str, path: str, check_patterns: bool = True) -> ModelFile:
    """The models in the text of a model file; `path` is for messages."""
    document = _toml(text, path)
    known = ("library", *schema.TABLES)
    for table, value in document.items():
        if table not in known:
            line = line_of(text, table) if isinstance(value, dict | list) else 1
            line = line if line > 1 else line_of(text, "", key=table)
            raise ModelError(path, line, f"unknown table {table!r}{schema.suggest(table, known)}")
        if table != "library" and not (isinstance(value, list) and all(isinstance(item, dict) for item in value)):
            raise ModelError(path, line_of(text, table), f"{table!r} has to be written as [[{table}]]")
    library, aliases = _library(document.get("library"), text, path)
    models: dict[str, tuple[Any, ...]] = {}
    for table in schema.TABLES:
        built: list[Any] = []
        seen: dict[tuple[str, ...], int] = {}
        for number, entry in enumerate(document.get(table, ())):
            try:
                for model in schema.build(table, entry, library, check_patterns):
                    identity = _identity(model)
                    if identity in seen:
                        element = identity[1]
                        where = line_of(text, table, seen[identity], _naming(table), element)
                        message = f"{element!r} has a model already (line {where})"
                        raise schema.ValueProblem(message, _naming(table), element)
                    built.append(model)
                    seen[identity] = number
            except schema.ValueProblem as problem:
                line = line_of(text, table, number, problem.key, problem.element)
                raise ModelError(path, line, problem.message) from None
        models[table] = tuple(built)
    return ModelFile(
        library=library,
        path=path,
        calls=models["call"],
        attributes=models["attribute"],
        classes=models["class"],
        conventions=models["convention"],
        aliases=aliases,
    )


@lru_cache(maxsize=4)
def _shipped(directory: str) -> tuple[ModelFile, ...]:
    return tuple(load_file(path, check_patterns=False) for path in sorted(Path(directory).glob("*.toml")))


def _toml(text: str, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        match = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
        line = int(match[1]) if match and match[1] else max(1, len(text.splitlines()))
        raise ModelError(path, line, f"invalid TOML: {message[: match.start()] if match else message}") from None


def _library(value: object, text: str, path: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Name and aliases of the `[library]` table."""
    if not isinstance(value, dict):
        line = 1 if value is None else line_of(text, "library")
        raise ModelError(path, line, "a model file needs a table [library] with a 'name'")
    for key in value:
        if key not in _LIBRARY_KEYS:
            message = f"unknown key {key!r} in [library]{schema.suggest(key, _LIBRARY_KEYS)}"
            raise ModelError(path, line_of(text, "library", key=key), message)
    name = value.get("name")
    if not isinstance(name, str) or not name:
        raise ModelError(path, line_of(text, "library", key="name"), "[library] needs a 'name', a string")
    aliases = value.get("aliases", {})
    if not isinstance(aliases, Mapping) or not all(isinstance(target, str) for target in aliases.values()):
        line = line_of(text, "library", key="aliases")
        raise ModelError(path, line, "'aliases' has to be a table from dotted prefix to dotted prefix")
    return name, tuple(aliases.items())


def _naming(table: str) -> str:
    return "pattern" if table == "convention" else "names"


def _identity(model: Any) -> tuple[str, ...]:
    """What two models of one sort must not share; the second element is what to show of it."""
    if isinstance(model, CallModel | AttributeModel):
        return (type(model).__name__, model.name, *(() if model.receiver is None else (model.receiver,)))
    if hasattr(model, "pattern"):
        return ("Convention", model.pattern, model.what)
    return (type(model).__name__, model.name)


def _identities(file: ModelFile) -> Iterable[tuple[str, ...]]:
    for models in (file.calls, file.attributes, file.classes, file.conventions):
        yield from map(_identity, models)


def _without(file: ModelFile, taken: set[tuple[str, ...]]) -> ModelFile:
    """The file less the models that a user's file replaces."""
    if taken.isdisjoint(_identities(file)):
        return file
    return replace(
        file,
        calls=tuple(model for model in file.calls if _identity(model) not in taken),
        attributes=tuple(model for model in file.attributes if _identity(model) not in taken),
        classes=tuple(model for model in file.classes if _identity(model) not in taken),
        conventions=tuple(model for model in file.conventions if _identity(model) not in taken),
    )


def _check_across(files: Sequence[ModelFile], texts: Sequence[str]) -> None:
    """No two of the user's files may model the same name."""
    seen: dict[tuple[str, ...], str] = {}
    tables = {"CallModel": "call", "AttributeModel": "attribute", "ClassModel": "class", "Convention": "convention"}
    for file, text in zip(files, texts, strict=True):
        for identity in _identities(file):
            if identity in seen:
                line = _find(text, tables[identity[0]], identity)
                raise ModelError(file.path, line, f"{identity[1]!r} has a model already in {seen[identity]}")
        seen.update((identity, file.path) for identity in _identities(file))


def _find(text: str, table: str, identity: tuple[str, ...]) -> int:
    """The line of the entry that makes the model with this identity."""
    for number, entry in enumerate(tomllib.loads(text).get(table, ())):
        if any(_identity(model) == identity for model in schema.build(table, entry, "", False)):
            return line_of(text, table, number, _naming(table), identity[1])
    return 1
