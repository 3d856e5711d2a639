"""Jupyter notebooks as Python: the code cells one after the other, what only IPython understands replaced.

Lines stay lines, so that a place in the text is a place in a cell.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ferrule_lint.frontend.errors import SourceError

SUFFIX = ".ipynb"

#: cell magics whose cell is Python all the same
_PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun", "%%debug", "%%python", "%%python3", "%%pypy")
_MAGIC = re.compile(r"\s*(%|!|\?)")
#: IPython takes these for magics without their sign, where they begin a line that is no Python
_AUTOMAGIC = re.compile(
    r"(pip3?|conda|mamba|uv|cd|ls|ll|pwd|mkdir|rmdir|rm|cp|mv|cat|less|more|man|env|matplotlib|run|load|time|timeit)"
    r"(\s+[^\s=(\[,].*)?"
)
_ASSIGNED = re.compile(r"(?P<target>\s*[A-Za-z_][\w.,\s]*=\s*)[%!].*")
#: stands for whatever a magic does
_OPAQUE = "get_ipython()"


@dataclass(frozen=True, slots=True)
class Notebook:
    """The code of a notebook. `cells` has (first line in `source`, number of the cell, lines of the cell), from 1."""

    source: bytes
    cells: tuple[tuple[int, int, int], ...]

    @property
    def texts(self) -> dict[int, str]:
        """The code of each cell by its number."""
        lines = self.source.decode("utf-8", "replace").split("\n")
        return {number: "\n".join(lines[first - 1 : first - 1 + count]) for first, number, count in self.cells}


def read_notebook(content: bytes) -> Notebook | None:
    """The code of a notebook, None if it is not in Python; SourceError if it is no notebook that can be read."""
    if not content.strip():
        return Notebook(b"", ())  # a new file, which editors open as a notebook without cells
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise SourceError(1, "not a notebook: it is not JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise SourceError(1, "not a notebook of format 4: it has no list of cells")
    metadata = document.get("metadata")
    info = metadata.get("language_info") or metadata.get("kernelspec") if isinstance(metadata, dict) else None
    language = (info.get("name") or "python") if isinstance(info, dict) else "python"
    if isinstance(info, dict) and isinstance(info.get("language"), str):
        language = info["language"]
    if not str(language).lower().startswith(("python", "ipython")):
        return None
    texts: list[str] = []
    cells: list[tuple[int, int, int]] = []
    line = 1
    for number, cell in enumerate(document["cells"], start=1):
        code = _code(cell)
        if code is None:
            continue
        lines = code.count("\n") + 1
        texts.append(code)
        cells.append((line, number, lines))
        line += lines
    if not cells:
        return None
    return Notebook(("\n".join(texts) + "\n").encode("utf-8", "surrogatepass"), tuple(cells))


def _code(cell: Any) -> str | None:
    """The Python of a cell; None for a cell of another kind."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str):
        return None
    source = source.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    first = source.lstrip().split(maxsplit=1)[:1]
    if first and first[0].startswith("%%"):
        if first[0] not in _PYTHON_MAGICS:
            # another language: as many empty lines
            return "\n" * source.count("\n")
        blank, rest = source.split("%%", 1)
        source = blank + "#" + rest
    return source if _is_python(source) else "\n".join(_without_magics(source.split("\n")))


def _is_python(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _without_magics(lines: list[str]) -> Iterator[str]:
    continued = False
    for line in lines:
        goes_on = line.rstrip().endswith("\\")
        stripped = line.strip()
        indent = line[: len(line) - len(line.lstrip())]
        assigned = _ASSIGNED.fullmatch(line)
        if continued:
            yield ""
        elif (
            _MAGIC.match(line)
            or _AUTOMAGIC.fullmatch(line.rstrip())
            or (stripped.endswith("?") and not stripped.startswith("#"))
        ):
            yield indent + _OPAQUE
        elif assigned:
            yield assigned["target"] + _OPAQUE
        else:
            yield line
            goes_on = False
        continued = goes_on
