"""`-` and `--stdin-filename`: source text from the standard input, checked in its place in the project."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: what the text is called if nobody says, as in ruff
NAMELESS = "-"


def stdin_option(function: _Function) -> _Function:
    """The option about the standard input."""
    return click.option(
        "--stdin-filename",
        type=click.Path(path_type=str),
        metavar="FILE",
        help="Check the text on the standard input as the content of FILE, which need not exist.",
    )(function)


def from_stdin(paths: tuple[str, ...], filename: str | None) -> tuple[tuple[str, ...], dict[Path, bytes]]:
    """The paths to check, and what stands in for files; reads the standard input if it was asked for."""
    if filename is None and NAMELESS not in paths:
        return paths, {}
    if set(paths) - {NAMELESS}:
        raise click.UsageError("the standard input ('-', --stdin-filename) is checked alone, without other paths")
    path = filename or NAMELESS
    return (path,), {Path(os.path.normpath(Path(path).absolute())): sys.stdin.buffer.read()}
