"""Paths as the reader types them."""

from __future__ import annotations

import os
from pathlib import Path


def shown_path(path: str, root: Path, cwd: Path) -> str:
    """`path`, which is relative to the project's `root`, relative to the current folder instead."""
    if not path:
        return ""
    return Path(os.path.relpath(root / path, cwd)).as_posix()
