"""The tables that the programs enter themselves in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Program:
    function: Callable[[], Any]
    ranks: int
    kind: str = ""
    #: further arguments of `run`
    options: dict[str, Any] = field(default_factory=dict)
    #: the first torch that can run it on the CPU, harness or not
    since: tuple[int, int] = (2, 4)
    #: later ones that cannot
    broken_in: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        return self.function.__name__

    def marked(self, mark: str) -> str:
        """`path:line` of the line with this comment; empty without one."""
        lines, first = inspect.getsourcelines(self.function)
        found = [first + offset for offset, line in enumerate(lines) if line.rstrip().endswith(f"# {mark}")]
        assert len(found) <= 1
        return f"{inspect.getsourcefile(self.function)}:{found[0]}" if found else ""


BUGS: list[Program] = []
HEALTHY: list[Program] = []


#: the first torch with FSDP2 on the CPU; with hybrid sharding and pipelines on gloo
FSDP2, HYBRID = (2, 7), (2, 8)


def bug(
    kind: str, ranks: int = 2, *, since: tuple[int, int] = (2, 4), **options: Any
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def enter(function: Callable[[], Any]) -> Callable[[], Any]:
        BUGS.append(Program(function, ranks, kind, options, since))
        return function

    return enter


def healthy(
    ranks: int = 2, *, since: tuple[int, int] = (2, 4), broken_in: tuple[tuple[int, int], ...] = (), **options: Any
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def enter(function: Callable[[], Any]) -> Callable[[], Any]:
        HEALTHY.append(Program(function, ranks, "", options, since, broken_in))
        return function

    return enter
