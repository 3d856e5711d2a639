"""Which findings are shown: by the beginnings of their codes, and by confidence."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from ferrule_lint.findings import Finding, Safety
from ferrule_lint.models.locate import line_of
from ferrule_lint.project.config import TABLE, ConfigError, Settings, line_in
from ferrule_lint.project.ignore import PatternSet
from ferrule_lint.project.nearest import Nearest, Scope, scope_of
from ferrule_lint.project.values import code_meant

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


class Selection:
    """Which findings the settings ask for, and how severe they are, in each file by the settings that count there."""

    def __init__(self, run: Settings) -> None:
        self.nearest = Nearest(run)
        self._ignores: dict[int, _PerFile] = {}

    def looks_for(self, code: str, path: str) -> bool:
        """Whether the rule `code` is on in the file `path`."""
        settings = self.nearest.of(path)
        if not selects(settings, code):
            return False
        ignores = self._ignores.get(id(settings))
        if ignores is None:
            ignores = self._ignores[id(settings)] = _PerFile(settings)
        return not ignores.has(code, path)

    def asks_for(self, finding: Finding) -> bool:
        """Whether `finding` is to be shown."""
        settings = self.nearest.of(finding.path)
        own = settings.rule(finding.code).min_confidence
        least = settings.min_confidence if own is None else own
        return finding.confidence >= least and self.looks_for(finding.code, finding.path)

    def graded(self, finding: Finding) -> Finding:
        """`finding` with the severity that the settings give its rule."""
        severity = self.nearest.of(finding.path).rule(finding.code).severity
        return finding if severity is None else replace(finding, severity=severity)

    def requires_reason(self, path: str) -> bool:
        """Whether suppression comments in a file have to give a reason."""
        return self.nearest.of(path).rule(UNUSED_SUPPRESSION).require_reason


class _PerFile:
    """The `per-file-ignores` of some settings."""

    def __init__(self, settings: Settings) -> None:
        self._scope: Scope = scope_of(settings, "per-file-ignores")
        self._ignores = tuple(
            (PatternSet.parse([pattern.removeprefix("!")]), pattern.startswith("!"), codes)
            for pattern, codes in settings.per_file_ignores
        )

    def has(self, code: str, path: str) -> bool:
        """Whether `code` is ignored in the file `path`."""
        seen = self._scope(path)
        return any(
            _specificity(code, codes) >= 0 and _inside(seen, patterns) is not inverted
            for patterns, inverted, codes in self._ignores
        )


def _inside(path: str, patterns: PatternSet) -> bool:
    """Whether a pattern fits `path` or a folder that it is in."""
    parts = path.split("/")
    folders = ["/".join(parts[:count]) + "/" for count in range(1, len(parts))]
    return any(patterns.decide(name) for name in (*folders, path))


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


def check_codes(settings: Settings, names: Mapping[str, str]) -> None:
    """ConfigError for a code in the settings that no rule has; `names` are those of all rules, by their codes."""
    for key in ("select", "ignore", "extend-select", "extend-safe-fixes", "extend-unsafe-fixes"):
        for prefix in getattr(settings, key.replace("-", "_")):
            if not _is_known(prefix, names):
                raise _unknown(settings, key, prefix, names)
    for pattern, prefixes in settings.per_file_ignores:
        for prefix in prefixes:
            if not _is_known(prefix, names):
                raise _unknown(settings, "per-file-ignores", prefix, names, inner=pattern)
    for code, _ in settings.rules:
        if code not in names:
            raise _unknown(settings, "rules", code, names, inner=code)


def _is_known(prefix: str, codes: Collection[str]) -> bool:
    return prefix == "ALL" or any(code.startswith(prefix) for code in codes)


def _unknown(settings: Settings, key: str, prefix: str, names: Mapping[str, str], inner: str = "") -> ConfigError:
    path, line = _place(settings, key, prefix, inner)
    meant = code_meant(prefix, names)
    hint = f'; did you mean "{meant}"?' if meant else ""
    return ConfigError(path, line, f'unknown rule code "{prefix}" in {key}{hint}')


def _place(settings: Settings, key: str, prefix: str, inner: str) -> tuple[str, int]:
    """Where the settings file says `prefix`; no place if it was given on the command line."""
    source = Path(dict(settings.origins).get(key, ""))
    try:
        text = source.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return "", 0
    if f'"{prefix}"' not in text and f"'{prefix}'" not in text and not inner:
        return "", 0
    table = TABLE if source.name == "pyproject.toml" else ""
    return str(source), line_in(text, table, key, inner) if inner else line_of(text, table, key=key, element=prefix)
