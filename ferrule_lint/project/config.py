"""The settings of a run: their defaults, and what `pyproject.toml` or `ferrule.toml` say instead."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ferrule_lint.findings import Confidence
from ferrule_lint.models.locate import line_of
from ferrule_lint.project.presets import preset_of, preset_path
from ferrule_lint.project.values import (
    EXTEND,
    KEYS,
    PATHS,
    PRESET,
    InvalidValue,
    RuleSettings,
    Sharded,
    read_extend,
    suggestion,
)

TABLE = "tool.ferrule-lint"
#: the names of settings files, the first of them counts in a folder
FILES = (".ferrule.toml", "ferrule.toml", "pyproject.toml")
#: what the table is not called, though the settings file is `ferrule.toml` and the package `ferrule_lint`
_OTHER_NAMES = ("ferrule", "ferrule_lint")
DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytest_cache",
    ".ruff_cache", ".svn", ".tox", ".venv", ".venv-*", "__pycache__", "__pypackages__", "_build", "build", "buck-out",
    "dist", "env", "node_modules", "site-packages", "venv", ".ferrule_cache",
    # templates of cookiecutter and copier, which are no Python yet
    "*{{*}}*",
)  # fmt: skip


class ConfigError(Exception):
    """A setting that cannot be used, with its place. `line` 0: the whole file, or the command line."""

    def __init__(self, path: str, line: int, message: str) -> None:
        place = f"{path}:{line}: " if line else f"{path}: " if path else ""
        super().__init__(place + message)
        self.path = path
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says, whatever the files say. None and empty: nothing."""

    #: a selection on the command line starts anew, as in ruff
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    #: in place of the one that a file names; what the file says itself comes before it all the same
    preset: str | None = None
    min_confidence: Confidence | None = None
    output_format: str | None = None
    cache_dir: Path | None = None
    force_exclude: bool | None = None
    ignore_suppressions: bool | None = None
    fix: bool | None = None
    unsafe_fixes: bool | None = None

    def applied_to(self, settings: Settings) -> Settings:
        """The settings of a file with these instead of its own."""
        if self.preset is not None:
            settings = _with_preset(settings, self.preset)
        if self.select:
            settings = replace(settings, select=self.select, ignore=(), extend_select=())
        if self.min_confidence is not None:
            # more specific than what a file says of one rule
            rules = tuple((code, replace(rule, min_confidence=None)) for code, rule in settings.rules)
            settings = replace(settings, rules=rules)
        settings = replace(
            settings,
            ignore=(*settings.ignore, *self.ignore),
            extend_select=(*settings.extend_select, *self.extend_select),
            extend_exclude=(*settings.extend_exclude, *self.extend_exclude),
            overrides=self,
        )
        done = ("select", "ignore", "extend_select", "extend_exclude", "preset")
        plain = (name for one in fields(self) if (name := one.name) not in done)
        said = {name: value for name in plain if (value := getattr(self, name)) is not None}
        return replace(settings, **said)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run does. Built by `load_settings`; the command line replaces fields."""

    #: the folder that findings' paths and patterns are relative to; None until discovery has found it
    root: Path | None = None
    #: the file the settings came from
    source: Path | None = None
    #: the named set of defaults that the file builds on
    preset: str | None = None
    select: tuple[str, ...] = ("FER",)
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    #: (pattern of paths, codes that are not reported there)
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: (code, what is said of that rule)
    rules: tuple[tuple[str, RuleSettings], ...] = ()
    min_confidence: Confidence = Confidence.MEDIUM
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    #: report what comments suppress, and nothing about these comments
    ignore_suppressions: bool = False
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
    #: the form of a fix that comes first where several fit: "agree" on the condition, or "hoist" what it decides about
    fix_preference: str = "agree"
    cache_dir: Path | None = None
    #: the file of findings that were there before; None: the usual one, if it is there
    baseline: Path | None = None
    #: (key, the file that says it)
    origins: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    #: whether files may have settings of their own, of a nearer settings file: see `project.nearest`
    by_file: bool = field(default=False, compare=False)
    overrides: Overrides = field(default=Overrides(), compare=False)

    def rule(self, code: str) -> RuleSettings:
        """What is said of one rule."""
        return next((rule for known, rule in self.rules if known == code), RuleSettings())


def parse_settings(
    values: Mapping[str, Any], path: Path, text: str, table: str, base: Settings | None = None
) -> Settings:
    """Settings from the parsed `values` of `table` in the file `path`, whose `text` gives the lines of mistakes.

    What the file does not say is as in `base`, by default as in `Settings`.
    """
    base = base or Settings()
    changes: dict[str, Any] = {"source": path}
    origins = dict(base.origins)
    for key, value in values.items():
        if key == EXTEND:
            continue
        convert = KEYS.get(key)
        if convert is None:
            hint = suggestion(key.replace("_", "-"), (*KEYS, EXTEND))
            raise ConfigError(str(path), line_of(text, table, key=key), f'unknown setting "{key}"{hint}')
        try:
            converted = convert(value)
        except InvalidValue as error:
            raise ConfigError(str(path), line_in(text, table, key, error.key), f'"{key}": {error}') from None
        if key in PATHS:
            # paths in a file are relative to that file
            relative = isinstance(converted, Path)
            converted = path.parent / converted if relative else tuple(path.parent / item for item in converted)
        changes[key.replace("-", "_")] = converted
        origins[key] = str(path)
    return replace(base, origins=tuple(origins.items()), **changes)


def line_in(text: str, table: str, key: str, inner: str) -> int:
    """Where `key` of `table` stands, or `inner` in it: the tables of TOML have two forms."""
    if inner:
        below = f"{table}.{key}" if table else key
        for name in (f"{below}.{inner}", below):
            # the beginning of the file is what `line_of` says if there is no such table
            line = line_of(text, name, key=inner if name == below else None)
            if line > 1 or text.lstrip().startswith(f"[{name}]"):
                return line
    return line_of(text, table, key=key)


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


def _speaks_of_us(path: Path) -> bool:
    try:
        return b"ferrule" in path.read_bytes()
    except OSError:
        return True


@dataclass(frozen=True, slots=True)
class _Layer:
    """What one file says: its keys, and the text and table they stand in."""

    path: Path
    values: Mapping[str, Any]
    text: str
    table: str


def load_file(path: Path) -> Settings | None:
    """The settings in one file, or None if it is a `pyproject.toml` without a `[tool.ferrule-lint]`.

    What it does not say is taken from the file that it extends, and then from the preset.
    """
    layers = _layers(path, ())
    if not layers:
        return None
    settings = Settings()
    for layer in reversed(layers):
        if PRESET in layer.values:
            settings = _preset(layer)
            break
    for layer in layers:
        settings = parse_settings(layer.values, layer.path, layer.text, layer.table, settings)
    return settings


def _layers(path: Path, extended_by: tuple[Path, ...]) -> list[_Layer]:
    """What a file and those that it extends say, the file itself last. `extended_by` are the files that lead here."""
    if path.name == "pyproject.toml" and not _speaks_of_us(path):
        # somebody else's, and not for us to judge
        return []
    values, text = _read(path)
    table = ""
    if path.name != "pyproject.toml":
        if "tool" in values and set(values) == {"tool"}:
            raise ConfigError(str(path), line_of(text, TABLE), f"no [{TABLE}] here: settings stand at the top level")
    else:
        tool = values.get("tool", {})
        tool = tool if isinstance(tool, dict) else {}
        ours = tool.get("ferrule-lint")
        if ours is None:
            _check_other_names(tool, path, text)
            return []
        if not isinstance(ours, dict):
            raise ConfigError(str(path), line_of(text, "tool", key="ferrule-lint"), f"[{TABLE}] has to be a table")
        values, table = ours, TABLE
    layer = _Layer(path, values, text, table)
    return [*(_extended(layer, extended_by) if EXTEND in values else ()), layer]


def _check_other_names(tool: Mapping[str, Any], path: Path, text: str) -> None:
    """ConfigError for our settings in a table that is called otherwise: without it they would just not count."""
    for name in _OTHER_NAMES:
        table = tool.get(name)
        if isinstance(table, dict) and any(key.replace("_", "-") in (*KEYS, EXTEND) for key in table):
            raise ConfigError(str(path), line_of(text, f"tool.{name}"), f"[tool.{name}] is not read; write [{TABLE}]")


def _extended(layer: _Layer, extended_by: tuple[Path, ...]) -> list[_Layer]:
    """The layers of the file that `extend` names."""
    path = layer.path
    line = line_of(layer.text, layer.table, key=EXTEND)
    try:
        other = path.parent / read_extend(layer.values[EXTEND])
    except InvalidValue as error:
        raise ConfigError(str(path), line, f'"{EXTEND}": {error}') from None
    chain = (*extended_by, path.resolve())
    if other.resolve() in chain:
        raise ConfigError(str(path), line, f'"{EXTEND}": {other.name} extends itself')
    if not os.path.isfile(other):
        raise ConfigError(str(path), line, f'"{EXTEND}": there is no file {other}')
    return _layers(other, chain)


def _preset(layer: _Layer) -> Settings:
    """The defaults that the preset named in a layer sets."""
    try:
        path = preset_path(KEYS[PRESET](layer.values[PRESET]))
    except InvalidValue as error:
        line = line_of(layer.text, layer.table, key=PRESET)
        raise ConfigError(str(layer.path), line, f'"{PRESET}": {error}') from None
    values, text = _read(path)
    return parse_settings(values, path, text, "")


def _with_preset(settings: Settings, name: str) -> Settings:
    """`settings` with the defaults of the preset `name` instead of those that they build on."""
    path = preset_path(name)
    values, text = _read(path)
    chosen = parse_settings(values, path, text, "")
    own = {key: origin for key, origin in settings.origins if preset_of(origin) is None}
    defaults = [key for key, origin in settings.origins if preset_of(origin) is not None]
    changes = {key: getattr(Settings(), key.replace("-", "_")) for key in defaults}
    changes |= {key: getattr(chosen, key.replace("-", "_")) for key, _ in chosen.origins if key not in own}
    origins = {**dict(chosen.origins), **own}
    return replace(
        settings,
        preset=name,
        origins=tuple(origins.items()),
        **{key.replace("-", "_"): value for key, value in changes.items()},
    )


def settings_in(folder: Path) -> Settings | None:
    """The settings of the file in this very folder, if it has one; none where we may not look."""
    for name in FILES:
        path = folder / name
        if os.path.isfile(path):  # unlike `is_file` it does not raise
            settings = load_file(path)
            if settings is not None:
                return settings
    return None


def load_settings(start: Path, *, config: Path | None = None, isolated: bool = False) -> Settings:
    """The settings for `start`: of `config` if given, else of the nearest file with some, in it or above it."""
    if isolated:
        return Settings()
    if config is not None:
        if os.path.isdir(config):
            raise ConfigError(str(config), 0, "is a folder, not a settings file")
        return load_file(config) or Settings(source=config)
    folder = start.resolve()
    if not os.path.isdir(folder):
        folder = folder.parent
    for candidate in (folder, *folder.parents):
        settings = settings_in(candidate)
        if settings is not None:
            return replace(settings, by_file=True)
    return Settings(by_file=True)
