"""Settings as TOML, for `--show-settings`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from ferrule_lint.findings import Confidence
from ferrule_lint.project.config import Settings
from ferrule_lint.project.values import KEYS, TABLES, RuleSettings


def describe(settings: Settings) -> str:
    """All settings as TOML; those that have no value as comments."""
    source = settings.source or "none: defaults"
    lines = [f"# settings file: {source}"]
    if settings.root is not None:
        lines.append(f"# project root: {settings.root}")
    return "\n".join([*lines, *(line for _, line in as_toml_lines(settings))])


def as_toml_lines(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each key and the line that says its value."""
    for key in KEYS:
        value = getattr(settings, key.replace("-", "_"))
        if value is None:
            yield key, f"# {key}: not set"
        else:
            yield key, f"{key} = {as_toml(value) if value or key not in TABLES else '{}'}"


def as_toml(value: object) -> str:
    """The value of a setting in one line of TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Confidence):
        return f'"{value.label}"'
    if isinstance(value, RuleSettings):
        given = [(one.name, getattr(value, one.name)) for one in fields(value)]
        return _table(
            [(name.replace("_", "-"), item) for name, item in given if item is not None and item is not False]
        )
    if isinstance(value, tuple):
        if value and all(isinstance(item, tuple) for item in value):
            return _table([(str(key), item) for key, item in value])
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    return _string(str(value))


def _table(items: list[tuple[str, object]]) -> str:
    inside = ", ".join(f"{key if key.replace('-', '').isalnum() else _string(key)} = {as_toml(v)}" for key, v in items)
    return f"{{ {inside} }}" if inside else "{}"


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
