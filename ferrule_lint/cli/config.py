"""`ferrule-lint config`: the settings that count, and where each comes from."""

from __future__ import annotations

from pathlib import Path

import click

from ferrule_lint.cli.failure import Failure


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--config", "file", type=click.Path(path_type=Path), metavar="FILE", help="Use this settings file.")
@click.option("--isolated", is_flag=True, help="Read no settings file.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the settings instead, for editors.")
def config(path: Path, file: Path | None, isolated: bool, schema: bool) -> None:
    """Print the settings that count for PATH, as TOML, and where each of them comes from."""
    if schema:
        from importlib import resources

        text = resources.files("ferrule_lint.project").joinpath("settings.schema.json").read_text("utf-8")
        click.echo(text, nl=False)
        return
    from ferrule_lint.project.config import ConfigError, load_settings
    from ferrule_lint.project.describe import as_toml_lines

    if file is not None and isolated:
        raise click.UsageError("--config and --isolated contradict each other")
    try:
        settings = load_settings(path, config=file, isolated=isolated)
    except ConfigError as error:
        raise Failure(error.message, error.path, error.line) from None
    origins = dict(settings.origins)
    previous: str | None = None
    for origin, line in sorted(
        ((origins.get(key, ""), line) for key, line in as_toml_lines(settings)), key=lambda pair: not pair[0]
    ):
        if origin != previous:
            click.echo(("\n" if previous is not None else "") + f"# {_shown(origin)}")
            previous = origin
        click.echo(line)


def _shown(origin: str) -> str:
    from ferrule_lint.project.presets import preset_of
    from ferrule_lint.reporters.paths import shown_path

    preset = preset_of(origin)
    if preset is not None:
        return f"from the preset {preset}"
    return f"from {shown_path(origin, Path.cwd(), Path.cwd())}" if origin else "defaults"
