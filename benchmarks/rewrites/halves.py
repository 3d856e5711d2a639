"""Rewrites that cut a function in two: what it begins with, or the rest of it, in a function of its own.

Nothing is decided in the function that is left: what is known of a value has to be handed out, or in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from rewrites.base import (
    Rewrite,
    block_of,
    by,
    code_of,
    function_of,
    is_entry,
    leaves,
    local_names,
    names_bound,
    names_read,
    statement,
    statements_of,
)  # fmt: skip

#: what cannot be read of a part alone
_BOUND_TO_ITS_PLACE = (
    "yield",
    "await",
    "nonlocal ",
    "global ",
    "super()",
    "locals()",
    "import ",
    "def ",
    "class ",
    "lambda",
)
#: a function, and the one that has the other part of it
_Halves = tuple[cst.FunctionDef, cst.FunctionDef]


class Halved(cst.CSTTransformer):
    """Each function of the module, and each method, in two: `halve` makes both of one, or nothing."""

    def __init__(self, halve: Callable[[cst.FunctionDef, str, bool], _Halves | None]) -> None:
        self._halve = halve
        self._number = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False  # what is nested stays where it is

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        if not isinstance(updated_node.body, cst.IndentedBlock):
            return updated_node
        return updated_node.with_changes(body=block_of(self._halved(updated_node.body.body, True)))

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        return updated_node.with_changes(body=self._halved(updated_node.body, False))

    def _halved(self, body: Sequence[cst.BaseStatement], methods: bool) -> list[cst.BaseStatement]:
        made: list[cst.BaseStatement] = []
        for node in body:
            if isinstance(node, cst.FunctionDef) and node.asynchronous is None and _is_plain(node, methods):
                halves = self._halve(node, f"_part_{self._number + 1}", methods)
                if halves is not None:
                    self._number += 1
                    made += [halves[1], halves[0]]
                    continue
            made.append(node)
        return made


def _is_plain(node: cst.FunctionDef, method: bool) -> bool:
    first = node.params.params[0].name.value if node.params.params else ""
    return not method or (first == "self" and not node.decorators and not node.name.value.startswith("__"))


def _cut(node: cst.FunctionDef) -> tuple[list[cst.BaseStatement], list[cst.BaseStatement]] | None:
    """The two halves of a body; None where they cannot be told apart."""
    body = statements_of(node.body)
    if len(body) < 2 or any(isinstance(s, cst.If) and is_entry(s) for s in body):
        return None
    at = len(body) // 2
    halves = body[:at], body[at:]
    text = "".join(code_of(s) for s in body)
    return None if any(word in text for word in _BOUND_TO_ITS_PLACE) else halves


def _function(node: cst.FunctionDef, name: str, given: Sequence[str], body: list[cst.BaseStatement]) -> cst.FunctionDef:
    """The other half; what it is handed of the parameters has their annotations."""
    told = {
        parameter.name.value: f"{parameter.name.value}: {code_of(parameter.annotation.annotation)}"
        for parameter in (*node.params.params, *node.params.kwonly_params)
        if parameter.annotation is not None
    }
    return function_of(name, ", ".join(told.get(one, one) for one in given), body)


def _given(body: list[cst.BaseStatement], known: set[str], method: bool) -> list[str]:
    """What a part reads of the function's own; the instance first."""
    given = [name for name in names_read(body) if name in known]
    return ["self", *(name for name in given if name != "self")] if method else given


def _parameters(node: cst.FunctionDef) -> set[str]:
    return local_names(node.with_changes(body=block_of([])))


def _called(name: str, given: Sequence[str], method: bool) -> str:
    return f"self.{name}({', '.join(given[1:])})" if method else f"{name}({', '.join(given)})"


def _rest(node: cst.FunctionDef, name: str, method: bool) -> _Halves | None:
    """`a = f(x); return g(a)` becomes `a = f(x); return rest(a)`."""
    cut = _cut(node)
    if cut is None:
        return None
    head, tail = cut
    given = _given(tail, _parameters(node) | names_bound(head), method)
    call = statement(f"return {_called(name, given, method)}\n")
    return node.with_changes(body=block_of([*head, call])), _function(node, name, given, tail)


def _beginning(node: cst.FunctionDef, name: str, method: bool) -> _Halves | None:
    """`a = f(x); return g(a)` becomes `a = beginning(x); return g(a)`, where nothing leaves before."""
    cut = _cut(node)
    if cut is None or leaves(cut[0]):
        return None
    head, tail = cut
    made = [n for n in names_read(tail) if n in names_bound(head)]
    if not made:
        return None
    given = _given(head, _parameters(node), method)
    out = ", ".join(made)
    call = statement(f"{out} = {_called(name, given, method)}\n")
    part = _function(node, name, given, [*head, statement(f"return {out}\n")])
    return node.with_changes(body=block_of([call, *tail])), part


REWRITES = [
    Rewrite("rest", "the second half of a function in one of its own", by(lambda: Halved(_rest))),
    Rewrite("beginning", "the first half of a function in one of its own", by(lambda: Halved(_beginning))),
]
