"""Named sets of defaults for kinds of projects: settings files in `rules/presets`, data for people to read and edit."""

from __future__ import annotations

from pathlib import Path

from ferrule_lint.resources import rules_dir


def preset_names() -> tuple[str, ...]:
    """The presets that there are."""
    return tuple(sorted(path.stem for path in _folder().glob("*.toml")))


def preset_path(name: str) -> Path:
    """The file of a preset."""
    return _folder() / f"{name}.toml"


def preset_of(origin: str) -> str | None:
    """The name of the preset whose file `origin` is; None for any other file."""
    path = Path(origin)
    return path.stem if path.parent == _folder() else None


def _folder() -> Path:
    return rules_dir() / "presets"
