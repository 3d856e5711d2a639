"""What a test asks, told from its text: whether the code it decides about can run where the answer is no."""

from __future__ import annotations

import re
from typing import Literal

import libcst as cst

from ferrule_lint.fixes.names import below
from ferrule_lint.fixes.tree import Tree

#: "value": of tensors that are there in any case; "size": whether there is anything; "presence": whether an input is
Asks = Literal["value", "bad value", "size", "presence", "clock", "ready", "file", "rank", "truth", "other"]

_FILE = re.compile(r"\b(exists|isfile|isdir|is_file|is_dir|islink|glob|iterdir|listdir|scandir|stat|getmtime|access)\(")
_CLOCK = re.compile(r"\b(time|perf_counter|monotonic|now|utcnow|elapsed)\w*\(")
_RANK = re.compile(r"rank|is_main_process|is_master|is_global_zero|process_index|is_root|is_last_process|is_local_main")
_READY = re.compile(r"\.(done|is_completed|ready|poll)\(\)|\.is_ready(_async)?\(")
_BAD = re.compile(r"\b(isnan|isinf|isfinite)\(")
_SIZE = re.compile(r"\b(numel|len|size|nelement|dim)\(|\.shape\b|\.nbytes\b")
_VALUE = re.compile(r"\.(any|all|item|sum|max|min|mean|norm|count_nonzero|tolist|equal)\(|\bany\(|\ball\(")
_PRESENCE = re.compile(r"\bis (not )?None\b|\bisinstance\(|\bhasattr\(|\.get\(")


def asks(tree: Tree, test: cst.BaseExpression) -> Asks:
    """What one term of a condition asks."""
    text = tree.text(test)
    if isinstance(test, cst.Name | cst.Attribute) or _is_bool_of_name(test):
        return "rank" if _RANK.search(text) else "truth"
    if _PRESENCE.search(text) or any(isinstance(one, cst.In | cst.NotIn) for one in below(test)):
        return "presence"
    found: list[tuple[re.Pattern[str], Asks]] = [
        (_FILE, "file"),
        (_RANK, "rank"),
        (_CLOCK, "clock"),
        (_READY, "ready"),
        (_BAD, "bad value"),
        (_VALUE, "value"),
        (_SIZE, "size"),
    ]
    for pattern, answer in found:
        if pattern.search(text):
            return answer
    return "other"


def says_done(tree: Tree, test: cst.BaseExpression) -> bool:
    """Whether a test is true of what has nothing left to do: `mask.sum() == 0`, `not mask.any()`, `not (left > 0)`,
    `reached.all()`."""
    test = without_bool(test)
    if isinstance(test, cst.Comparison):
        return _with_zero(test, cst.Equal)
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = without_bool(test.expression)
        if isinstance(inner, cst.Comparison):
            return _with_zero(inner, cst.GreaterThan, cst.NotEqual)
        return re.search(r"\bany\(.*\)$", tree.text(inner), re.DOTALL) is not None
    return re.search(r"\ball\(.*\)$", tree.text(test), re.DOTALL) is not None


def says_bad(text: str) -> bool:
    """Whether a term is true of a bad value: `isnan(x)` is, and `not isfinite(x)`."""
    negated = text.startswith(("not ", "~")) or "~" in text
    return negated if "isfinite(" in text else not negated


def _with_zero(test: cst.Comparison, *operators: type[cst.BaseCompOp]) -> bool:
    """Whether a test compares with zero, in one of these ways."""
    only = test.comparisons[0]
    zero = isinstance(only.comparator, cst.Integer) and only.comparator.evaluated_value == 0
    return len(test.comparisons) == 1 and zero and isinstance(only.operator, operators)


def _is_bool_of_name(test: cst.BaseExpression) -> bool:
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return isinstance(test.expression, cst.Name | cst.Attribute)
    inner = without_bool(test)
    return inner is not test and isinstance(inner, cst.Name | cst.Attribute)


def without_bool(test: cst.BaseExpression) -> cst.BaseExpression:
    """`x` of `bool(x)`."""
    while (
        isinstance(test, cst.Call)
        and isinstance(test.func, cst.Name)
        and test.func.value == "bool"
        and len(test.args) == 1
        and test.args[0].keyword is None
        and not test.args[0].star
    ):
        test = test.args[0].value
    return test


class _Normal(cst.CSTTransformer):
    """A test without `bool(...)`, with names of comprehension variables by their order."""

    def __init__(self) -> None:
        super().__init__()
        self.renamed: dict[str, str] = {}

    def visit_CompFor(self, node: cst.CompFor) -> bool:
        if isinstance(node.target, cst.Name):
            self.renamed.setdefault(node.target.value, f"_{len(self.renamed)}")
        return True

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        return without_bool(updated_node)


class _Rename(cst.CSTTransformer):
    def __init__(self, renamed: dict[str, str]) -> None:
        super().__init__()
        self.renamed = renamed

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        new = self.renamed.get(updated_node.value)
        return updated_node if new is None else updated_node.with_changes(value=new)


def normal(test: cst.BaseExpression) -> str:
    """The text of a test, the same for tests that ask the same in other words: `bool(m.any())` and `m.any()`."""
    collect = _Normal()
    plain = test.visit(collect)
    assert isinstance(plain, cst.BaseExpression)
    renamed = plain.visit(_Rename(collect.renamed))
    assert isinstance(renamed, cst.BaseExpression)
    # an empty tuple, and a generator, are nothing without theirs
    needed = isinstance(renamed, cst.Tuple | cst.GeneratorExp)
    bare = renamed.with_changes(lpar=[], rpar=[]) if getattr(renamed, "lpar", ()) and not needed else renamed
    return " ".join(cst.Module([]).code_for_node(bare).split())
