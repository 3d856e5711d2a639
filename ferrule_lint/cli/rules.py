"""`ferrule-lint rules` and `ferrule-lint explain CODE`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from ferrule_lint.cli.completion import complete_rule
from ferrule_lint.cli.failure import Failure

if TYPE_CHECKING:
    from ferrule_lint.rulebook import Rule

_CONTEXT = {"help_option_names": ["-h", "--help"]}


def load_rules() -> dict[str, Rule]:
    """All rules by code; a broken installation is a `Failure`."""
    from ferrule_lint import rulebook
    from ferrule_lint.resources import ResourceError

    try:
        return rulebook.load_rules()
    except rulebook.RulePageError as error:
        raise Failure(error.message, error.path, error.line) from None
    except ResourceError as error:
        raise Failure(str(error)) from None


@click.command(context_settings=_CONTEXT)
@click.argument("code", shell_complete=complete_rule)
def explain(code: str) -> None:
    """Print the page of a rule."""
    from ferrule_lint.reporters.text import wants_colour

    rule = _find(load_rules(), code)
    fix = {"none": "no automatic fix", "safe": "safe fix", "unsafe": "unsafe fix"}.get(rule.fix, rule.fix)
    page = f"{rule.text.strip()}\n\n---\n\n{rule.code}: {rule.name}, {rule.severity}, {fix}, since {rule.since}"
    if not wants_colour(sys.stdout):
        click.echo(page)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(force_terminal=True).print(Markdown(page))


def _find(known: dict[str, Rule], word: str) -> Rule:
    """The rule with this code or name."""
    from difflib import get_close_matches

    from ferrule_lint.project.values import code_meant

    names = {code: rule.name for code, rule in known.items()}
    rule = known.get(word.upper())
    if rule is not None:
        return rule
    meant = code_meant(word, names)
    if meant and names[meant] == word.lower():
        return known[meant]
    family = [code for code in known if code.startswith(word.upper())]
    near = [meant] if meant else get_close_matches(word.lower(), names.values(), n=1)
    if family:
        hint = f"; these begin so: {', '.join(family)}"
    else:
        hint = f", did you mean {near[0]}?" if near else "; `ferrule-lint rules` lists them"
    raise Failure(f"there is no rule {word!r}{hint}")


@click.command(context_settings=_CONTEXT)
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rules(output_format: str) -> None:
    """List all rules."""

    listed = sorted(load_rules().values(), key=lambda rule: rule.code)
    if output_format == "json":
        fields = ("code", "name", "family", "severity", "fix", "since", "title")
        click.echo(json.dumps([{name: getattr(rule, name) for name in fields} for rule in listed], indent=2))
        return
    width = max((len(rule.name) for rule in listed), default=0)
    for rule in listed:
        fix = "no fix" if rule.fix == "none" else f"{rule.fix} fix"
        click.echo(f"{rule.code}  {rule.name:<{width}}  {rule.severity:<7}  {fix:<10}  {rule.title}")
