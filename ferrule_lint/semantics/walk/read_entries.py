"""Entries of a dict that are read: who asks for one that was never made fails, so whoever goes on has it.

if "images" in data:
    batch["images"] = data["images"].cuda()
    sizes = torch.tensor(batch["images"].size())
...
if sizes.sum() > 0:
    share(batch["images"])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import called_name, dotted_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: methods of tensors that hand back a tensor
_OF_TENSORS = frozenset(
    "cuda cpu to clone detach contiguous float half bfloat16 double long int bool type view reshape flatten squeeze "
    "unsqueeze expand repeat transpose permute".split()
)


def made(frame: Frame, place: str, e: f.Subscript, known: Value) -> Value:
    """An entry that is read as it is, of a dict of this function, which makes it a tensor wherever it sets it."""
    if known.presence is None or frame.function is None or "." in place or type(e.index) is not f.Const:
        return known
    sure = frame.analysis.bodies.once(_is_made, frame.function.body, place, e.index, e.pos[0])
    return known._replace(presence=None) if sure else known


def _is_made(body: f.Body, place: str, key: f.Const, line: int) -> bool:
    before = [s for s in statements(body) if type(s) is f.Assign and (s.line < line or _is_in_loop(body, line))]
    begun = [s.value for s in before if any(_is_name(t, place) for t in s.targets)]
    if not begun or not all(type(value) is f.DictDisplay and None not in value.keys for value in begun):
        return False
    entries = [v for d in begun if type(d) is f.DictDisplay for k, v in zip(d.keys, d.values, strict=True) if k == key]
    stored = [s.value for s in before if any(_is_entry(t, place, key) for t in s.targets)]
    return bool(stored) and all(map(_is_tensor, (*entries, *stored)))


def _is_in_loop(body: f.Body, line: int) -> bool:
    loops = (s for s in statements(body) if type(s) is f.For or type(s) is f.While)
    return any(loop.line < line <= max(s.line for s in statements(loop.body)) for loop in loops)


def _is_entry(target: f.Expr, place: str, key: f.Const) -> bool:
    return type(target) is f.Subscript and target.index == key and _is_name(target.base, place)


def _is_name(expr: f.Expr, name: str) -> bool:
    return type(expr) is f.Name and expr.id == name


def _is_tensor(expr: f.Expr | None) -> bool:
    if type(expr) is not f.Call or type(expr.func) is not f.Attr:
        return False
    return called_name(expr) in _OF_TENSORS or dotted_name(expr.func.base) == "torch"
