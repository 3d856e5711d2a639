"""`ferrule-lint clean`: delete the cache."""

from __future__ import annotations

from pathlib import Path

import click

from ferrule_lint.cli.failure import Failure


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, type=click.Path(path_type=str))
@click.option("--cache-dir", type=click.Path(path_type=Path), metavar="FOLDER", help="Where the cache is kept.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="Use the settings in this TOML file.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
def clean(paths: tuple[str, ...], cache_dir: Path | None, config: Path | None, quiet: bool) -> None:
    """Delete the caches of the projects around PATHS, by default of the current folder.

    Only what the linter has written is deleted; other files in that folder stay.
    """
    from ferrule_lint.project import cache
    from ferrule_lint.project.config import ConfigError, load_settings
    from ferrule_lint.project.discovery import by_project, find_root

    folders = [] if cache_dir is None else [cache_dir]
    for group in by_project(paths) if cache_dir is None else ():
        try:
            settings = load_settings(Path(group[0]) if group else Path.cwd(), config=config)
        except ConfigError as error:
            raise Failure(error.message, error.path, error.line) from None
        folders.append(settings.cache_dir or find_root(group) / cache.FOLDER)
    for folder in folders:
        try:
            count = cache.clean(folder)
        except OSError as error:
            raise Failure(f"cannot be deleted: {error.strerror or error}", str(error.filename or folder)) from None
        if not quiet:
            click.echo(f"Deleted {count} file{'' if count == 1 else 's'} in {folder}.")
