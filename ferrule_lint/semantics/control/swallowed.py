"""Exceptions that a `with` block swallows: `contextlib.suppress(...)`, an `__exit__` that returns True, a
`contextmanager` that catches what its `yield` raises.

Each is a `try` around the block, with a handler that does nothing. What an `__exit__` asks beside the exception's type
(`return self.lenient`) is not followed.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import called_name, last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: any exception, as a handler without a type has it
_ANY = f.Name("BaseException", (0, 0, 0, 0))


def by_suppress(s: f.With) -> f.Expr | None:
    """What `with contextlib.suppress(...)` catches."""
    expr = s.items[0][0]
    if len(s.items) != 1 or type(expr) is not f.Call or last_name(expr.func) != "suppress" or not expr.args:
        return None
    return expr.args[0] if len(expr.args) == 1 else f.Sequence("tuple", expr.args)


def by_exit(frame: Frame, leave: FunctionInfo) -> f.Expr | None:
    """What `__exit__` catches, where it returns True for all exceptions, or for those of a class."""
    if leave.is_generator or len(leave.parameters) < 2:
        return None
    asked = {p.name for p in leave.parameters[1:3]}
    returns = [s for s in statements(leave.body) if type(s) is f.Return]
    kept = [s for s in returns if s.value not in (None, f.Const("None"), f.Const("False"))]
    if len(kept) != 1:
        return None
    value = kept[0].value
    if value != f.Const("True"):
        return _named(frame, leave, _asked_for(value, asked)) if len(returns) == 1 else None
    if leave.body[-1] is kept[0]:
        return _ANY if len(returns) == 1 else None
    around = [s for s in leave.body if type(s) is f.If and kept[0] in s.body]
    return _named(frame, leave, _asked_for(around[0].test, asked)) if around else None


def by_generator(frame: Frame, expr: f.Expr) -> list[f.Expr]:
    """What a function with the decorator `contextmanager` catches around its `yield`, and does not raise again, or only
    where a test says so (`if "out of memory" not in str(error): raise`)."""
    target = frame.ask(expr.func).target if type(expr) is f.Call else None
    function = target.function if type(target) is FunctionTarget else None
    if function is None or not function.is_context_manager:
        return []
    found = []
    for s in statements(function.body):
        if type(s) is f.Try and nodes(s.body, f.Yield):
            for handler in s.handlers:
                if any(map(_raises, handler.body)) or nodes(handler.body, f.Yield):
                    return []
                found.append(_ANY if handler.type is None else _named(frame, function, handler.type))
    return [caught for caught in found if caught is not None]


def _raises(s: f.Stmt) -> bool:
    """Whether a statement raises on every way that a test leaves open."""
    if type(s) is f.If:
        return any(map(_raises, s.body)) and any(map(_raises, s.orelse))
    return type(s) is f.Raise


def _asked_for(test: f.Expr | None, asked: set[str]) -> f.Expr | None:
    """The class of exceptions that a test lets in: `kind is ValueError`, `issubclass(kind, ValueError)`,
    `isinstance(error, ValueError)`, each also behind `kind is not None and`."""
    for part in _halves(test):
        asks = type(part) is f.Call and last_name(part.func) in ("issubclass", "isinstance") and len(part.args) == 2
        if type(part) is f.Call and asks and last_name(part.args[0]) in asked:
            return part.args[1]
        if type(part) is f.Compare and part.ops in (("is",), ("==",)) and last_name(part.left) in asked:
            return part.rights[0]
        if type(part) is f.Compare and part.ops == ("is not",) and part.rights == (f.Const("None"),):
            continue
        return None
    return None


def _halves(test: f.Expr | None) -> Iterator[f.Expr]:
    if type(test) is f.BoolOp and test.op == "and":
        yield from test.values
    elif test is not None:
        yield test


def _named(frame: Frame, function: FunctionInfo, caught: f.Expr | None) -> f.Expr | None:
    """A class of exceptions as it is named in another function: what is Python's own is called so in every file."""
    if caught is None or caught == f.Const("None"):
        return None
    parts = caught.elements if type(caught) is f.Sequence else (caught,)
    everywhere = all(hasattr(builtins, called_name(part)) for part in parts)
    return caught if everywhere or function.module is frame.module else None
