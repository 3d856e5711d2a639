"""Starts ranks on this machine and sees to it that none survives: forks of this process, or fresh interpreters.

A rank is a session of its own with all that it starts. It dies with its parent: the kernel is asked for that where it
can be (Linux), and its helper thread ends it when the supervisor's connection closes. What it has started dies by the
guard's hand.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from ferrule_lint.harness.guard import Guard

_PR_SET_PDEATHSIG = 1


def preload(names: Iterable[str]) -> bool:
    """Import modules of torch here, once, that forked ranks would otherwise import each. Were there any?"""
    missing = [name for name in names if name.startswith("torch.") and name not in sys.modules]
    for name in missing:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    return bool(missing)


def torch_modules_in(path: str) -> list[str]:
    """The modules of torch.distributed that a script names."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return sorted(set(re.findall(r"torch\.distributed(?:\.\w+)+", text)))


class LocalProcesses:
    """The ranks that this process has started, and the guard that sees to them if this process cannot."""

    def __init__(self, pids: Mapping[int, int], guard: Guard | None = None) -> None:
        self._pids = dict(pids)
        self._codes: dict[int, int] = {}
        self._guard = guard
        if guard is not None:
            guard.watch(self._pids.values())

    def pids(self) -> Mapping[int, int]:
        return self._pids

    def ended(self) -> Mapping[int, int]:
        for rank, pid in self._pids.items():
            if rank not in self._codes:
                with contextlib.suppress(ChildProcessError):
                    done, status = os.waitpid(pid, os.WNOHANG)
                    if done:
                        self._codes[rank] = os.waitstatus_to_exitcode(status)
        return self._codes

    def kill(self) -> None:
        for rank, pid in self._pids.items():
            # also what a rank that has ended has left behind
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            if rank not in self._codes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    self._codes[rank] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if self._guard is not None:
            self._guard.dismiss()
            self._guard = None


def die_with(parent: int) -> None:
    """In a rank: become the head of a session, and end when `parent` does."""
    with contextlib.suppress(OSError):
        os.setsid()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def fork_ranks(world: int, body: Callable[[int], NoReturn], *, guarded: bool = True) -> LocalProcesses:
    """Fork `world` ranks, each of which runs `body(rank)` and never returns."""
    parent = os.getpid()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    pids: dict[int, int] = {}
    with _frozen_heap():
        guard = Guard() if guarded else None
        for rank in range(world):
            pids[rank] = _fork(parent, rank, body, guard)
    return LocalProcesses(pids, guard)


@contextlib.contextmanager
def _frozen_heap() -> Iterator[None]:
    """Keep the garbage collectors of forks off the heap that they share: touching it would copy it, page by page."""
    if gc.get_freeze_count():
        # somebody has plans of their own
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _fork(parent: int, rank: int, body: Callable[[int], NoReturn], guard: Guard | None) -> int:
    with warnings.catch_warnings():
        # Python 3.12 warns of threads in the parent: torch's own, which hold no lock that a rank needs
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            die_with(parent)
            if guard is not None:
                guard.leave()
            body(rank)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(70)
    return pid


def spawn_ranks(
    commands: Sequence[Sequence[str]], environments: Sequence[Mapping[str, str]], outputs: Sequence[int | None]
) -> LocalProcesses:
    """Start a fresh interpreter for each rank, with its environment, its output going to a file descriptor."""
    pids = {}
    guard = Guard()
    for rank, (command, environment, output) in enumerate(zip(commands, environments, outputs, strict=True)):
        process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        pids[rank] = process.pid
        # reaped by LocalProcesses; Popen must not do it at its own deletion
        process.returncode = 0
    return LocalProcesses(pids, guard)
