"""The site: the Markdown files of the repository as they are, with what is made from them (`sh scripts/docs.sh`).

The source folder is the whole repository, so that links between files work on a code host and on the site alike.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import ferrule_lint  # noqa: E402
from ferrule_lint.rulebook import Rule, load_rules  # noqa: E402

project = "ferrule-lint"
author = "the ferrule-lint authors"
project_copyright = "the ferrule-lint authors"
version = release = ferrule_lint.__version__
extensions = ["myst_parser"]
root_doc = "docs/README"
include_patterns = [
    "*.md",
    "docs/*.md",
    "rules/*.md",
    "examples/README.md",
    "examples/*/README.md",
    "benchmarks/**README.md",
]
exclude_patterns = [".*", "**/.*", "**/node_modules", "build", "dist", "tests", "ferrule_lint"]
# headings can be linked to as on code hosts
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
html_theme = "furo"
html_title = "ferrule-lint"
html_static_path: list[str] = []
html_copy_source = False
html_extra_path = ["_root"]
# blocks of several languages at once (diffs with places, shells with output) are shown as they are
suppress_warnings = ["misc.highlighting_failure"]
highlight_language = "none"

_TABLE = "<!-- the table of all rules, made by docs/conf.py -->"


def setup(app: Any) -> None:
    """Sphinx's own entry: what is changed in a page before it is read."""
    app.connect("source-read", prepare)


def prepare(app: Any, name: str, source: list[str]) -> None:
    """Fill in what is made from other files."""
    text = source[0]
    if name == root_doc:
        text += _contents(text)
    elif name == "docs/rules":
        text = text.replace(_TABLE, _rules())
    elif name in ("examples/README", "benchmarks/README"):
        below = sorted((ROOT / name).parent.glob("*/README.md"))
        text += _tree([f"{path.parent.name}/README" for path in below])
    rule = load_rules().get(Path(name).name)
    if rule is not None and name.startswith("rules/"):
        text = _page(text, rule)
    source[0] = _links(text, (ROOT / name).parent)


def _contents(text: str) -> str:
    """The sections of the first page as the site's navigation."""
    trees = []
    for section in text.split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        pages = [page.removesuffix(".md") for page in re.findall(r"\]\(([^)#]+\.md)\)", body)]
        trees.append(_tree(pages, title))
    return _tree(["../README"]) + "".join(trees)


def _tree(pages: list[str], title: str = "") -> str:
    caption = [f":caption: {title}"] if title else []
    return "\n".join(["", "", "```{toctree}", ":hidden:", ":maxdepth: 1", *caption, "", *pages, "```", ""])


def _rules() -> str:
    rules = load_rules().values()
    rows = [
        f"| [{rule.code}](../rules/{rule.code}.md) | {rule.title} | {rule.family} | {rule.severity} | {rule.fix} |"
        for rule in rules
    ]
    head = ["| code | | family | severity | fix |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *rows]) + _tree([f"../rules/{rule.code}" for rule in rules])


def _page(text: str, rule: Rule) -> str:
    """The page of a rule, with what stands above its title said below it."""
    body = text.partition("\n---\n")[2].lstrip()
    title, _, rest = body.partition("\n")
    facts = f"`{rule.name}` · {rule.family} · {rule.severity} · fix: {rule.fix} · since {rule.since}"
    return f"# {rule.code}: {title.removeprefix('# ')}\n\n{facts}\n{rest}"


def _links(text: str, folder: Path) -> str:
    """Folders have no page: what leads to one leads to its README, or to nowhere."""

    def target(match: re.Match[str]) -> str:
        words, path = match[1], match[2]
        if (folder / path / "README.md").is_file():
            return f"[{words}]({path}/README.md)"
        return words if (folder / path).is_dir() else match[0]

    return re.sub(r"\[([^\]\n]+)\]\(([^)#:\n]+)\)", target, text)
