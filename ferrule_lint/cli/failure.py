"""Mistakes of the user's that end the run, said in one line."""

from __future__ import annotations

from typing import IO, Any

import click


class Failure(click.ClickException):
    """It could not run: `path:line: error: message` on the standard error, exit code 2."""

    exit_code = 2

    def __init__(self, message: str, path: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.path = path
        self.line = line

    def show(self, file: IO[Any] | None = None) -> None:
        place = f"{self.path}:{self.line}: " if self.path and self.line else f"{self.path}: " if self.path else ""
        click.echo(f"{place}error: {self.message}", file=file, err=True)
