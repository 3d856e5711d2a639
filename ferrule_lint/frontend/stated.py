"""Comments that state facts: `# ferrule: uniform`, `# ferrule: divergent`, `# ferrule: collective`.

A comment counts for the statement that it stands behind, or above: what an assignment binds and a `return` hands back,
the test of an `if` or `while`, the number of rounds of a `for`, the result of a `def`, or the parameter in whose line
it stands. `collective` says it of a call, of the function that an assignment binds, or of a `def`. See `facts.stated`
for what becomes of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from ferrule_lint.facts.stated import WORDS, marker
from ferrule_lint.facts.types import SuppressionComment
from ferrule_lint.frontend.suppressions import Comment, LogicalLine, scanned

_PRESENT = re.compile(rb"#\s*ferrule(?:-lint)?:\s*(?:uniform|divergent|collective)\b")
_STATED = re.compile(rf"(?:^|(?<=\s))#\s*ferrule(?:-lint)?:\s*(?P<word>{'|'.join(WORDS)})\b(?P<codes>\s*\[)?")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def state(source: bytes, tree: ast.Module) -> tuple[SuppressionComment, ...]:
    """Write what the comments of a file state into its tree. Those that speak of nothing are handed back."""
    if not _PRESENT.search(source):
        return ()
    lines, comments = scanned(source)
    statements: dict[int, list[ast.stmt]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            statements.setdefault(node.lineno, []).append(node)
            for decorator in getattr(node, "decorator_list", ()):
                statements.setdefault(decorator.lineno, []).append(node)
    return tuple(_faults(comments, lines, statements))


def _faults(
    comments: list[Comment], lines: list[LogicalLine], statements: Mapping[int, list[ast.stmt]]
) -> Iterator[SuppressionComment]:
    for comment in comments:
        for match in _STATED.finditer(comment.text):
            word = match["word"]
            if match["codes"]:
                problem = f"`{word}` is said of code, not of a rule"
            elif comment.index >= len(lines):
                problem = "there is no code below it"
            else:
                line = lines[comment.index]
                said = [_say(word, s, comment, line) for s in statements.get(line.first, ())]
                within = line.first < comment.line < line.last
                problem = "" if any(said) else _WITHIN if within else _NOTHING[word]
            if problem:
                row, column, end = comment.line, comment.column + match.start(), comment.column + match.end()
                yield SuppressionComment("misplaced", "", row, column, end, row, row, problem)


_WITHIN = "it stands within a statement: write it behind its end, or above it"
_NOTHING = {
    "uniform": "it stands at no assignment, `return`, `if`, `while`, `for`, `def` or parameter",
    "divergent": "it stands at no assignment, `return`, `if`, `while`, `for`, `def` or parameter",
    "collective": "it stands at no call, `def`, or assignment of a function",
}


def _say(word: str, s: ast.stmt, comment: Comment, line: LogicalLine) -> bool:
    """Put a marker around what a statement has for a comment; False if it has nothing."""
    within = line.first < comment.line < line.last
    if isinstance(s, _Function):
        return _of_parameters(word, s, comment.line) if within else _of_function(word, s, comment, line)
    if within:
        return False  # that is about one of its parts
    if word == "collective":
        return _of_call(s)
    if isinstance(s, ast.If | ast.While):
        s.test = _marked(word, s.test)
    elif isinstance(s, ast.For | ast.AsyncFor):
        s.iter = _marked(word, s.iter)
    elif isinstance(s, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return) and s.value is not None:
        s.value = _marked(word, s.value)
    else:
        return False
    return True


def _of_function(word: str, s: _Function, comment: Comment, line: LogicalLine) -> bool:
    if word == "collective":
        name = ast.copy_location(ast.Constant(s.name), s)
        s.body.insert(0, ast.copy_location(ast.Expr(_marked(word, name)), s))
    elif line.first == line.last or comment.line != line.first or not _of_parameters(word, s, comment.line):
        s.decorator_list.append(ast.copy_location(ast.Name(marker(word), ast.Load()), s))
    return True


def _of_parameters(word: str, s: _Function, line: int) -> bool:
    """What the function is passed for the parameters in a line of its header, as if its body began with assignments."""
    named = [p for p in (*s.args.posonlyargs, *s.args.args, *s.args.kwonlyargs) if p.lineno == line]
    if word == "collective":
        return False
    for parameter in named:
        target = ast.copy_location(ast.Name(parameter.arg, ast.Store()), parameter)
        value = _marked(word, ast.copy_location(ast.Name(parameter.arg, ast.Load()), parameter))
        s.body.insert(0, ast.copy_location(ast.Assign([target], value), parameter))
    return bool(named)


def _of_call(s: ast.stmt) -> bool:
    """A call that is a collective, or a name for a function that is one."""
    if not isinstance(s, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return) or s.value is None:
        return False
    called = s.value.value if isinstance(s.value, ast.Await) else s.value
    if isinstance(called, ast.Call):
        s.value = _marked("collective", s.value)
        return True
    if isinstance(s, ast.Expr | ast.Return) or not isinstance(called, ast.Name | ast.Attribute):
        return False
    every = ast.arguments([], [], ast.arg("args"), [], [], ast.arg("kwargs"), [])
    for argument in (every.vararg, every.kwarg):
        assert argument is not None
        ast.copy_location(argument, called)
    body = ast.copy_location(ast.Constant(ast.unparse(called)), called)
    s.value = ast.copy_location(ast.Lambda(every, _marked("collective", body)), called)
    return True


def _marked(word: str, expr: ast.expr) -> ast.expr:
    function = ast.copy_location(ast.Name(marker(word), ast.Load()), expr)
    return ast.copy_location(ast.Call(function, [expr], []), expr)
