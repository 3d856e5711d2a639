"""Completion in shells: `ferrule-lint completion SHELL`, and what is completed."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

#: what a shell sets to ask for completions
VARIABLE = "_FERRULE_LINT_COMPLETE"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash: eval "$(ferrule-lint completion bash)"      in ~/.bashrc
    zsh:  eval "$(ferrule-lint completion zsh)"       in ~/.zshrc, after compinit
    fish: ferrule-lint completion fish | source       in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    source = kind(ctx.find_root().command, {}, "ferrule-lint", VARIABLE).source()
    # click's script for fish cuts what has a comma in it, as lists of codes have
    click.echo(source.replace('string split ","', 'string split --max 1 ","'))


def complete_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Rules, and the beginnings that they share; behind the commas of a list, too."""
    from ferrule_lint.cli.rules import load_rules

    head, comma, word = incomplete.rpartition(",")
    rules = load_rules()
    words = {code: rule.title for code, rule in rules.items()}
    words |= {code[:4]: f"all rules of the family {rule.family}" for code, rule in rules.items()}
    found = sorted(one for one in words if one.startswith(word.upper()))
    return [CompletionItem(f"{head}{comma}{one}", help=words[one]) for one in found]


def complete_rule(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """One rule."""
    return [item for item in complete_codes(ctx, param, incomplete) if len(item.value) > 4]


def complete_path(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files, and the commands that could stand where the first path of the default command does."""
    # first: to bash it means to forget what came before
    items = [CompletionItem(incomplete, type="file")]
    group = ctx.parent.command if ctx.parent is not None else None
    if not isinstance(group, click.Group) or ctx.params.get("paths"):
        return items
    names = sorted(name for name in group.commands if name.startswith(incomplete))
    return [*items, *(CompletionItem(name, help=group.commands[name].get_short_help_str()) for name in names)]
