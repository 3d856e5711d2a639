"""Ranks in interpreters of their own: what to run, and how it learns what it is to do.

A function is named by file and qualified name and imported anew, so it has to be one that can be found that way.
"""

from __future__ import annotations

import base64
import importlib.util
import inspect
import json
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ferrule_lint.harness.errors import HarnessError
from ferrule_lint.harness.launch import die_with
from ferrule_lint.harness.rank.body import Script, Setup, run_rank

if TYPE_CHECKING:
    from ferrule_lint.harness.node import Node

_SETUP, _PARENT = "FERRULE_SETUP", "FERRULE_PARENT"


def fresh_command(target: Callable[..., Any] | Script | Node, args: Sequence[Any]) -> list[str]:
    """The command that runs a rank; HarnessError for a function that cannot be named."""
    start = [sys.executable, "-m", "ferrule_lint.harness.fresh"]
    if not callable(target):
        return [*start, "test", target.packed()]
    if isinstance(target, Script):
        return [*start, "module" if target.is_module else "script", target.name, *target.arguments]
    name = getattr(target, "__qualname__", "")
    if not name or "<" in name:
        raise HarnessError(f"{name or target!r} cannot be run in fresh interpreters: it is not at the top of a file")
    path = inspect.getsourcefile(target)
    if path is None:
        raise HarnessError(f"{name} cannot be run in fresh interpreters: it has no source file")
    try:
        data = base64.b64encode(pickle.dumps(tuple(args))).decode()
    except Exception as error:
        raise HarnessError(f"the arguments of {name} cannot be sent to fresh interpreters: {error}") from None
    return [*start, "function", os.path.abspath(path), name, data]


def fresh_environment(setup: Setup, seed: int | None) -> dict[str, str]:
    environment = {**os.environ, **setup.environment, _SETUP: json.dumps(asdict(setup)), _PARENT: str(os.getpid())}
    # the parent's import path, less what only it has
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    if seed is not None:
        environment["PYTHONHASHSEED"] = str(seed)
    return environment


def main(arguments: Sequence[str]) -> None:
    """`script PATH ...`, `module NAME ...`, `function PATH NAME ARGUMENTS` or `test NODE`.

    Which rank this is, and of what, the environment says.
    """
    die_with(int(os.environ.pop(_PARENT)))
    setup = Setup(**{**json.loads(os.environ.pop(_SETUP)), "forked": False})
    kind, name, *rest = arguments
    if kind == "test":
        from ferrule_lint.harness.node import Node, run_node

        run_node(setup, Node.unpacked(name))
    if kind == "function":
        run_rank(setup, _function(name, rest[0], pickle.loads(base64.b64decode(rest[1]))))
    run_rank(setup, Script(name, rest, is_module=kind == "module"))


def _function(path: str, name: str, args: tuple[Any, ...]) -> Callable[[], Any]:
    def call() -> Any:
        spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
        if spec is None or spec.loader is None:
            raise ImportError(f"cannot import {path}")
        sys.path.insert(0, os.path.dirname(path))
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        found: Any = module
        for word in name.split("."):
            found = getattr(found, word)
        return found(*args)

    return call


if __name__ == "__main__":
    main(sys.argv[1:])
