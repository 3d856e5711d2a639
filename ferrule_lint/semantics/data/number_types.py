"""Which element type torch gives a number: `torch.tensor(0)` holds integers, `torch.tensor(0.5)` does not.

`best = 0`, `if rank == 0: best = right / seen`, and `torch.tensor(best)` on all ranks: one brings a float, the others
an integer. Nothing is raised: NCCL reads the bytes of one type as another, as many as each rank believes in.

Told are numbers that are written out, quotients, clocks, averages and what is named for something measured; of a
float's width nothing is said, since numpy's are wider than Python's.
https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of
from ferrule_lint.semantics.domain.targets import ExternalTarget, FunctionTarget, MethodTarget
from ferrule_lint.semantics.domain.text import called_name, last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Divergence, Value

WHOLE, TRUTH, PYTHON, FLOATING = "int64", "bool", "float32", "floating"
#: types of floats; `FLOATING` is any of them
FLOATS = frozenset({PYTHON, FLOATING, "float64", "float16", "bfloat16"})


class Number(NamedTuple):
    """The element type of a number, or why it is another one on some ranks."""

    dtype: str
    apart: Divergence | None = None


_WHOLE, _TRUTH, _PYTHON, _FLOATING = Number(WHOLE), Number(TRUTH), Number(PYTHON), Number(FLOATING)

#: functions that measure or compute: of modules, and as methods of tensors and arrays
_OF_MODULES = re.compile(
    r"time\.(time|perf_counter|monotonic|process_time)|timeit\.default_timer|math\.(sqrt|exp|log\w*|fsum|sin|cos|tanh|pow)|"
    r"statistics\.(f?mean|p?stdev|p?variance)|(numpy|torch)\.(mean|nanmean|std|var|average|median|sqrt|exp|log\w*|sigmoid|"
    r"tanh|softmax)"
)
_METHODS = frozenset("mean std var sqrt exp log sigmoid tanh softmax norm double half bfloat16".split())
_LOSS = re.compile(r"(\w+_)?loss", re.IGNORECASE)


def of(value: Value) -> Number | None:
    if value.const is not None:
        text = value.const.lstrip("-")
        if text in ("True", "False"):
            return _TRUTH
        return _WHOLE if text.isdigit() else _PYTHON if text[:1].isdigit() and "." in text else None
    return value.number


def of_size() -> Number:
    """How long a dimension is, or how many items there are."""
    return _WHOLE


def conflict(a: str, b: str) -> str:
    """What two element types certainly disagree about, in words."""
    if not a or not b or a == b or (FLOATING in (a, b) and {a, b} <= FLOATS):
        return ""
    return f"elements of {_WORDS.get(a, a)} against {_WORDS.get(b, b)}"


_WORDS = {FLOATING: "floating point"}


def of_operation(kind: str, values: Sequence[Value]) -> Number | None:
    """What an operator makes of numbers."""
    if kind == "Div":
        return _FLOATING
    if kind not in ("Add", "Sub", "Mult", "FloorDiv", "USub", "UAdd"):
        return None
    known = [of(v) for v in values]
    if any(n is not None and n.dtype in FLOATS for n in known) and not any(v.items for v in values):
        return _PYTHON if all(n is not None and n.dtype and n.dtype != FLOATING for n in known) else _FLOATING
    if any(n is None for n in known):
        return None
    apart = next((n.apart for n in known if n is not None and n.apart is not None), None)
    return _WHOLE if apart is None else Number("", apart)


def stepped(op: str, old: Value, new: Value, rounds: int) -> Number | None:
    """What `total += x` makes of a number: in a loop, whoever comes to no such round is one among many that do."""
    before = of(old)
    if rounds and op != "Div" and (before is None or before.dtype not in FLOATS):
        return None
    return of_operation(op, (old, new))


def after_call(e: f.Call, function: Value, result: Value) -> Value:
    """The result of a call with the type of number that it is, where the function tells."""
    known = _of_call(e, function)
    return result if known is None or result.const is not None else result._replace(number=known)


def _of_call(e: f.Call, function: Value) -> Number | None:
    target = function.target
    if type(target) is FunctionTarget:
        return None
    if type(target) is ExternalTarget:
        if target.dotted == "float":
            return _PYTHON
        if target.dotted in ("int", "len") or (target.dotted == "round" and len(e.args) == 1):
            return _WHOLE
        return _FLOATING if _OF_MODULES.fullmatch(target.dotted) else None
    name = last_name(e.func)
    if name in ("numel", "nelement") and type(e.func) is f.Attr:
        return _WHOLE
    if type(e.func) is not f.Attr or name not in ("item", "float", *_METHODS):
        return None
    if name == "item":
        held = of(target.receiver) if type(target) is MethodTarget else None
        return held or (_FLOATING if _LOSS.fullmatch(called_name(e.func.base)) else None)
    return _FLOATING


def of_name(target: f.Expr, source: f.Expr, value: Value) -> Value:
    """What a call of which nothing else is known is called when it is kept: `fid = evaluate(model)`."""
    if (
        type(source) is not f.Call
        or type(target) is not f.Name
        or value.number
        or value.const
        or value.items
        or value.types
    ):
        return value
    return value._replace(number=_FLOATING) if _MEASURED.fullmatch(target.id) else value


_MEASURED = re.compile(
    r"_?(\w+_)?(loss|fid|kid|psnr|ssim|lpips|bleu|rouge|wer|cer|ppl|perplexity|auc|auroc|f1|map|miou|accuracy)(_score)?",
    re.IGNORECASE,
)


def of_arms(formula: Formula, a: Value, b: Value, merged: Value) -> Value:
    """What two arms of a test leave in one place: a number, of another type on some ranks."""
    divergence = divergence_of(formula)
    if divergence is None or (merged.divergence is None and merged.data is None):
        return merged
    apart = _apart(of(a), of(b), divergence)
    return merged if apart is None else merged._replace(number=Number("", apart))


def of_returns(returned: Sequence[tuple[Value, tuple[Formula, ...]]], result: Value) -> Value:
    """The same of what a function returns at two places, of which ranks come to one each."""
    for value, conditions in returned:
        found = next((d for c in conditions if (d := divergence_of(c)) is not None), None)
        for other, _ in returned if found is not None and of(value) is not None else ():
            if found is not None and (apart := _apart(of(value), of(other), found)) is not None:
                return result._replace(number=Number("", apart))
    return result


def _apart(a: Number | None, b: Number | None, divergence: Divergence) -> Divergence | None:
    words = conflict(a.dtype, b.dtype) if a is not None and b is not None else ""
    return made_apart(divergence, words) if words else None


def made_apart(divergence: Divergence, words: str) -> Divergence:
    step = replace(divergence.why[-1], role="flow", note=f"the ranks make it differently: {words}")
    return divergence.then(step).at_most(Confidence.MEDIUM)


def of_content(values: Sequence[Value]) -> Number | None:
    """The type of a tensor of these numbers; a single float makes floats of all."""
    known = [of(v) for v in values]
    if any(n is not None and n.dtype in FLOATS for n in known):
        return _PYTHON if all(n is not None and n.dtype and n.dtype != FLOATING for n in known) else _FLOATING
    if not known or any(n is None for n in known):
        return None
    apart = next((n.apart for n in known if n is not None and n.apart is not None), None)
    if apart is not None:
        return Number("", apart)
    return _TRUTH if all(n == _TRUTH for n in known) else _WHOLE
