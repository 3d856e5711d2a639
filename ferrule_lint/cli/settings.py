"""The settings of a run: of the settings files, with what the command line says instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ferrule_lint.cli.failure import Failure
from ferrule_lint.cli.rules import load_rules

if TYPE_CHECKING:
    from ferrule_lint.project.config import Overrides, Settings


def settings_of(paths: tuple[str, ...], options: dict[str, Any]) -> Settings:
    """The settings of the project, with what the command line says instead."""
    from ferrule_lint.project.config import ConfigError, load_settings
    from ferrule_lint.project.discovery import find_root
    from ferrule_lint.project.selection import check_codes

    if options["config"] is not None and options["isolated"]:
        raise click.UsageError("--config and --isolated contradict each other")
    try:
        root = find_root(paths)
        start = Path(paths[0]) if paths else Path.cwd()
        settings = load_settings(start, config=options["config"], isolated=options["isolated"])
        settings = replace(_overrides(options).applied_to(settings), root=root)
        check_codes(settings, {code: rule.name for code, rule in load_rules().items()})
    except ConfigError as error:
        raise Failure(error.message, error.path, error.line) from None
    return settings


def _overrides(options: dict[str, Any]) -> Overrides:
    """What the command line says instead of settings files."""
    from ferrule_lint.findings import Confidence
    from ferrule_lint.project.config import Overrides

    return Overrides(
        select=options["select"],
        ignore=options["ignore"],
        extend_select=options["extend_select"],
        extend_exclude=options["extend_exclude"],
        preset=options["preset"],
        min_confidence=Confidence.parse(options["min_confidence"]) if options["min_confidence"] else None,
        output_format=options["output_format"],
        cache_dir=options["cache_dir"].absolute() if options["cache_dir"] else None,
        force_exclude=options["force_exclude"] or None,
        ignore_suppressions=options["ignore_suppressions"] or None,
        fix=options["fix"],
        unsafe_fixes=options["unsafe_fixes"],
    )
