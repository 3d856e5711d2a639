"""SARIF 2.1.0, for GitHub code scanning and other viewers: witnesses are code flows.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any

import ferrule_lint
from ferrule_lint.findings import Confidence, Finding, Fix, LintError, Report, Step
from ferrule_lint.reporters.paths import shown_path
from ferrule_lint.rulebook import Rule, load_rules

_ROOT = "SRCROOT"
#: how likely a finding is right, from 0 to 100
_RANK = {Confidence.HIGH: 90.0, Confidence.MEDIUM: 60.0, Confidence.LOW: 20.0}
_PRECISION = {Confidence.HIGH: "very-high", Confidence.MEDIUM: "high", Confidence.LOW: "low"}
#: the most surely a rule finds what it looks for
_AT_BEST = {"FER101": Confidence.MEDIUM}


def render(report: Report, root: Path, cwd: Path) -> str:
    """The log, with suppressed findings marked as such."""
    return json.dumps(document(report, root, cwd), indent=2)


def document(report: Report, root: Path, cwd: Path) -> dict[str, Any]:
    """The log as plain values; paths are relative to `cwd`."""
    rules = load_rules()
    index = {code: number for number, code in enumerate(rules)}
    seen: Counter[str] = Counter()
    results = []
    findings = sorted((*report.findings, *report.suppressed), key=lambda finding: finding.sort_key)
    for finding in findings:
        seen[finding.fingerprint] += 1
        results.append(_result(finding, index, seen[finding.fingerprint], root, cwd))
    driver = {
        "name": "ferrule-lint",
        "version": ferrule_lint.__version__,
        "semanticVersion": ferrule_lint.__version__,
        "rules": [_rule(rule) for rule in rules.values()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": cwd.as_uri().rstrip("/") + "/"}},
        "invocations": [
            {
                "executionSuccessful": not report.errors,
                "toolExecutionNotifications": [_notification(error, root, cwd) for error in report.errors],
            }
        ],
        "results": results,
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    about = rule.text.partition("## What it does\n")[2].partition("\n## ")[0].strip()
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": " ".join(about.partition("\n\n")[0].split())},
        "help": {"text": rule.text.strip(), "markdown": rule.text.strip()},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {
            "tags": ["correctness", "distributed", rule.family],
            "precision": _PRECISION[_AT_BEST.get(rule.code, Confidence.HIGH)],
            "problem.severity": rule.severity,
        },
    }


def _result(finding: Finding, index: dict[str, int], occurrence: int, root: Path, cwd: Path) -> dict[str, Any]:
    span = finding.span
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": max(span.end_column, span.column) if span.line == span.end_line else span.end_column,
    }
    location: dict[str, Any] = {"physicalLocation": _physical(finding.path, region, root, cwd)}
    if finding.function:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.function, "kind": "function"}]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": finding.severity,
        "kind": "fail",
        "rank": _RANK[finding.confidence],
        "message": {"text": finding.message},
        "locations": [location],
        "partialFingerprints": {"ferruleLint/v1": f"{finding.fingerprint}:{occurrence}"},
        "properties": {"confidence": finding.confidence.label, "axes": list(finding.axes), "kind": finding.kind},
    }
    if finding.witness:
        flow = {"locations": [_flow_step(step, root, cwd) for step in finding.witness]}
        result["codeFlows"] = [{"message": {"text": "why ranks part here"}, "threadFlows": [flow]}]
    if len(finding.events) > 1:
        result["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": event.op},
                "physicalLocation": _physical(
                    event.path, {"startLine": event.line, "startColumn": event.column}, root, cwd
                ),
            }
            for number, event in enumerate(finding.events)
        ]
    if finding.fix is not None:
        result["fixes"] = [_fix(finding.path, finding.fix, root, cwd)]
    if finding.suppression is not None:
        result["suppressions"] = [_suppression(finding, root, cwd)]
    return result


def _fix(path: str, fix: Fix, root: Path, cwd: Path) -> dict[str, Any]:
    replacements = [
        {
            "deletedRegion": {
                "startLine": edit.span.line,
                "startColumn": edit.span.column,
                "endLine": edit.span.end_line,
                "endColumn": edit.span.end_column,
            },
            "insertedContent": {"text": edit.text},
        }
        for edit in fix.edits
    ]
    change = {"artifactLocation": _artifact(path, root, cwd), "replacements": replacements}
    return {"description": {"text": f"{fix.message} ({fix.safety.label})"}, "artifactChanges": [change]}


def _flow_step(step: Step, root: Path, cwd: Path) -> dict[str, Any]:
    region = {"startLine": step.line, "startColumn": step.column}
    return {
        "location": {
            "physicalLocation": _physical(step.path, region, root, cwd),
            "message": {"text": f"{step.role}: {step.note}"},
        },
        "importance": "important" if step.role in ("flow", "call") else "essential",
    }


def _suppression(finding: Finding, root: Path, cwd: Path) -> dict[str, Any]:
    suppression = finding.suppression
    assert suppression is not None
    if suppression.form == "baseline":
        return {"kind": "external", "status": "accepted", "justification": f"in the baseline {suppression.path}"}
    entry: dict[str, Any] = {"kind": "inSource", "status": "accepted"}
    if suppression.reason:
        entry["justification"] = suppression.reason
    region = {"startLine": suppression.line}
    entry["location"] = {"physicalLocation": _physical(suppression.path, region, root, cwd)}
    return entry


def _physical(path: str, region: dict[str, int], root: Path, cwd: Path) -> dict[str, Any]:
    return {"artifactLocation": _artifact(path, root, cwd), "region": region}


def _artifact(path: str, root: Path, cwd: Path) -> dict[str, str]:
    uri = PurePosixPath("/", shown_path(path, root, cwd)).as_uri().removeprefix("file:///")
    return {"uri": uri, "uriBaseId": _ROOT}


def _notification(error: LintError, root: Path, cwd: Path) -> dict[str, Any]:
    notification: dict[str, Any] = {"level": "error", "message": {"text": error.message}}
    if error.path:
        place: dict[str, Any] = {"artifactLocation": _artifact(error.path, root, cwd)}
        if error.line:
            place["region"] = {"startLine": error.line}
        notification["locations"] = [{"physicalLocation": place}]
    return notification
