"""Whose code is a frame's, and which line of the user's issued an operation."""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from dataclasses import dataclass
from types import FrameType

from ferrule_lint.harness.events import Site

#: user frames kept of each call stack
MOST_FRAMES = 6

_LIBRARY, _THIRD_PARTY, _USER = range(3)
#: functions of torch that only pass on what was called
_WRAPPERS = {"wrapper", "wrapped", "decorate_context", "_fn", "inner", "decorate", "wrapped_func", "__torch_dispatch__"}
_FORWARD = {"_call_impl", "_wrapped_call_impl", "__call__"}
_BLOCKING = {"send", "recv"}
_BATCH = "batch_isend_irecv"
#: the function of torch.autograd.graph in which a thread waits for a backward pass
BACKWARD = "_engine_run_backward"


def _folders() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(standard library, installed packages)."""
    paths = sysconfig.get_paths()
    library = [paths["stdlib"], paths["platstdlib"], os.path.dirname(os.__file__)]
    installed = [paths["purelib"], paths["platlib"]]
    return tuple({path + os.sep for path in library}), tuple({path + os.sep for path in installed})


_LIBRARY_FOLDERS, _INSTALLED_FOLDERS = _folders()
#: the harness
_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_kinds: dict[str, int] = {}
_programs: list[str] = []
#: what is outside of it is whoever started the run
_BODY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "body.py")


def treat_as_user(folder: str) -> None:
    """The program itself is an installed package: its files are the user's."""
    path = os.path.abspath(folder) + os.sep
    if path not in _programs:
        _programs.append(path)
        _kinds.clear()


def _classify(filename: str) -> int:
    if not filename or filename[0] == "<":
        return _LIBRARY
    path = os.path.abspath(filename)
    if _programs and path.startswith(tuple(_programs)):
        return _USER
    if path.startswith(_OWN_FOLDER):
        return _LIBRARY  # also where this package is an installed one
    installed = path.startswith(_INSTALLED_FOLDERS) or f"{os.sep}site-packages{os.sep}" in path
    if installed or f"{os.sep}dist-packages{os.sep}" in path:
        return _LIBRARY if is_torch(path) else _THIRD_PARTY
    return _LIBRARY if path.startswith(_LIBRARY_FOLDERS) else _USER


def is_torch(filename: str) -> bool:
    return f"{os.sep}torch{os.sep}" in filename


def is_user(filename: str) -> bool:
    """Neither the standard library, nor an installed package, nor this one."""
    kind = _kinds.get(filename)
    if kind is None:
        kind = _kinds[filename] = _classify(filename)
    return kind == _USER


@dataclass(frozen=True, slots=True)
class Call:
    """How an operation came to be issued."""

    stack: tuple[Site, ...] = ()
    api: str = ""
    module: str = ""
    #: within `dist.send` or `dist.recv`, which wait
    blocking: bool = False
    #: within `dist.batch_isend_irecv`
    batched: bool = False


def call_of(frame: FrameType | None) -> Call:
    """Read the call stack from `frame` outwards.

    Without any user frame (a thread of autograd's, a helper's) the stack is that of the main thread.
    """
    call = _read(frame)
    if call.stack:
        return call
    main = sys._current_frames().get(threading.main_thread().ident or 0)
    outer = _read(main)
    return Call(outer.stack, call.api or outer.api, call.module or outer.module, call.blocking, call.batched)


def _read(frame: FrameType | None) -> Call:
    stack: list[Site] = []
    others: list[Site] = []
    api = module = ""
    blocking = batched = False
    while frame is not None and len(stack) < MOST_FRAMES:
        code = frame.f_code
        filename = code.co_filename
        if filename == _BODY:
            break
        if is_user(filename):
            stack.append(Site(filename, frame.f_lineno, code.co_qualname))
        elif not stack:
            name = code.co_name
            if _kinds[filename] == _THIRD_PARTY:
                others.append(Site(filename, frame.f_lineno, code.co_qualname))
            elif is_torch(filename):
                if name in _FORWARD:
                    api = "forward"
                elif name not in _WRAPPERS and name[0] != "<":
                    api = name
                blocking = blocking or name in _BLOCKING
                batched = batched or name == _BATCH
                if not module and "fsdp" in filename:
                    module = _module_name(frame)
        frame = frame.f_back
    return Call(tuple(stack or others[:MOST_FRAMES]), api, module, blocking, batched)


def _module_name(frame: FrameType) -> str:
    """The name of the module whose parameters a frame of FSDP2 is gathering or reducing."""
    name = getattr(frame.f_locals.get("self"), "_module_fqn", None)
    return name if isinstance(name, str) else ""


def stack_of(frame: FrameType | None, most: int = 12) -> tuple[Site, ...]:
    """All frames but the harness' own, innermost first."""
    here = os.path.dirname(os.path.dirname(_BODY))
    sites: list[Site] = []
    while frame is not None and len(sites) < most:
        if frame.f_code.co_filename == _BODY:
            break
        if not frame.f_code.co_filename.startswith(here):
            sites.append(Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname))
        frame = frame.f_back
    return tuple(sites)
