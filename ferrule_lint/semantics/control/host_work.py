"""Work on the host that only some ranks do (`if rank == 0: torch.save(...)`): it may fail there, and nowhere else.

A disk that is full, a process that ends with an error, a service that does not answer: where a handler goes on for it,
these ranks alone come to it. That is an exception like one which they raise themselves, here or in what they call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.control import exceptions, failing
from ferrule_lint.semantics.control.exceptions import HOST_ERROR, Escape
from ferrule_lint.semantics.control.failing import outer_name
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.text import shown
from ferrule_lint.semantics.domain.trace import Exit
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.summary import Summary
    from ferrule_lint.semantics.walk.frame import Frame

#: functions that write, move or take away files, start processes or ask services, by their dotted names
_FUNCTIONS = re.compile(
    r"^(open|torch\.save|os\.(remove|unlink|rename|replace|rmdir|removedirs|symlink)|"
    r"shutil\.(copy\w*|move|rmtree|make_archive|unpack_archive)|(json|pickle|yaml|joblib|dill|cloudpickle)\.\w*dump|"
    r"numpy\.save\w*|safetensors\.torch\.save\w+|torchaudio\.save|torchvision\.(utils\.save_image|io\.write_\w+)|"
    r"imageio\.(v[23]\.)?(imwrite|mimwrite|mimsave|volwrite)|soundfile\.write|scipy\.io\.wavfile\.write|subprocess\.(run|call|check_\w+)|wandb\.(init|login)|"
    r"(requests|httpx)\.(get|post|put|head|request|patch|delete)|urllib\.request\.(urlopen|urlretrieve)|"
    r"huggingface_hub\.(\w+\.)*(snapshot_download|hf_hub_download|upload_\w+|create_repo))$"
)
#: methods that do so, by their names
_METHODS = frozenset(
    "save_pretrained push_to_hub upload_file upload_folder upload_fileobj download_file write_text write_bytes savefig "
    "to_csv to_parquet to_excel to_pickle to_feather rmtree extractall".split()
)
#: how a file is opened that is written: `path.open("w")`
_TO_WRITE = re.compile(r"(?=.*[wax+])['\"][rbtUwax+]+['\"]")
#: calls through which such work is looked for
_DEEPEST = 2


def at_call(frame: Frame, e: f.Call, before: int) -> None:
    """A call of a library's function. `before`: the number of terms in front of it."""
    if frame.light or not _guarded(frame):
        return
    if _is_work(frame.module, e):
        _failing(frame, e.pos, shown(e.func), before)
    elif _is_tried_alone(frame, e, before):
        note = f"`{shown(e.func)}` is tried by some ranks only, and may fail there"
        _failing(frame, e.pos, shown(e.func), before, note)


def in_callee(frame: Frame, summary: Summary, pos: f.Pos) -> None:
    """A call of a function of the project that does such work itself, on whatever rank it is called."""
    function = summary.function
    if frame.light or function is None or function.is_generator or not _guarded(frame):
        return
    if any(escape.divergence is not None for escape in summary.escapes):
        return
    if _works(frame, function, _DEEPEST):
        _failing(frame, pos, function.name, len(frame.terms))


def _guarded(frame: Frame) -> bool:
    """Whether a test of the rank lets only some ranks come here, of those that have entered the `try` around it."""
    since = frame.attempts[-1].conditions if frame.attempts else 0
    if len(frame.conditions) == since:
        return False
    tests = (divergence_of(c) for c in frame.conditions[since:])
    return any(d is not None and d.kind == "rank" and not d.member and d.confidence > Confidence.LOW for d in tests)


def _is_tried_alone(frame: Frame, e: f.Call, before: int) -> bool:
    """Whether a `try` holds nothing but what some ranks do (`try:`, `if rank == 0: upload(path)`), for which its
    handler is there: whatever this is, it may fail."""
    attempt = frame.attempts[-1] if frame.attempts else None
    block = attempt.body[0] if attempt is not None and len(attempt.body) == 1 else None
    if attempt is None or attempt.reached or type(block) is not f.If or block.orelse or failing.is_harmless(e):
        return False
    return len(frame.terms) == before and len(frame.conditions) == attempt.conditions + 1


def _failing(frame: Frame, pos: f.Pos, text: str, at: int, note: str = "") -> None:
    note = note or f"`{text}` works on files, processes or services of some ranks only, and may fail there"
    divergence = frame.source(WORLD, "host", pos, note, Confidence.MEDIUM)
    line = exceptions.handler_of(frame, HOST_ERROR, None)
    if line:
        atom = exceptions.emit(frame, divergence, Exit("caught", line), pos, text, at)
        frame.attempts[-1].come_to(line, atom)
    else:
        frame.escapes.setdefault((HOST_ERROR, 0), Escape(HOST_ERROR, None, divergence, 0))


def _is_work(module: ModuleInfo, e: f.Call) -> bool:
    if type(e.func) is f.Attr and (e.func.attr in _METHODS or (e.func.attr == "open" and _is_to_write(e))):
        return True
    return _FUNCTIONS.search(outer_name(module, e.func)) is not None


def _works(frame: Frame, function: FunctionInfo, depth: int) -> bool:
    """Whether a function does such work, and nothing in it survives that it fails."""
    body = function.body
    survived = {
        call.pos
        for s in statements(body)
        if type(s) is f.Try and any(exceptions.carries_on(h.body) for h in s.handlers)
        for call in walk(s.body)
        if type(call) is f.Call
    }
    for call in function.calls:
        if call.pos in survived:
            continue
        if _is_work(function.module, call):
            return True
        entity = frame.analysis.names.resolve(call.func, function.module) if depth > 1 else None
        if isinstance(entity, FunctionInfo) and _works(frame, entity, depth - 1):
            return True
    return False


def _is_to_write(opened: f.Call) -> bool:
    """Whether a path is opened, or a file of something that has some, in a mode that is written out and writes."""
    modes = (*opened.args, *(value for name, value in opened.keywords if name == "mode"))
    return any(type(mode) is f.Const and _TO_WRITE.fullmatch(mode.text) is not None for mode in modes)
