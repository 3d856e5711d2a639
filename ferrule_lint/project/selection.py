"""Which findings are shown: by the beginnings of their codes, and by confidence."""

from __future__ import annotations

from collections.abc import Collection

from ferrule_lint.findings import Finding
from ferrule_lint.models.locate import line_of
from ferrule_lint.project.config import TABLE, ConfigError, Settings, suggestion

#: a file that cannot be parsed was not checked: that is said whatever is selected, unless it is ignored by name
SYNTAX_ERROR = "FER001"
#: it speaks of comments, where the other rules speak of code
UNUSED_SUPPRESSION = "FER002"


def _specificity(code: str, prefixes: Collection[str]) -> int:
    """The length of the longest of `prefixes` that `code` begins with; -1 if there is none."""
    return max((len(p) if p != "ALL" else 0 for p in prefixes if p == "ALL" or code.startswith(p)), default=-1)


def selects(settings: Settings, code: str) -> bool:
    """Whether `code` is on. The most specific prefix decides; between equals, `ignore` does."""
    selected = _specificity(code, (*settings.select, *settings.extend_select))
    if code == SYNTAX_ERROR:
        selected = max(selected, len("FER"))
    return selected > _specificity(code, settings.ignore)


def shown(settings: Settings, finding: Finding) -> bool:
    """Whether the settings ask for `finding`."""
    return finding.confidence >= settings.min_confidence and selects(settings, finding.code)


def check_codes(settings: Settings, known: Collection[str]) -> None:
    """ConfigError for a selected or ignored code that no rule has."""
    codes = sorted(known)
    for key in ("select", "ignore", "extend-select"):
        for prefix in getattr(settings, key.replace("-", "_")):
            if prefix == "ALL" or any(code.startswith(prefix) for code in codes):
                continue
            path, line = _place(settings, key, prefix)
            raise ConfigError(path, line, f'unknown rule code "{prefix}" in {key}{suggestion(prefix, codes)}')


def _place(settings: Settings, key: str, prefix: str) -> tuple[str, int]:
    """Where the settings file says `prefix`; no place if it was given on the command line."""
    source = settings.source
    if source is None:
        return "", 0
    try:
        text = source.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return "", 0
    if f'"{prefix}"' not in text and f"'{prefix}'" not in text:
        return "", 0
    table = TABLE if source.name == "pyproject.toml" else ""
    return str(source), line_of(text, table, key=key, element=prefix)
