"""Which findings are shown: by the beginnings of their codes, and by confidence."""

from __future__ import annotations

from collections.abc import Collection

from ferrule_lint.findings import Finding, Safety
from ferrule_lint.models.locate import line_of
from ferrule_lint.project.config import TABLE, ConfigError, Settings, suggestion

#: a file that cannot be parsed was not checked: that is said whatever is selected, unless it is ignored by name
SYNTAX_ERROR = "FER001"


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


def safety(settings: Settings, finding: Finding) -> Safety:
    """How safe the fix of a finding counts, by what the settings say of its rule; SHOWN if it has none.

    A fix that is only shown stays that: no setting makes it one to apply.
    """
    fix = finding.fix
    if fix is None or fix.safety == Safety.SHOWN:
        return Safety.SHOWN
    safe = _specificity(finding.code, settings.extend_safe_fixes)
    unsafe = _specificity(finding.code, settings.extend_unsafe_fixes)
    if safe < 0 and unsafe < 0:
        return fix.safety
    return Safety.SAFE if safe > unsafe else Safety.UNSAFE


def may_apply(settings: Settings, finding: Finding) -> bool:
    """Whether `--fix` applies the fix of a finding."""
    return safety(settings, finding) >= (Safety.UNSAFE if settings.unsafe_fixes else Safety.SAFE)


def check_codes(settings: Settings, known: Collection[str]) -> None:
    """ConfigError for a selected or ignored code that no rule has."""
    codes = sorted(known)
    for key in ("select", "ignore", "extend-select", "extend-safe-fixes", "extend-unsafe-fixes"):
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
