"""What can fail on one rank alone, as far as the text of a call tells.

Reading a file, parsing, a model on the local batch can. What is in a tensor makes no call raise: a helper that sums it
up over the ranks fails on all of them or on none, and so does room for what has one size everywhere.
"""

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements, walk
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import called_name, dotted_name, last_name, place_name, variables, words
from ferrule_lint.semantics.domain.trace import CallTerm, Term
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.walk.frame import Frame

_HARMLESS = frozenset(
    "len print info debug warning error exception append add extend update isinstance str repr format get items keys "
    "values item to cuda cpu detach clone size numel set list tuple dict range zip enumerate hasattr getattr".split()
)
#: functions that copy what they are given, by their names
_COPIES = re.compile(r"^(clone|deep_?copy|detach)(_(?!from|to)\w+)?$|_(clone|deepcopy|detach)$")
#: methods of tensors that fail, if at all, by the tensor's shape
_OF_TENSORS = frozenset(
    "div div_ mul mul_ add add_ sub sub_ neg float double half bfloat16 long int bool type type_as sum mean max min "
    "abs view reshape flatten squeeze unsqueeze contiguous copy_ zero_ fill_ nelement element_size tolist dim "
    "is_floating_point is_contiguous uniform_ normal_ random_".split()
)
#: torch's own functions that make something small, or ask for something
_OF_TORCH = re.compile(
    r"^torch\.(distributed\.|cuda\.|device$|tensor$|as_tensor$|zeros|ones|empty|full|is_tensor$|no_grad$|stack$|cat$|"
    r"sum$|mean$|div$|clone$)"
)
_ALLOCATES = frozenset("zeros ones empty full rand randn randint arange empty_like zeros_like ones_like".split())
_DEEPEST = 2
#: inputs that a program makes up, the same on every rank
_MADE_UP = re.compile(r"^(example|dummy|fake|mock|synthetic)_(input|arg|kwarg|batch|data)(e?s)?(_\w+)?$")


def is_harmless(e: f.Call) -> bool:
    """Whether a call, by its name, hardly ever raises."""
    name = last_name(e.func)
    return name in _HARMLESS or _COPIES.search(name) is not None


def only_communicates(frame: Frame, e: f.Call, values: Sequence[Value], issued: Sequence[Term]) -> bool:
    """Whether a call of a helper does nothing but issue collectives and reckon with what it is given, which has one
    size on all ranks."""
    helper = next((t.summary.function for t in issued if type(t) is CallTerm and t.summary.events), None)
    if helper is None or helper.name != last_name(e.func):
        return False
    if any(v.shape is not None or v.length is not None or v.padded is not None for v in values):
        return False
    return _is_plain(frame.analysis, helper, _DEEPEST)


def _is_plain(analysis: Analysis, function: FunctionInfo, depth: int) -> bool:
    for node in walk(function.body):
        if type(node) in (f.Raise, f.Subscript):
            return False
        if type(node) is f.Call and not _is_plain_call(analysis, function.module, node, depth):
            return False
    return True


def _is_plain_call(analysis: Analysis, module: ModuleInfo, call: f.Call, depth: int) -> bool:
    if last_name(call.func) in _HARMLESS or last_name(call.func) in _OF_TENSORS:
        return True
    if _OF_TORCH.search(outer_name(module, call.func)):
        return last_name(call.func) != "load"
    entity = analysis.names.resolve(call.func, module)
    if isinstance(entity, FunctionInfo):
        return depth > 0 and _is_plain(analysis, entity, depth - 1)
    return not call.args and _is_of_library(module, dotted_name(call.func).partition(".")[0], entity)


def outer_name(module: ModuleInfo, func: f.Expr) -> str:
    """The dotted name of a library's function, as the file's imports spell it out."""
    root, dot, rest = dotted_name(func).partition(".")
    return module.imports.get(root, (root, False))[0] + dot + rest


def is_made_up(frame: Frame, e: f.Call, values: Sequence[Value]) -> bool:
    """Whether all local data that a call is given are inputs which the program makes up, by their name."""
    expressions = [*e.args, *(value for _, value in e.keywords)]
    if len(expressions) != len(values) or not frame.module.mentions_like(_MADE_UP):
        return False
    local = [x for x, v in zip(expressions, values, strict=True) if v.data is not None or v.divergence is not None]
    if not local:
        return False
    made = [s for s in statements(frame.function.body) if type(s) is f.Assign] if frame.function is not None else []
    return all(_speaks_of_made_up(x, made, _DEEPEST) for x in local)


def _speaks_of_made_up(expr: f.Expr, made: Sequence[f.Assign], depth: int) -> bool:
    """`made`: the assignments of the function; one of those to a name tells where its value comes from."""
    names = set(words(expr))
    if any(_MADE_UP.search(name) for name in names):
        return True
    return depth > 0 and any(
        s.value is not None and _speaks_of_made_up(s.value, made, depth - 1)
        for s in made
        if not names.isdisjoint(variables(s.targets))
    )


def launches(frame: Frame, pos: f.Pos, called: str) -> bool:
    """Whether a call starts the processes of a job, or does their work in its own where one is enough: `mp.spawn(main,
    ...)` under one setting, `main(0)` under the other. `called`: the dotted name of what it calls."""
    calls = frame.function.calls if frame.function is not None else nodes(frame.module.body, f.Call)
    known = ((call, frame.analysis.models.call(outer_name(frame.module, call.func))) for call in calls)
    launching = (call for call, model in known if model is not None and model.launches)
    return any(call.pos == pos or (call.args and dotted_name(call.args[0]) == called) for call in launching)


def is_stopped_at(frame: Frame, caught: Collection[str]) -> bool:
    """Whether a module of the file raises, at the end of its forward, what a handler catches: it is put in the place of
    a layer to see what that is given, and stops whoever runs the model there, on every rank and with every batch."""
    forwards = (function for function in frame.module.functions.values() if function.name == "forward")
    raised = (function.body[-1] for function in forwards if function.owner is not None and function.body)
    return any(type(s) is f.Raise and called_name(s.value) in caught for s in raised)


# ---------------------------------------------------------------------- memory
def allocates_alike(frame: Frame, body: f.Body) -> bool:
    """Whether a block makes room for tensors whose sizes do not hang on local data, and does nothing else that takes
    memory: it runs out on all ranks or on none, mostly."""
    made = {place for node in statements(body) if type(node) is f.Assign for place in map(place_name, node.targets)}
    calls = [node for node in walk(body) if type(node) is f.Call]
    allocations = [call for call in calls if _is_of_torch(frame, call) and last_name(call.func) in _ALLOCATES]
    if not allocations or not all(_takes_no_memory(frame, call, made) for call in calls):
        return False
    return not any(_is_local(frame.ask(a)) for call in allocations for a in call.args)


def _is_of_torch(frame: Frame, call: f.Call) -> bool:
    return outer_name(frame.module, call.func).startswith("torch.")


def _is_local(value: Value) -> bool:
    return any(d is not None and d.kind in ("data", "structure") for d in (value.data, value.divergence))


def _takes_no_memory(frame: Frame, call: f.Call, made: Collection[str]) -> bool:
    """Whether a call is one of torch's own, of a method of what the block has made, or of a helper that only
    communicates."""
    if last_name(call.func) in _HARMLESS or _is_of_torch(frame, call):
        return True
    base = call.func
    while isinstance(base, f.Attr | f.Subscript | f.Call):
        base = base.func if isinstance(base, f.Call) else base.base
    if type(base) is not f.Name:
        return False
    if type(call.func) is f.Name and call.func.id in dir(builtins):
        return True
    if base.id in made and type(call.func) is f.Attr:
        return True
    entity = frame.analysis.names.resolve(call.func, frame.module)
    if isinstance(entity, FunctionInfo):
        return _is_plain(frame.analysis, entity, _DEEPEST)
    given = (*call.args, *(value for _, value in call.keywords))
    return _is_of_library(frame.module, base.id, entity) and not any(_is_local(frame.ask(a)) for a in given)


def _is_of_library(module: ModuleInfo, root: str, entity: object) -> bool:
    """Whether what a name from an import leads to is nothing of the project."""
    return root in module.imports and not isinstance(entity, FunctionInfo | ClassInfo)
