#!/usr/bin/env python3
"""Make the pictures of the README and the documentation, all from real output: `docs/images/*.svg`."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
#: a file of the tutorial, and what is done with it
_SESSION = ("ferrule-lint train.py", "ferrule-lint --fix train.py", "ferrule-lint train.py")
_WHY = "examples/fsdp_optional_modalities/bug.py:47"
_COLUMNS = 116
_NAME = "ferrule"


def pictures() -> dict[str, str]:
    """Every picture by its name."""
    return {"terminal.svg": terminal(), "why.svg": why(), **badges()}


def terminal() -> str:
    """A session in a terminal, line by line as it goes on. It stands still where nothing moves."""
    console = Console(record=True, file=io.StringIO(), width=_COLUMNS, force_terminal=True, legacy_windows=False)
    tutorial = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    source = re.search(r"^```python train.py\n(.*?)^```$", tutorial, re.MULTILINE | re.DOTALL)
    assert source is not None
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "train.py").write_text(source[1], "utf-8")
        (Path(name) / "pyproject.toml").write_text("")
        for command in _SESSION:
            console.print(Text.assemble(("$ ", "green"), (command, "bold")))
            console.print(Text.from_ansi(_run(command, Path(name), FORCE_COLOR="1")))
    svg = console.export_svg(title="ferrule-lint", unique_id=_NAME)
    # fonts are the reader's own: nothing is loaded from elsewhere
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("font-family: Fira Code, monospace", 'font-family: ui-monospace, "DejaVu Sans Mono", monospace')
    return svg.replace("</style>", f"{_motion(svg)}    </style>", 1).rstrip() + "\n"


def _motion(svg: str) -> str:
    """Styles that let the lines appear one after the other, with a pause at each prompt."""
    rules = [f"@keyframes {_NAME} {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }}"]
    delay = 0.0
    for number in sorted({int(one) for one in re.findall(rf'clip-path="url\(#{_NAME}-line-(\d+)\)"', svg)}):
        line = f'[clip-path="url(#{_NAME}-line-{number})"]'
        prompt = re.search(rf"{re.escape(line[1:-1])}>\$", svg) is not None
        delay += 1.2 if prompt and number else 0.05
        rules.append(f"{line} {{ animation: {_NAME} 1ms {delay:.2f}s backwards; }}")
    rules.append("@media (prefers-reduced-motion: reduce) { text { animation: none !important; } }")
    return "".join(f"    {rule}\n" for rule in rules)


def why() -> str:
    """The graph of a line; of the examples alone, since the rest of the repository says nothing about them."""
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(ROOT / "examples", Path(name) / "examples")
        (Path(name) / "pyproject.toml").write_text("")
        picture = Path(name) / "why.svg"
        _run(f"ferrule-lint why --no-cache {_WHY} --graph {picture}", Path(name))
        return picture.read_text("utf-8")


def _run(command: str, folder: Path, **environment: str) -> str:
    """What a command prints."""
    words = [sys.executable, "-m", "ferrule_lint", *command.split()[1:]]
    inherited = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    done = subprocess.run(
        words,
        cwd=folder,
        env={**inherited, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{command}: {done.stderr}")
    return done.stdout


def badges() -> dict[str, str]:
    """What the project says of itself, as small labels."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [re.split(r"[<>=!~ ]", one)[0] for one in project["dependencies"]]
    return {
        "badge-python.svg": badge("python", project["requires-python"].replace(">=", "") + "+", "#2d72d2"),
        "badge-licence.svg": badge("licence", project["license"], "#238551"),
        "badge-needs.svg": badge("needs", ", ".join(needed), "#c87619"),
    }


def badge(label: str, value: str, colour: str) -> str:
    """A label in two halves."""
    left, right = (round(len(text) * 6.6 + 12) for text in (label, value))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img">'
        f"<title>{label}: {value}</title>"
        f'<clipPath id="round"><rect width="{left + right}" height="20" rx="3"/></clipPath>'
        '<g clip-path="url(#round)">'
        f'<rect width="{left}" height="20" fill="#404854"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">'
        f'<text x="{left / 2}" y="14" textLength="{left - 12}">{label}</text>'
        f'<text x="{left + right / 2}" y="14" textLength="{right - 12}">{value}</text></g></svg>\n'
    )


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (IMAGES / name).write_text(text, "utf-8")
