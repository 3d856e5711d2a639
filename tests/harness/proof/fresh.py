"""A scene in an interpreter of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def act(source: str, entries: list[str], spread: bool) -> Any:
    """Play the scene of the first of these entry points that has one."""
    from programs.lane import on_lane

    from proof import fixed, fixed_groups, fixed_names, fixed_ways  # noqa: F401
    from proof.doubles import load
    from proof.scenes import SCENES

    scene = next(SCENES[name] for name in entries if name in SCENES)
    return on_lane(lambda: scene.play(load(source, "example"), spread))
