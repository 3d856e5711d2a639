#!/usr/bin/env python3
"""Write docs/commands.md: every command and option, as `--help` says it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ferrule_lint.cli.main import cli  # noqa: E402

PAGE = ROOT / "docs" / "commands.md"
_WIDTH = 110
_HELP = ["-h", "--help"]
_HEAD = """\
# Commands and options

What `--help` says of each command; this page is written by `scripts/commands.py`. Many options can be given in settings files as
well: [configuration.md](configuration.md). Exit codes are in [output.md](output.md#exit-codes).
"""  # noqa: E501


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(_sections())


def _sections() -> Iterator[str]:
    top = click.Context(
        cli, info_name="ferrule-lint", terminal_width=_WIDTH, max_content_width=_WIDTH, help_option_names=_HELP
    )
    yield _section("ferrule-lint", cli.get_help(top))
    for name, command in sorted(cli.commands.items()):
        if name != "check":
            context = click.Context(
                command,
                info_name=name,
                parent=top,
                terminal_width=_WIDTH,
                max_content_width=_WIDTH,
                help_option_names=_HELP,
            )
            yield _section(f"ferrule-lint {name}", command.get_help(context))


def _section(title: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return f"\n## `{title}`\n\n```text\n{lines}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
