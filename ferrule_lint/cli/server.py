"""`ferrule-lint server`: the language server, on the standard streams."""

from __future__ import annotations

import gc

import click

from ferrule_lint.cli.failure import Failure


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--stdio", is_flag=True, help="Use the standard streams, as it always does; editors like to say so.")
def server(stdio: bool) -> None:
    """Run the language server for editors (extra `lsp`)."""
    try:
        from ferrule_lint.server.app import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise Failure("the language server needs pygls: install `ferrule-lint[lsp]`") from None
    gc.enable()  # this one lives for long
    make_server().start_io()
