"""Where the data that ships with the tool lies: the rule pages and library models."""

from __future__ import annotations

from pathlib import Path


class ResourceError(Exception):
    """The installation lacks its data files."""


def rules_dir(package: Path | None = None) -> Path:
    """The folder with the rule pages and, under `models/`, the library models.

    A wheel carries it inside the package as `_rules`; in a checkout, editable installs included, it is `rules/`
    beside the package. `package` is the package's folder, by default this one's.
    """
    package = package or Path(__file__).resolve().parent
    candidates = (package / "_rules", package.parent / "rules")
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    places = " or ".join(str(candidate) for candidate in candidates)
    raise ResourceError(f"the rule pages are missing: looked for {places}; reinstall ferrule-lint")
