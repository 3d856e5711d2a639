"""Files of which it is known whether they are there: what a function has just found, and what is named after this very
second.

`path = find_checkpoint(folder)` and then `if not os.path.exists(path): return`, where `find_checkpoint` hands back
nothing but a path that it has looked for; `if os.path.exists(log_file): return`, where the name of the log begins with
the time at which the job has started.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import WITH_BLOCKS, blocks, stands_in, statements, walk
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import called_name, last_name, place_name, render
from ferrule_lint.semantics.walk.frame import Frame

_TESTS = frozenset({"exists", "lexists", "isfile", "isdir", "is_file", "is_dir"})
#: names that are looked up for what a path is made of
_MOST_NAMES = 6
#: a statement that assigns something, and the tests that it stands under
_Assigned = tuple[f.Assign, frozenset[str]]


def is_there(frame: Frame, expr: f.Expr) -> bool | None:
    """Whether a file that is looked for is there, or is not; None if nobody knows."""
    if type(expr) is not f.Call or last_name(expr.func) not in _TESTS or frame.function is None:
        return None
    path = _path_of(expr)
    if path is None:
        return None
    if _is_found(frame, definition(frame, path)):
        return True
    return False if _is_of_now(frame.function.body, expr, path) else None


def _path_of(test: f.Call) -> f.Expr | None:
    """What a test asks for: `exists(path)`, `path.exists()`, `Path(path).exists()`."""
    path = test.args[0] if test.args else test.func.base if type(test.func) is f.Attr else None
    if type(path) is f.Call and called_name(path) == "Path" and len(path.args) == 1:
        return path.args[0]
    return path


def _is_found(frame: Frame, made: f.Expr) -> bool:
    """Whether a path comes from a function of the project that hands back paths only under a test that they exist."""
    if type(made) is not f.Call:
        return False
    with frame.recording():
        target = frame.eval(made.func).target
    if type(target) is not FunctionTarget:
        return False
    body = target.function.body
    handed_back = [s.value for s in statements(body) if type(s) is f.Return and s.value not in (None, f.Const("None"))]
    found = [s.value for block, path in _under_tests(body) for s in block if type(s) is f.Return and _is(s.value, path)]
    return bool(handed_back) and len(found) == len(handed_back)


def _under_tests(body: f.Body) -> Iterator[tuple[f.Body, str]]:
    """The blocks that only who finds a file comes to, with its path."""
    for s in statements(body):
        if type(s) is f.If and type(s.test) is f.Call and last_name(s.test.func) in _TESTS:
            path = _path_of(s.test)
            if path is not None:
                yield s.body, render(path)


def _is(value: f.Expr | None, path: str) -> bool:
    return value is not None and render(value) == path


def _is_of_now(body: f.Body, test: f.Call, path: f.Expr) -> bool:
    """Whether the name of a file says the second in which the program runs."""
    around = next((g for s, g in _guarded(body, frozenset()) if type(s) is f.If and stands_in(test, s.test)), None)
    if around is None:
        return False
    assigned = [(s, g) for s, g in _guarded(body, frozenset()) if type(s) is f.Assign]
    return _is_fresh(assigned, path, test.pos[0], around, _MOST_NAMES)


def _is_fresh(assigned: list[_Assigned], expr: f.Expr, line: int, around: frozenset[str], names: int) -> bool:
    """Whether a text that is put together has the time in it, on every way to a line."""
    if any(_tells_second(node) for node in walk((expr,))):
        return True
    places = {place_name(node) for node in walk((expr,)) if type(node) is f.Name or type(node) is f.Attr} - {""}
    return names > 0 and any(_is_set_to_now(assigned, place, line, around, names - 1) for place in sorted(places))


def _is_set_to_now(assigned: list[_Assigned], place: str, line: int, around: frozenset[str], names: int) -> bool:
    before = [(s, g) for s, g in assigned if s.line < line and any(place_name(t) == place for t in s.targets)]
    sure = max((i for i, (_, guards) in enumerate(before) if guards <= around), default=None)
    if sure is None:
        return False
    return all(s.value is not None and _is_fresh(assigned, s.value, s.line, around, names) for s, _ in before[sure:])


def _tells_second(node: object) -> bool:
    """`datetime.now().strftime("%Y%m%d-%H%M%S")`"""
    if type(node) is not f.Call or last_name(node.func) != "strftime":
        return False
    return any(type(a) is f.Const and "%S" in a.text for a in node.args)


def _guarded(body: f.Body, guards: frozenset[str]) -> Iterator[tuple[f.Stmt, frozenset[str]]]:
    """The statements of a function in their order, with the tests that hold there; of an `if` its own as well."""
    for s in body:
        if type(s) is f.If:
            parts = s.test.values if type(s.test) is f.BoolOp and s.test.op == "and" else (s.test,)
            own = guards | frozenset(map(render, parts))
            yield s, own
            yield from _guarded(s.body, own)
            yield from _guarded(s.orelse, guards | {f"not {render(s.test)}"})
            continue
        yield s, guards
        if type(s) in WITH_BLOCKS:
            for block in blocks(s):
                yield from _guarded(block, guards if type(s) is f.With else guards | {f"block at {s.line}"})
