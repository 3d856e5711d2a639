"""What a tokenizer makes of texts: rows that are filled up to the longest of them, which is another one on each rank,
as many tokens as a text has, or rows of one size, filled up and cut to it.

https://huggingface.co/docs/transformers/pad_truncation
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data.selection import by_content
from ferrule_lint.semantics.domain.dependences import FLOWS, ITEM, SIZED, recast
from ferrule_lint.semantics.domain.joins import computed
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

#: also one of several: `tokenizer_2(texts)`, `tokenizers[0](texts)`
_TOKENIZER = re.compile(r"(\w+_)?(tokenizers?|processors?|processing_class)(_\d|_one|_two|_three)?")
_METHODS = frozenset({"pad", "batch_encode_plus", "apply_chat_template", "encode", "encode_plus"})
_TO_LONGEST = ("True", "'longest'", '"longest"')
_TO_SIZE = ("'max_length'", '"max_length"')
_UNCUT = ("False", "None", "'do_not_truncate'", '"do_not_truncate"')


def call(frame: Frame, arguments: Arguments) -> Value | None:
    """The tokens of the texts that a call is given, if it says how long they are; None if it does not."""
    e = arguments.expr
    padding = _given(e, "padding")
    if not arguments.positional or not _is_of_tokenizer(e):
        return None
    texts = computed(arguments.positional[:1])
    if padding is None and not arguments.is_open:
        return _as_long_as_the_text(frame, arguments, texts)
    if is_of_one_size(e):
        data = None if texts.data is None else texts.data._replace(sized=True)
        return Value(data=data, deps=recast(texts.deps, SIZED, FLOWS, ITEM))
    if type(padding) is not f.Const or padding.text not in _TO_LONGEST:
        return None
    if texts.data is None:
        return Value(deps=texts.deps, shape_deps=by_content(texts), uneven_last=True, uniform=texts.uniform)
    note = f"`{shown(e.func)}` fills up to the longest of the rank's own texts"
    shape = texts.data.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM)
    return Value(data=texts.data, shape=shape, uneven_last=True)


def makes_one_size(call: f.Call) -> bool:
    """Whether a call is one of a tokenizer that fills up to a length and cuts what is longer."""
    return bool(call.args) and _is_of_tokenizer(call) and is_of_one_size(call)


def _is_of_tokenizer(e: f.Call) -> bool:
    maker = e.func.base if type(e.func) is f.Attr and e.func.attr in _METHODS else e.func
    maker = maker.base if type(maker) is f.Subscript else maker
    return _TOKENIZER.fullmatch(last_name(maker)) is not None or _is_asked_like_one(e)


def _is_asked_like_one(e: f.Call) -> bool:
    """Whether a call says what it is by what it is asked for, whatever it is called: `tok(texts, padding="max_length",
    return_tensors="pt")`."""
    padding = _given(e, "padding")
    if type(padding) is not f.Const or padding.text not in (*_TO_LONGEST, *_TO_SIZE):
        return False
    return any(name in ("return_tensors", "truncation") for name, _ in e.keywords)


def is_of_one_size(e: f.Call) -> bool:
    """Whether a tokenizer fills up all texts to one size, and cuts them to it."""
    padding, cut = _given(e, "padding"), _given(e, "truncation")
    fills = type(padding) is f.Const and padding.text in _TO_SIZE
    return fills and type(cut) is f.Const and cut.text not in _UNCUT


def asks_to_fill_up(e: f.Call) -> bool:
    """Whether a call says how its texts are filled up: `padding="max_length"`, `padding=True`."""
    return _given(e, "padding") is not None


def _given(e: f.Call, name: str) -> f.Expr | None:
    return next((v for k, v in e.keywords if k == name), None)


def _as_long_as_the_text(frame: Frame, arguments: Arguments, texts: Value) -> Value | None:
    """Without padding there are as many tokens as the text has: in a list, or in the row of a tensor."""
    e = arguments.expr
    in_tensor = any(k == "return_tensors" for k, _ in e.keywords)
    in_list = type(e.func) is f.Attr and e.func.attr == "encode"
    if texts.data is None or not (in_tensor or in_list):
        return None
    note = f"`{shown(e.func)}` makes as many tokens as the rank's own text has"
    longer = texts.data.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM)
    if in_tensor:
        return Value(data=texts.data, shape=longer, uneven_last=True)
    return Value(data=texts.data, length=longer, there=True)
