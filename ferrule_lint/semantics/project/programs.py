"""What a file is: a test, or a program that a single process runs.

Tests run on the ranks they were written for, and one that hangs is found by running it. A script that can be started
and that speaks of no ranks, of nothing that wraps a module and of nothing that starts processes is run by one; so is
one that answers on a port, whatever else there is in the files that it imports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.reads import Reads

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

_OF_SEVERAL = re.compile(
    r"(?i)(^|_|\.)(ranks?|world|dist|distributed|[fd]sdp|hsdp|ddp|deepspeed|accelerate|accelerator|fabric|\w*trainer|"
    r"lightning\w*|\w*parallel\w*|mesh|shard\w*|fully|torchrun|launch\w*|spawn|ray|megatron\w*|mpu|horovod|hvd|dtensor)"
    r"(_|\.|$)|fsdp|ddp(?!g)|[a-z]Rank|DataParallel|Accelerat|Trainer|Sharded"
)
#: what one process spreads a batch over its devices with, and how a program that does so speaks of it
_OVER_DEVICES = re.compile(
    r"torch\.nn\.(parallel\.)?DataParallel|torch\.nn\.parallel\.(data_parallel|parallel_apply|replicate|scatter_gather)(\.\w+)?"
)
#: what works off a list with processes or threads that are no ranks
_POOL = re.compile(r"concurrent\.futures\.(Process|Thread)PoolExecutor|(multiprocessing\.)+Pool|joblib\.Parallel")
#: what learns the pieces that texts are cut into, and trains no module
_LEARNS_PIECES = re.compile(r"tokenizers\.(trainers|SentencePiece\w*)(\.\w+)?|sentencepiece\.\w*Trainer")
#: what serves a page to people: `demo.launch()` opens it, and starts no ranks
_SERVES_PAGE = re.compile(r"gradio(\.\w+)*")
#: what answers on a port: several ranks of a node would ask for the same one
_SERVES = re.compile(r"(flask|fastapi|bottle|sanic|uvicorn|http\.server)(\.\w+)*")
#: environments of several agents, which act at once
_AGENTS = re.compile(r"(pettingzoo|supersuit|mpe2)(\.\w+)*")
#: words of another sense where one of these is imported
_OTHER_SENSE = (
    (_OVER_DEVICES, re.compile(r"_?(data_)?parallel(_[a-z]\w*)?|DataParallel|" + _OVER_DEVICES.pattern)),
    (_SERVES_PAGE, re.compile(r"(\w+_)?launch(_(demo|app|ui|webui|gradio|interface|kwargs|args))?")),
    (_AGENTS, re.compile(r"(\w+_)?parallel_(env|to_aec|wrapper)\w*|aec_to_parallel\w*|.*\.parallel_env")),
    (_POOL, re.compile(r"\w*_?parallel(_[a-z]\w*)?|Parallel|joblib\.Parallel")),
    (
        _LEARNS_PIECES,
        re.compile(
            r"(\w*_)?trainer|trainers|\w*(Bpe|WordPiece|WordLevel|Unigram|Piece)\w*Trainer|" + _LEARNS_PIECES.pattern
        ),
    ),
)


def is_test(path: str) -> bool:
    """Whether a file is a module of tests, by pytest's names."""
    folders, _, name = path.rpartition("/")
    return name.startswith("test_") or name.endswith("_test.py") or not {"test", "tests"}.isdisjoint(folders.split("/"))


def of_one_process(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file can be started, nothing in it speaks of more than one process, and no file that it imports
    something from wraps modules or makes a process group; or whether it plays one rank after the other, or sends actors
    to work."""
    return analysis.alone.find(
        module.path, lambda: _is_alone(analysis, module) or _plays_ranks(module) or _drives_actors(analysis, module)
    )


def _is_alone(analysis: Analysis, module: ModuleInfo) -> bool:
    names = {*module.mentions, *(dotted for dotted, _ in module.imports.values())}
    for imported_name, other_sense in _OTHER_SENSE:
        if any(imported_name.fullmatch(name) for name in names):
            names = {name for name in names if not other_sense.fullmatch(name)}
    return (
        can_be_started(analysis.names.modules, module, analysis.names.reads)
        and not any(_OF_SEVERAL.search(name) for name in names)
        and (
            any(_SERVES.fullmatch(dotted) for dotted, _ in module.imports.values())
            or not any(_brings_ranks(analysis, entity) for entity in _imported(analysis, module))
        )
    )


def starts_no_group(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file can be started, and neither starts a process group, itself or by way of a library's object, nor
    asks which rank it is, nor imports something of a file that does the former. It may speak of models that others
    have sharded."""
    return (
        can_be_started(analysis.names.modules, module, analysis.names.reads)
        and not module.mentions_like(_STARTS_GROUP)
        and not any(other.mentions_any(_JOINS) for other in imported(analysis, module))
    )


def never_starts_group(analysis: Analysis, module: ModuleInfo) -> bool:
    """The same, whatever the file calls a rank: it may be one of several processes that have no group."""
    return (
        can_be_started(analysis.names.modules, module, analysis.names.reads)
        and not module.mentions_like(_STARTS_ONE)
        and not any(other.mentions_any(_JOINS) for other in imported(analysis, module))
    )


_STARTS_ONE = re.compile(
    r"(?i)(^|_)(init(ialize)?_(process_group|distributed|device_mesh|model_parallel|megatron)|launch|spawn)(_|$)|"
    r"Trainer$|Fabric$|^Accelerator$|^PartialState$"
)
_STARTS_GROUP = re.compile(
    r"(?i)(^|_)(init(ialize)?_(process_group|distributed|device_mesh|model_parallel)|launch|spawn|ranks?|world_size)(_|$)|"
    r"Trainer$|Fabric$|^Accelerator$|^PartialState$|^(LOCAL_)?RANK$|main_process|process_index"
)


def _plays_ranks(module: ModuleInfo) -> bool:
    """Whether a file sets the place that a library believes it has, and starts nothing that has one: what converts the
    checkpoints of a sharded model builds the parts of all ranks in one process."""
    return module.mentions_like(_SETS_PLACE) and not module.mentions_any(_STARTS_RANKS)


#: setters of a parallel state; the place in a virtual pipeline is set in real runs, too
_SETS_PLACE = re.compile(r"^set_(?!virtual)\w*parallel_(rank|world_size)$")
_STARTS_RANKS = frozenset("init_process_group initialize_model_parallel init_distributed initialize_megatron".split())


def _drives_actors(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a program begins by asking a library for actors of Ray (`initialize(mode="ray")`): what it calls from
    then on they do, each with its share, and the program itself is one process."""
    if module.mentions_any(_RUNS_IN_ACTORS) or not can_be_started(analysis.names.modules, module, analysis.names.reads):
        return False
    begun = [
        value
        for _, calls in module.calls()
        for call in calls
        if _BEGINS.match(last_name(call.func))
        for name, value in call.keywords
        if name in _HOW
    ]
    return bool(begun) and all(type(value) is f.Const and value.text[1:-1] == "ray" for value in begun)


_BEGINS = re.compile(r"init(ialize)?(_|$)|setup(_|$)")
_HOW = frozenset({"mode", "backend", "engine", "executor", "launcher"})
#: who speaks of these defines what actors do, or is a rank itself
_RUNS_IN_ACTORS = frozenset({"remote", "get_rank", "init_process_group", "get_world_size"})


def can_be_started(modules: Mapping[str, ModuleInfo], module: ModuleInfo, reads: Reads | None = None) -> bool:
    """Whether a file is a program: it says what to do when it is started, or does it as it stands. `reads` notes that
    a file beside it was asked for."""
    if module.mentions_any(_NAME) and any(_starts(s) for s in module.body):
        return True
    if module.mentions_any(_BACKWARD) and any(last_name(call.func) in _BACKWARD for call in _in_rounds(module)):
        return True  # nobody imports what trains a model as it stands
    if module.mentions_any(_COMMAND_LINE) and _reads_command_line(module):
        return True
    if module.mentions_any(_OPENS) and _opens_page(module):
        return True
    init = f"{module.path.rpartition('/')[0]}/__init__.py".lstrip("/")
    if reads is not None:
        reads.ask("shape", init)
    return init not in modules and _works_at_once(module)


def _reads_command_line(module: ModuleInfo) -> bool:
    """Whether a file reads the command line as it stands, and does its work in rounds at its top level. Settings that
    others import are read so, too, but no work is done there."""
    values = (s.value for s in module.body if type(s) is f.Assign)
    read = any(type(value) is f.Call and last_name(value.func) in _COMMAND_LINE for value in values)
    return read and any(True for _ in _in_rounds(module))


def _opens_page(module: ModuleInfo) -> bool:
    """Whether a file opens a page that it serves, as it stands: `demo.queue().launch()`."""
    return any(_SERVES_PAGE.fullmatch(dotted) for dotted, _ in module.imports.values()) and any(
        type(s) is f.ExprStmt and type(s.value) is f.Call and last_name(s.value.func) in _OPENS for s in module.body
    )


def _works_at_once(module: ModuleInfo) -> bool:
    """Whether a file has rounds at its top level in which it calls a function of its own: `for epoch in range(9):
    train()`; or calls its `main()`."""
    called = {last_name(call.func) for call in _in_rounds(module)}
    called.update(last_name(s.value.func) for s in module.body if type(s) is f.ExprStmt and type(s.value) is f.Call)
    return not called.isdisjoint(_AT_WORK) and any(name in module.functions for name in called & _AT_WORK)


def _in_rounds(module: ModuleInfo) -> Iterator[f.Call]:
    """The calls in loops at the top level of a file."""
    loops = (s for s in module.body if type(s) is f.For or type(s) is f.While)
    return (node for s in loops for node in walk(s.body) if type(node) is f.Call)


#: what a program calls the function that does its work
_AT_WORK = frozenset("main train test run evaluate validate train_epoch train_one_epoch fit eval".split())


def imported(analysis: Analysis, module: ModuleInfo) -> Iterator[ModuleInfo]:
    """The files of the project that a file imports something from; one may come several times."""
    for entity in _imported(analysis, module):
        found = entity if type(entity) is ModuleInfo else getattr(entity, "module", None)
        if isinstance(found, ModuleInfo):
            yield found


def _imported(analysis: Analysis, module: ModuleInfo) -> Iterator[object]:
    return (analysis.names.lookup(module, name) for name in module.imports)


def _brings_ranks(analysis: Analysis, entity: object) -> bool:
    """Whether something that a program imports may make it one of several processes: its file does, and of a function
    also itself, or what it calls."""
    module = entity if type(entity) is ModuleInfo else getattr(entity, "module", None)
    if not isinstance(module, ModuleInfo) or not _joins(analysis, module):
        return False
    if type(entity) is not FunctionInfo or entity.owner is not None or entity.decorators:
        return True
    words = _JOINS | analysis.models.wrapping
    known, waiting = {entity.id}, [entity]
    while waiting:
        for call in waiting.pop().calls:
            if last_name(call.func) in words or _leads_away(analysis, module, call.func):
                return True
            called = analysis.names.lookup(module, call.func.id) if type(call.func) is f.Name else None
            if type(called) is FunctionInfo and called.id not in known:
                known.add(called.id)
                waiting.append(called)
    return False


def _leads_away(analysis: Analysis, module: ModuleInfo, func: f.Expr) -> bool:
    """Whether a call is of a class, or of what another file of the project defines: `Engine()`, `setup.begin()`."""
    root = func
    while type(root) is f.Attr:
        root = root.base
    meant = analysis.names.lookup(module, root.id) if type(root) is f.Name else None
    if type(meant) is FunctionInfo:
        return meant.module is not module
    return type(meant) is ModuleInfo or isinstance(getattr(meant, "module", None), ModuleInfo)


def _joins(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file makes a process group or wraps modules. What wraps them may have a name of many senses (`wrap`,
    `setup`, `prepare`); who means that one speaks of several processes, too."""
    if module.mentions_any(_JOINS):
        return True
    wrapping = analysis.models.wrapping
    own_senses = frozenset(word for word in wrapping if word.islower())
    if not module.mentions_any(wrapping - own_senses) and not _calls_any(module, own_senses):
        return False
    return module.mentions_like(_OF_SEVERAL) or any(_OF_SEVERAL.search(dotted) for dotted, _ in module.imports.values())


def _calls_any(module: ModuleInfo, words: frozenset[str]) -> bool:
    """Whether a file calls something of these names, or imports it: a flag of such a name (`wrap=True`) is neither."""
    if not module.mentions_any(words):
        return False
    called = (last_name(call.func) for _, calls in module.calls() for call in calls)
    return any(name in words for name in (*called, *(name.rpartition(".")[2] for name, _ in module.imports.values())))


_NAME = frozenset({"__name__"})
_BACKWARD = frozenset({"backward"})
_JOINS = frozenset({"init_process_group"})
_COMMAND_LINE = frozenset({"parse_args", "parse_known_args"})
_OPENS = frozenset({"launch"})


def _starts(s: f.Stmt) -> bool:
    """`if __name__ == "__main__":`"""
    test = s.test if type(s) is f.If else None
    return type(test) is f.Compare and type(test.left) is f.Name and test.left.id == "__name__"
