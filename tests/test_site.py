"""The documentation: the site builds without a warning, and what is made by scripts is up to date."""

from __future__ import annotations

import html.parser
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import click
import pytest
from support import load_script

from ferrule_lint.cli.main import cli
from ferrule_lint.rulebook import load_rules

ROOT = Path(__file__).resolve().parent.parent
if not (ROOT / "docs" / "conf.py").exists():
    pytest.skip("docs/ is not part of a source distribution", allow_module_level=True)


def script(name: str) -> ModuleType:
    """A module of scripts/."""
    return load_script(ROOT / "scripts" / f"{name}.py", name)


# ---------------------------------------------------------------------- the site
@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as scripts/docs.sh does; a warning is an error."""
    for name in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(name, reason="the site's generator is in the extra `docs`")
    command = re.search(r'sphinx-build" (.*) "\$\{1', (ROOT / "scripts" / "docs.sh").read_text("utf-8"))
    assert command is not None
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *command[1].split(), "-d", str(out / ".doctrees"), str(out / "html")],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return out / "html"


def test_every_page_is_on_it(site: Path) -> None:
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "rules").glob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"]
    missing = [page for page in pages if not (site / page.relative_to(ROOT).with_suffix(".html")).exists()]
    assert not missing
    assert "url=docs/README.html" in (site / "index.html").read_text("utf-8")
    # and can be come to from the first one
    navigation = (site / "docs" / "README.html").read_text("utf-8")
    listed = [page for page in (ROOT / "docs").glob("*.md") if page.name != "README.md"]
    assert [page.name for page in listed if f'href="{page.stem}.html"' not in navigation] == []


def test_rule_pages_are_made_from_the_rules(site: Path) -> None:
    table = (site / "docs" / "rules.html").read_text("utf-8")
    for code, rule in load_rules().items():
        page = (site / "rules" / f"{code}.html").read_text("utf-8")
        assert rule.name in page
        assert f"fix: {rule.fix}" in page
        assert f"../rules/{code}.html" in table


class _Links(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors.add(values.get("id") or "")
        if tag == "a":
            self.targets.add(values.get("href") or "")
        elif tag in ("script", "img", "iframe", "source"):
            self.loaded.add(values.get("src") or "")
        elif tag == "link" and values.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.add(values.get("href") or "")


def test_links_lead_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    parsed: dict[Path, _Links] = {}
    for page in site.rglob("*.html"):
        parsed[page] = _Links()
        parsed[page].feed(page.read_text("utf-8"))
    assert len(parsed) > 40
    broken = []
    for page, links in parsed.items():
        assert not [one for one in links.loaded if "//" in one], page
        for target in links.targets | links.loaded:
            path, _, anchor = unquote(target).partition("#")
            if "://" in path or path.startswith("mailto:"):
                continue
            other = (page.parent / path.partition("?")[0]).resolve() if path.partition("?")[0] else page
            known = parsed.get(other)
            if not other.exists() or (anchor and known is not None and anchor not in known.anchors):
                broken.append(f"{page.relative_to(site)}: {target}")
    assert not broken


# ---------------------------------------------------------------------- what scripts write
def test_the_page_of_commands_is_up_to_date() -> None:
    """Not word for word: other versions of click fold lines elsewhere."""
    commands = script("commands")
    words = commands.PAGE.read_text("utf-8").split()
    text = " ".join(words)
    assert len(words) > 500
    for name, command in {"": cli, **cli.commands}.items():
        if name != "check":
            assert f"## `ferrule-lint {name}".rstrip() in text
        for param in cli.commands["check"].params if not name else command.params:
            if isinstance(param, click.Option) and not param.hidden:
                assert all(option in text for option in param.opts)
                assert " ".join((param.help or "").split()) in text, "run scripts/commands.py"


def texts(svg: str) -> list[str]:
    """What is written in a picture, line by line."""
    lines: dict[str, str] = {}
    for number, one in enumerate(ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")):
        place = one.get("clip-path") or str(number)
        lines[place] = lines.get(place, "") + "".join(one.itertext())
    return [line.replace("\xa0", " ").rstrip() for line in lines.values()]


def test_pictures_show_what_is_printed_now() -> None:
    pictures = script("pictures")
    made = pictures.pictures()
    kept = {path.name: path.read_text("utf-8") for path in pictures.IMAGES.iterdir()}
    assert set(kept) == set(made)
    for name, svg in made.items():
        assert texts(kept[name]) == texts(svg), f"{name}: run scripts/pictures.py"
        assert not re.search(r"https?://(?!www\.w3\.org/)", kept[name]), f"{name} loads something"
    assert "$ ferrule-lint --fix train.py" in texts(kept["terminal.svg"])
