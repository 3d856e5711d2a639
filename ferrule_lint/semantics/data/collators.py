"""How a loader makes a batch of samples: who stacks them needs samples of one size, who pads them does not, unless to a
size that settings tell: `"input_ids": torch.zeros(len(samples), self.max_length)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.text import dotted_name, last_name, place_name, render, root_name
from ferrule_lint.semantics.project import programs
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: https://huggingface.co/docs/transformers/main_classes/data_collator and torch.utils.data.default_collate
_STACKS = frozenset({"default_data_collator", "torch_default_data_collator", "default_collate"})
_KEYWORDS = frozenset({"collate_fn", "data_collator"})
_COLLATES = frozenset({"DataLoader"})
#: fields that the model makes, however samples were put together
_GENERATED = re.compile(r"generated|completion|response")


#: methods of one name that are looked into; with more of them the name says nothing
MOST_METHODS = 6
#: what a tokenizer makes
_OF_TEXTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_MAKES = frozenset({"ones", "zeros", "full", "empty"})


def one_size(frame: Frame, field: str) -> bool:
    """Whether a field of a batch has one size on every rank, as collators make it."""
    if _stacks(frame, field) or _is_set(frame, field) or _is_stacked(frame, field):
        return True
    return field in _OF_TEXTS and _comes_filled_up(frame)


def _comes_filled_up(frame: Frame) -> bool:
    analysis, module = frame.analysis, frame.module
    return analysis.filled_texts.find(module.path, lambda: _takes_filled_up(analysis, module), False)


def _takes_filled_up(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a function of another file that the file takes its loaders from fills up all texts to one size, in itself
    or in functions within it: `tokenizer(text, padding="max_length", truncation=True)`."""
    from ferrule_lint.semantics.sources import tokenizers  # which asks for what stands here

    for source in programs.imported(analysis, module):
        for function in source.functions.values():
            if any(last_name(c.func) == "DataLoader" for c in function.calls):
                within = [m for m in source.functions.values() if f"{m.qualname}.".startswith(f"{function.qualname}.")]
                asked = [c for m in within for c in m.calls if tokenizers.asks_to_fill_up(c)]
                if asked and module.mentions_any(frozenset({function.name})):
                    return all(map(tokenizers.is_of_one_size, asked))
    return False


def _stacks(frame: Frame, field: str) -> bool:
    """Whether a field of a batch comes out of a collator that stacks, as all do that the file names."""
    if not frame.module.mentions_any(_STACKS) or _GENERATED.search(field):
        return False
    return only_stacks(frame.analysis, frame.module)


def _is_set(frame: Frame, field: str) -> bool:
    """Whether the file takes a method of the project's for its collator, `DataLoader(data, collate_fn=data.collate)`,
    and all of that name which make the field make it as long as a setting of their instance says."""
    analysis = frame.analysis
    methods = [m for name in methods_taken(analysis, frame.module) for m in analysis.names.methods_named(name)]
    made = [_is_as_long(m, e) for m in methods[: MOST_METHODS + 1] for e in _made(m, field)]
    return 0 < len(methods) <= MOST_METHODS and bool(made) and all(made)


def _is_stacked(frame: Frame, field: str) -> bool:
    """Whether the file has collators of the project's, and all that make the field stack what the samples have there,
    `"ids": torch.stack([sample[0] for sample in samples])`: these have one size to begin with."""
    analysis, module = frame.analysis, frame.module
    if not module.mentions_any(_COLLATES):
        return False
    return analysis.stacked_fields.find((module.path, field), lambda: _stack(analysis, module, field), False)


def _stack(analysis: Analysis, module: ModuleInfo, field: str) -> bool:
    made: list[f.Expr | None] = []
    for function, calls in module.calls():
        for value in (v for call in calls for keyword, v in call.keywords if keyword == "collate_fn"):
            collator = _own_collator(analysis, module, function, value)
            made += _made(collator, field) if collator is not None else [None]
    return bool(made) and all(map(_is_stack, made))


def _own_collator(
    analysis: Analysis, module: ModuleInfo, function: FunctionInfo | None, value: f.Expr
) -> FunctionInfo | None:
    """A function of the project, or the `__call__` of an object that a function makes, which makes batches."""
    names = analysis.names
    if type(value) is f.Name and function is not None:
        held = analysis.bodies.given(function.body, value.id)
        value = held[0] if len(held) == 1 else value
    entity = names.resolve(value.func if type(value) is f.Call else value, module)
    if isinstance(entity, ClassInfo):
        return names.method(entity, "__call__") if type(value) is f.Call else None
    return entity if isinstance(entity, FunctionInfo) and type(value) is f.Name else None


def _is_stack(made: f.Expr | None) -> bool:
    """`torch.stack([sample[0] for sample in samples])`: what the samples have, as it is."""
    if type(made) is not f.Call or last_name(made.func) != "stack" or not made.args:
        return False
    listed = made.args[0]
    if type(listed) is not f.Comprehension or len(listed.elements) != 1 or len(listed.generators) != 1:
        return False
    item, sample = listed.elements[0], listed.generators[0].target
    return type(item) is f.Subscript and type(item.index) is f.Const and render(item.base) == render(sample)


def methods_taken(analysis: Analysis, module: ModuleInfo) -> tuple[str, ...]:
    """The methods that a file takes for collators, also by way of a name: `collate = data.collate`."""
    return analysis.collating.find(module.path, lambda: tuple(sorted(_methods(module))), ())


def _methods(module: ModuleInfo) -> set[str]:
    found: set[str] = set()
    for function, calls in module.calls():
        taken = [value for call in calls for keyword, value in call.keywords if keyword in _KEYWORDS]
        names = {value.id for value in taken if type(value) is f.Name}
        body = statements(function.body) if function is not None and names else ()
        kept = [s.value for s in body if type(s) is f.Assign and names & {place_name(t) for t in s.targets}]
        found |= {value.attr for value in (*taken, *kept) if type(value) is f.Attr}
    return found


def _made(method: FunctionInfo, field: str) -> list[f.Expr | None]:
    """What a method puts into the dicts that it writes out, or later, under a key."""
    key = f.Const(repr(field))
    displays = [d for d in walk(method.body) if type(d) is f.DictDisplay]
    written: list[f.Expr | None] = [v for d in displays for k, v in zip(d.keys, d.values, strict=True) if k == key]
    for s in statements(method.body):
        if type(s) is f.Assign and any(type(t) is f.Subscript and t.index == key for t in s.targets):
            written.append(s.value)
    return written


def _is_as_long(method: FunctionInfo, made: f.Expr | None) -> bool:
    """Whether a tensor has as many columns as a setting says: `torch.ones(n, self.max_length) * self.pad_id`."""
    if type(made) is f.Op and made.kind == "Mult":
        made = next((o for o in made.operands if type(o) is f.Call), None)
    if type(made) is not f.Call or last_name(made.func) not in _MAKES or not made.args:
        return False
    sizes = made.args[0].elements if type(made.args[0]) is f.Sequence else made.args
    own = method.parameters[0].name if method.parameters else ""
    assigned = [s for s in statements(method.body) if type(s) is f.Assign]

    def is_setting(size: f.Expr) -> bool:
        if type(size) is f.Name:
            values = [s.value for s in assigned if size.id in map(place_name, s.targets)]
            return len(values) == 1 and type(values[0]) is f.Attr and root_name(values[0]) == own
        return type(size) is f.Const or (type(size) is f.Attr and root_name(size) == own)

    return len(sizes) > 1 and all(map(is_setting, sizes[1:]))


def only_stacks(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether all collators that a file names stack."""
    return analysis.stacking.find(module.path, lambda: _only_stacks(module), False)


def _only_stacks(module: ModuleInfo) -> bool:
    named = [
        _of_library(module, value)
        for _, calls in module.calls()
        for call in calls
        for keyword, value in call.keywords
        if keyword in _KEYWORDS
    ]
    return bool(named) and _STACKS.issuperset(named)


def _of_library(module: ModuleInfo, expr: f.Expr) -> str:
    """The last name of what a library gives, "" for anything else."""
    root, dot, rest = dotted_name(expr).partition(".")
    full = module.imports.get(root, ("", False))[0] + dot + rest
    return last_name(expr) if full.partition(".")[0] in ("torch", "transformers") else ""
