"""What is used come what may: where it is missing, the way that goes on without it ends in an exception.

`if x is None: skip()` says that `x` may be missing. If what follows takes an attribute or item of `x` all the same,
with no test and no way out before, then no rank gets through without one, and so none goes on in silence.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, way_to
from ferrule_lint.semantics.domain.assigned import bound
from ferrule_lint.semantics.domain.text import variables

_EXITS = (f.Return, f.Raise, f.Break, f.Continue, f.Yield)


def from_the_start(body: f.Body, name: str) -> bool:
    """Whether a function uses its parameter on every way through it."""
    return _uses(body, name) is True


def after(body: f.Body, pos: f.Pos, name: str) -> bool:
    """Whether what a function does after the statement at a place uses a variable on every way. The statement itself
    may assign it what it makes of it."""
    for depth, (block, i) in enumerate(reversed(way_to(body, pos))):
        own = block[i]
        if depth > 0 and type(own) not in (f.If, f.With):
            return False  # another round, or a handler, may be next
        if depth == 0 and type(own) is f.If and (_leaves(own) or name in bound((own,))):
            return False
        found = _uses(block[i + 1 :], name)
        if found is not None:
            return found
    return False


def behind(body: f.Body, s: f.Try, handler: f.Handler) -> bool:
    """Whether what a handler sets to None is used on every way behind its `try`, so that a rank that went through it
    fails there: `except Exception: x = None` before `x.shape`."""
    return any(after(body, (s.line, 1, s.line, 1), name) for name in _set_to_none(handler.body))


def _set_to_none(body: f.Body) -> Iterator[str]:
    """The variables that a block leaves as None, each of them or several at once."""
    for s in body:
        if type(s) is not f.Assign or s.value is None:
            continue
        for target in s.targets:
            pairs = [(target, s.value)]
            if type(target) is f.Sequence and type(s.value) is f.Sequence:
                pairs = list(zip(target.elements, s.value.elements, strict=False))
            yield from (t.id for t, v in pairs if type(t) is f.Name and v == f.Const("None"))


def _uses(block: f.Body, name: str) -> bool | None:
    """Whether a block surely uses a variable; None if nothing in it decides that."""
    for s in block:
        if type(s) in (f.FunctionDef, f.ClassDef):
            continue
        if any(_takes_part(e, name) for e in _heads(s)):
            return True
        if type(s) is f.With and (inner := _uses(s.body, name)) is not None:
            return inner
        if _leaves(s) or name in bound((s,)) or (type(s) is f.If and name in variables(s.test)):
            return False
    return None


def _heads(s: f.Stmt) -> Iterator[object]:
    """What a statement evaluates in any case."""
    if type(s) in (f.If, f.While):
        yield s.test  # type: ignore[union-attr]
    elif type(s) is f.For:
        yield s.iterable
    elif type(s) is f.With:
        yield s.items
    elif type(s) is not f.Try:
        yield s


def _takes_part(node: object, name: str) -> bool:
    """Whether an expression surely takes an attribute or item of a variable (`x.shape`, `x[0]`)."""
    stack = [node]
    while stack:
        item = stack.pop()
        if not isinstance(item, tuple):
            continue
        base = item.base if type(item) is f.Attr or type(item) is f.Subscript else None
        if type(base) is f.Name and base.id == name:
            return True
        if type(item) is f.BoolOp:
            stack.append(item.values[0])
        elif type(item) is f.IfExp:
            stack.append(item.test)
        elif type(item) is f.Comprehension:
            stack.append(item.generators[0].iterable)
        elif type(item) is not f.Lambda:
            stack.extend(item)
    return False


def _leaves(s: f.Stmt) -> bool:
    return any(type(inner) in _EXITS for inner in statements((s,)))
