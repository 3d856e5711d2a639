"""A rank from its first to its last breath: environment, recorder, the user's code, and the report of how it ended."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import random
import runpy
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from ferrule_lint.harness.events import Site
from ferrule_lint.harness.rank.client import Client
from ferrule_lint.harness.rank.flow import Flow
from ferrule_lint.harness.rank.sites import is_user, treat_as_user


@dataclass(frozen=True, slots=True)
class Script:
    """A file, or with `is_module` a module, run as `__main__` with these arguments."""

    name: str
    arguments: Sequence[str] = ()
    is_module: bool = False

    def folder(self) -> str:
        """Where the program's own files are: a script's folder, a module's top package; empty if it is not there."""
        if not self.is_module:
            return os.path.dirname(os.path.abspath(self.name))
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(self.name.partition(".")[0])
            if spec is not None and spec.submodule_search_locations:
                return next(iter(spec.submodule_search_locations))
        return ""

    def __call__(self) -> None:
        if folder := self.folder():
            treat_as_user(folder)
        sys.argv = [self.name, *self.arguments]
        if self.is_module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(self.name, run_name="__main__", alter_sys=True)
        else:
            # absolute, as Python itself names a script, so that places hold when the program changes its folder
            path = os.path.abspath(self.name)
            sys.path.insert(0, os.path.dirname(path))
            runpy.run_path(path, run_name="__main__")


@dataclass(frozen=True, slots=True)
class Setup:
    """What a rank has to know. `backend` is given if the harness is to start the default process group."""

    rank: int
    world: int
    address: str
    token: str
    environment: dict[str, str] = field(default_factory=dict)
    lockstep: bool = True
    #: two ranks are connected as NCCL does it, also on gloo
    pairs_connect: bool = False
    flow: bool = True
    backend: str = ""
    #: a program that asks for NCCL gets gloo
    gloo_only: bool = False
    #: a fork of a process with a life of its own, whose exit handlers are not the rank's
    forked: bool = True
    #: the rendezvous store is the harness' own
    own_store: bool = False


def run_rank(setup: Setup, target: Callable[[], Any], describe: Callable[[BaseException], str] | None = None) -> None:
    """Run `target` as a rank and leave the process; never returns. `describe` formats what it raises.

    Ranks end by `os._exit`: the interpreter's shutdown can abort in a process group's destructor.
    """
    flow = Flow() if setup.flow else None
    _prepare(setup)
    client = Client(setup.address, setup.token, setup.rank, lockstep=setup.lockstep, flow=flow)

    def body() -> Any:
        from ferrule_lint.harness.rank.groups import patch
        from ferrule_lint.harness.rank.recorder import Recorder

        recorder = Recorder(setup.rank, setup.world, client, flow, pairs_connect=setup.pairs_connect)
        recorder.install()
        patch(recorder, client, gloo_only=setup.gloo_only, own_store=setup.own_store)
        if setup.backend:
            _start_group(setup.backend)
        if flow is not None:
            flow.start()
        try:
            return target()
        finally:
            if flow is not None:
                flow.stop()

    ending = describe_ending(body, describe)
    _shut_down()
    client.end(ending)
    os._exit(ending["code"])


def describe_ending(body: Callable[[], Any], describe: Callable[[BaseException], str] | None = None) -> dict[str, Any]:
    """Run `body`, whatever it does, and say how it ended."""
    from ferrule_lint.harness.rank.returned import packed

    try:
        return {"status": "done", "code": 0, "value": packed(body())}
    except SystemExit as leaving:
        return _exit(leaving)
    except BaseException as error:
        return _raised(error, describe)


def _prepare(setup: Setup) -> None:
    os.environ.update(setup.environment)
    if setup.forked:
        atexit._clear()
        # what fresh processes draw from the system: forks must not draw the same
        random.seed(setup.rank)
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


def _start_group(backend: str) -> None:
    import torch
    import torch.distributed as dist

    if "nccl" in backend:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(backend)


def _exit(leaving: SystemExit) -> dict[str, Any]:
    code = leaving.code
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    return {"status": "exit" if code else "done", "code": code or 0}


def _raised(error: BaseException, describe: Callable[[BaseException], str] | None) -> dict[str, Any]:
    text = "".join(traceback.format_exception(type(error), error, _from_the_program_on(error.__traceback__)))
    if describe is not None:
        with contextlib.suppress(Exception):
            text = describe(error)
    else:
        # as torchrun's ranks write theirs: those of several ranks come at once
        sys.stderr.write("".join(f"[rank{os.environ.get('RANK', '?')}]: {line}" for line in text.splitlines(True)))
    frames = traceback.extract_tb(error.__traceback__)
    place = next((one for one in reversed(frames) if is_user(one.filename)), None)
    return {
        "status": "raised",
        "code": 1,
        "error": f"{type(error).__name__}: {error}"[:500],
        "traceback": text,
        "site": Site(place.filename, place.lineno or 0, place.name) if place else None,
    }


def _from_the_program_on(frames: TracebackType | None) -> TracebackType | None:
    """A traceback without what stands before the program's first frame: the harness, and what runs a script."""
    own = frames
    while own is not None and not is_user(own.tb_frame.f_code.co_filename):
        own = own.tb_next
    return own or frames


def _shut_down() -> None:
    """What the interpreter would do for the user at exit, short of tearing itself down."""
    threads: Any = threading
    for step in (threads._shutdown, atexit._run_exitfuncs):
        with contextlib.suppress(Exception):
            step()
