"""What is never run in a call because of what its arguments fix: the rest of a block behind `if flag: return` where
True is passed for `flag`, or behind a method of a parameter for which nothing was passed, and which is None. And of any
arguments: behind a call that the function's own definition does not take.

Tests that are known for another reason do not count: that the process group is initialised is only taken to be so, and
what is made where it is not is of interest.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.text import is_open
from ferrule_lint.semantics.domain.trace import Exit, ends
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.kept_tests import spelled_out


def rest_of_block(frame: Frame, statement: f.Stmt, before: int) -> bool:
    """Whether nothing after a statement of a block runs; `before`: how many terms there were before it."""
    if len(frame.terms) == before or frame.function is None:
        return False
    if type(statement) is f.If:
        return _fixed(frame, spelled_out(frame, statement.test)) and ends(tuple(frame.terms[before:]))
    if type(statement) in (f.ExprStmt, f.Assign, f.AugAssign):
        return any(type(term) is Exit for term in frame.terms[before:])
    return False


def of_nothing(frame: Frame, func: f.Expr) -> None:
    """A method of a parameter that is None in this call is an exception, on every rank that comes here."""
    while type(func) is f.Attr:
        func = func.base
        if type(func) is f.Name and not frame.attempts and _constant(frame, func) == "None":
            frame.emit(Exit("raise", func.pos[0]))


def of_other_arguments(frame: Frame, function: FunctionInfo, call: f.Call) -> bool:
    """A call without an argument that the function needs is an exception, on every rank that comes here: it was
    written for the function as it once was. In a `try` its handler is come to by all of them, and nobody by what is in
    the function."""
    if frame.light or not _lacks_one(function, call) or not _is_told(frame, function, call):
        return False
    if not frame.attempts:
        frame.emit(Exit("raise", call.pos[0]))
    return True


def _is_told(frame: Frame, function: FunctionInfo, call: f.Call) -> bool:
    """Whether it is certain that a call is of this definition, and how it takes its arguments."""
    if function.owner is not None or function.parent is not None or function.decorators or is_test(frame.module.path):
        return False
    if frame.analysis.names.resolve(call.func, frame.module) is not function.origin:
        return False
    name, home = function.name, function.module
    # defined in two ways, taken from elsewhere where that is there, or wrapped in something afterwards
    others = f"{name}@2" in home.functions or name in home.imports or home.assigned(name) or home.rebinders(name)
    return not others and not (type(call.func) is f.Name and frame.module.assigned(call.func.id))


def _lacks_one(function: FunctionInfo, call: f.Call) -> bool:
    """Whether a call passes nothing for a parameter that has no default."""
    if is_open(call):
        return False
    normal = [p for p in function.parameters if p.kind == "normal"]
    named = {name for name, _ in call.keywords}
    left = [*normal[len(call.args) :], *(p for p in function.parameters if p.kind == "keyword")]
    return any(p.default is None and p.name not in named for p in left)


def _constant(frame: Frame, name: f.Name) -> str | None:
    """What the arguments fix a parameter to, where nothing else was assigned to it."""
    if frame.function is None or frame.version(name.id) or name.id not in {p.name for p in frame.function.parameters}:
        return None
    value = frame.env.get(name.id)
    return value.const if value is not None else None


def _fixed(frame: Frame, test: f.Expr) -> bool:
    """Whether a test asks for nothing but parameters that the arguments fix."""
    if type(test) is f.Name:
        return _constant(frame, test) is not None
    if type(test) is f.Not:
        return _fixed(frame, test.operand)
    if type(test) is f.BoolOp:
        decides = test.op == "or"  # `if not agree or not is_initialized():`, called with `agree=False`
        return all(_fixed(frame, v) for v in test.values) or any(_outcome(frame, v) is decides for v in test.values)
    if type(test) is f.Compare:
        operands = [x for x in (test.left, *test.rights) if type(x) is not f.Const]
        return bool(operands) and all(_fixed(frame, x) for x in operands)
    return False


def _outcome(frame: Frame, test: f.Expr) -> bool | None:
    """What a test of a parameter comes out as, where the arguments fix it to True, False or None."""
    if type(test) is f.Name:
        return {"True": True, "False": False, "None": False}.get(_constant(frame, test) or "")
    if type(test) is f.Not:
        outcome = _outcome(frame, test.operand)
        return None if outcome is None else not outcome
    return None
