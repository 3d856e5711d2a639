"""The settings of a run: their defaults, and what `pyproject.toml` or `ferrule.toml` say instead."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ferrule_lint.findings import Confidence
from ferrule_lint.models.locate import line_of

TABLE = "tool.ferrule-lint"
OUTPUT_FORMATS = ("full", "concise", "json")
DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytest_cache",
    ".ruff_cache", ".svn", ".tox", ".venv", ".venv-*", "__pycache__", "__pypackages__", "_build", "build", "buck-out",
    "dist", "env", "node_modules", "site-packages", "venv", ".ferrule_cache",
)  # fmt: skip

Sharded = bool | str | tuple[str, ...]


class ConfigError(Exception):
    """A setting that cannot be used, with its place. `line` 0: the whole file, or the command line."""

    def __init__(self, path: str, line: int, message: str) -> None:
        place = f"{path}:{line}: " if line else f"{path}: " if path else ""
        super().__init__(place + message)
        self.path = path
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run does. Built by `load_settings`; the command line replaces fields."""

    #: the folder that findings' paths and patterns are relative to; None until discovery has found it
    root: Path | None = None
    #: the file the settings came from
    source: Path | None = None
    select: tuple[str, ...] = ("FER",)
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    min_confidence: Confidence = Confidence.MEDIUM
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    #: whether modules are sharded: "auto" looks for evidence, a tuple holds patterns of class names
    sharded: Sharded = "auto"
    #: further model files
    models: tuple[Path, ...] = ()
    output_format: str = "full"
    #: apply fixes, as `--fix` does
    fix: bool = False
    #: apply those, too, that rest on an assumption
    unsafe_fixes: bool = False
    #: rules whose fixes count as safe, or as unsafe, whatever they say of themselves
    extend_safe_fixes: tuple[str, ...] = ()
    extend_unsafe_fixes: tuple[str, ...] = ()
    cache_dir: Path | None = None


def suggestion(word: str, known: list[str] | tuple[str, ...]) -> str:
    """`; did you mean "x"?` for the known word nearest to `word`, or nothing."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f'; did you mean "{near[0]}"?' if near else ""


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("expected a list of strings")
    return tuple(value)


def _codes(value: Any) -> tuple[str, ...]:
    for code in _strings(value):
        if not re.fullmatch(r"ALL|[A-Z]+[0-9]*", code):
            raise ValueError(f'"{code}" is not a rule code or the beginning of one')
    return tuple(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def _choice(words: tuple[str, ...], value: Any) -> str:
    listed = ", ".join(f'"{word}"' for word in words)
    if not isinstance(value, str):
        raise ValueError(f"expected one of {listed}")
    if value not in words:
        raise ValueError(f'"{value}" is none of {listed}{suggestion(value, words)}')
    return value


def _confidence(value: Any) -> Confidence:
    return Confidence.parse(_choice(("low", "medium", "high"), value))


def _sharded(value: Any) -> Sharded:
    if isinstance(value, bool):
        return value
    if value == "auto":
        return "auto"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError('expected "auto", true, false or a list of patterns of class names')


def _path(value: Any) -> Path:
    if not isinstance(value, str) or not value:
        raise ValueError("expected a path")
    return Path(value).expanduser()


#: key in the file -> (field of Settings, conversion that raises ValueError)
_KEYS: Mapping[str, Callable[[Any], Any]] = {
    "select": _codes,
    "ignore": _codes,
    "extend-select": _codes,
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
    "output-format": lambda value: _choice(OUTPUT_FORMATS, value),
    "cache-dir": _path,
}


def parse_settings(values: Mapping[str, Any], path: Path, text: str, table: str) -> Settings:
    """Settings from the parsed `values` of `table` in the file `path`, whose `text` gives the lines of mistakes."""
    fields: dict[str, Any] = {"source": path}
    for key, value in values.items():
        line = line_of(text, table, key=key)
        convert = _KEYS.get(key)
        if convert is None:
            hint = suggestion(key.replace("_", "-"), tuple(_KEYS))
            raise ConfigError(str(path), line, f'unknown setting "{key}"{hint}')
        try:
            converted = convert(value)
        except ValueError as error:
            raise ConfigError(str(path), line, f'"{key}": {error}') from None
        # paths in a file are relative to that file
        if key == "models":
            converted = tuple(path.parent / item for item in converted)
        elif key == "cache-dir":
            converted = path.parent / converted
        fields[key.replace("-", "_")] = converted
    return replace(Settings(), **fields)


def _read(path: Path) -> tuple[dict[str, Any], str]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(str(path), 0, f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(str(path), 0, "is not UTF-8") from None
    # tomllib wants its line ends one way
    text = text.replace("\r\n", "\n")
    try:
        return tomllib.loads(text), text
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line = int(place[1]) if place else 0
        message = re.sub(r" \(at (line \d+, column \d+|end of document)\)", "", str(error))
        raise ConfigError(str(path), line or text.count("\n") + 1, f"not valid TOML: {message}") from None
    except RecursionError:
        raise ConfigError(str(path), 0, "not valid TOML: nested too deeply") from None


def load_file(path: Path) -> Settings | None:
    """The settings in one file, or None if it is a `pyproject.toml` without a `[tool.ferrule-lint]`."""
    values, text = _read(path)
    if path.name != "pyproject.toml":
        if "tool" in values and set(values) == {"tool"}:
            raise ConfigError(str(path), line_of(text, TABLE), f"no [{TABLE}] here: settings stand at the top level")
        return parse_settings(values, path, text, "")
    tool = values.get("tool", {})
    table = tool.get("ferrule-lint") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ConfigError(str(path), line_of(text, "tool", key="ferrule-lint"), f"[{TABLE}] has to be a table")
    return parse_settings(table, path, text, TABLE)


def load_settings(start: Path, *, config: Path | None = None, isolated: bool = False) -> Settings:
    """The settings for `start`: of `config` if given, else of the nearest file with some, in it or above it."""
    if isolated:
        return Settings()
    if config is not None:
        if config.is_dir():
            raise ConfigError(str(config), 0, "is a folder, not a settings file")
        return load_file(config) or Settings(source=config)
    folder = start.resolve()
    if not folder.is_dir():
        folder = folder.parent
    for candidate in (folder, *folder.parents):
        for name in ("ferrule.toml", "pyproject.toml"):
            path = candidate / name
            if path.is_file():
                settings = load_file(path)
                if settings is not None:
                    return settings
    return Settings()


def describe(settings: Settings) -> str:
    """All settings as TOML, for `--show-settings`."""
    source = settings.source or "none: defaults"
    lines = [f"# settings file: {source}"]
    if settings.root is not None:
        lines.append(f"# project root: {settings.root}")
    for key in _KEYS:
        value = getattr(settings, key.replace("-", "_"))
        if value is None:
            lines.append(f"# {key}: not set")
        else:
            lines.append(f"{key} = {_toml(value)}")
    return "\n".join(lines)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Confidence):
        return f'"{value.label}"'
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
