"""Findings that were there before: a file of them, so that only new ones are reported.

An entry is known by its fingerprint (rule, file, function and the text of the call), so it survives moved lines. Two
findings with one fingerprint are two entries' worth, hence the count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ferrule_lint
from ferrule_lint.findings import Confidence, Finding, Report, Suppression

FILE = ".ferrule-baseline.json"
#: of the format of the file
VERSION = "1"


class BaselineError(Exception):
    """A file that is not a baseline, or cannot be read."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Findings that are alike. `text` is the call's source, for whoever reads the file."""

    fingerprint: str
    code: str
    path: str
    function: str
    text: str
    confidence: Confidence
    count: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """A report without what the baseline has, and the entries that nothing came of (counts: how often)."""

    report: Report
    stale: tuple[Entry, ...]


def load(path: Path) -> tuple[Entry, ...]:
    """The entries of a baseline file; raises BaselineError."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise BaselineError(f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"not a baseline: {error}") from None
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise BaselineError(f"not a baseline of version {VERSION}; write it anew with --write-baseline")
    try:
        return tuple(_entry(item) for item in document["findings"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BaselineError("not a baseline: an entry is damaged; write it anew with --write-baseline") from None


def _entry(item: dict[str, Any]) -> Entry:
    words = [item[name] for name in ("fingerprint", "code", "path", "function", "text")]
    count = item["count"]
    if not all(isinstance(word, str) for word in words) or type(count) is not int or count < 1:
        raise ValueError
    fingerprint, code, path, function, text = words
    return Entry(fingerprint, code, path, function, text, Confidence.parse(item["confidence"]), count)


def dump(entries: Iterable[Entry]) -> bytes:
    """The file with these entries; in one order, so that two versions of it can be compared and merged."""
    ordered = sorted(entries, key=lambda one: (one.path, one.function, one.code, one.text, one.fingerprint))
    findings = [
        {
            "fingerprint": one.fingerprint,
            "code": one.code,
            "path": one.path,
            "function": one.function,
            "text": one.text,
            "confidence": one.confidence.label,
            "count": one.count,
        }
        for one in ordered
    ]
    document = {"version": VERSION, "tool_version": ferrule_lint.__version__, "findings": findings}
    return (json.dumps(document, indent=2) + "\n").encode("ascii")


def entries_of(findings: Iterable[Finding]) -> tuple[Entry, ...]:
    """What a baseline says of these findings."""
    first: dict[str, Finding] = {}
    counts: Counter[str] = Counter()
    for finding in findings:
        first.setdefault(finding.fingerprint, finding)
        counts[finding.fingerprint] += 1
    return tuple(
        Entry(fingerprint, one.code, one.path, one.function, one.anchor_text, one.confidence, counts[fingerprint])
        for fingerprint, one in first.items()
    )


def apply(report: Report, entries: Iterable[Entry], judged: Callable[[Entry], bool], path: str) -> Outcome:
    """Set aside the findings that the baseline `path` has. Of those it has in vain, the `judged` ones are stale."""
    entries = tuple(entries)
    left = Counter({one.fingerprint: one.count for one in entries})
    new: list[Finding] = []
    old: list[Finding] = []
    for finding in report.findings:
        if left[finding.fingerprint] > 0:
            left[finding.fingerprint] -= 1
            old.append(replace(finding, suppression=Suppression("baseline", path)))
        else:
            new.append(finding)
    suppressed = sorted((*report.suppressed, *old), key=lambda finding: finding.sort_key)
    stale = tuple(
        replace(one, count=left[one.fingerprint]) for one in entries if left[one.fingerprint] > 0 and judged(one)
    )
    return Outcome(replace(report, findings=tuple(new), suppressed=tuple(suppressed)), stale)


def without(entries: Iterable[Entry], stale: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries less the stale ones."""
    gone = {one.fingerprint: one.count for one in stale}
    left = (replace(one, count=one.count - gone.get(one.fingerprint, 0)) for one in entries)
    return tuple(one for one in left if one.count > 0)
