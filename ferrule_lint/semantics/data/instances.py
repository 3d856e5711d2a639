"""What `isinstance(x, C)` says of what the function itself has just made of a class of the project.

`if printer is None: printer = Printer()` in a call that hands it nothing: whatever stands under
`if not isinstance(printer, Printer)` is for other callers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.targets import ClassTarget

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.project.entities import ClassInfo
    from ferrule_lint.semantics.walk.frame import Frame


def told(frame: Frame, arguments: Arguments) -> bool | None:
    """Whether something is an instance of a class of the project; None: it may be or not."""
    if frame.light or len(arguments.expr.args) != 2 or len(arguments.positional) != 2:
        return None
    made, target = _class_of(frame, arguments.expr.args[0]), arguments.positional[1].target
    return _inherits(frame, made, target.info) if made is not None and type(target) is ClassTarget else None


def _class_of(frame: Frame, expr: f.Expr) -> ClassInfo | None:
    """The class of the project that a variable was last made an instance of, on every way to this line."""
    made = definition(frame, expr) if type(expr) is f.Name else None
    if type(made) is not f.Call:
        return None
    with frame.recording():
        target = frame.eval(made.func).target
    return target.info if type(target) is ClassTarget else None


def _inherits(frame: Frame, info: ClassInfo, asked: ClassInfo) -> bool | None:
    """Whether instances of a class are instances of another."""
    names = frame.analysis.names
    if any(base is asked for base in names.mro(info)):
        return True
    told_otherwise = any(base.rpartition(".")[2] in _NOT_BY_BASES for base in names.external_bases(asked))
    return None if told_otherwise else False


#: classes whose instances are told by what they can do, or that say so themselves
_NOT_BY_BASES = frozenset({"Protocol", "ABC"})
