"""Back ends that a program refuses: `assert accelerator.distributed_type != DistributedType.FSDP`.

Who speaks of a back end to say that it is not supported does not mean to be run under it. A file whose only words on
back ends are such tests says as much about them as one that never heard of any. So does one with a constant that is
False there and that it never asks (`IS_FSDP_SUPPORTED = False`): a remnant of the file that it was taken from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import ModuleInfo

_DIFFERS, _IS = frozenset({"!=", "is not", "not in"}), frozenset({"==", "is", "in"})


def are_only_refused(module: ModuleInfo, words: re.Pattern[str], asks: re.Pattern[str]) -> bool:
    """Whether all names of a file that some words are found in stand in assertions, or in tests that end in a `raise`,
    by which the answer to a question (`distributed_type`) may be none of these, or are constants that nobody asks."""
    if not module.mentions_like(asks) and module.mentions_like(_in_small_letters(words)):
        return False  # most files that speak of a back end mean it: their bodies need not be read
    said: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for body in (module.body, *(function.body for function in module.functions.values())):
        for node in walk(body):
            said.update(_names(node, words))
            if type(node) is f.Assert:
                refused.update(_refused(node.test, True, words, asks))
            elif type(node) is f.If and node.body and type(node.body[-1]) is f.Raise:
                refused.update(_refused(node.test, False, words, asks))
            elif type(node) is f.Assign and node.value == f.Const("False"):
                refused.update(name for target in node.targets for name in _names(target, words))
    return bool(refused) and said == refused and all(n in said for n in module.outline.names if words.search(n))


@lru_cache(maxsize=8)
def _in_small_letters(words: re.Pattern[str]) -> re.Pattern[str]:
    """The same words in a name that is none of a constant."""
    return re.compile(rf"^(?=.*(?-i:[a-z])).*({words.pattern})", words.flags)


def _names(node: object, words: re.Pattern[str]) -> Iterator[str]:
    name = node.id if type(node) is f.Name else node.attr if type(node) is f.Attr else ""
    if name and words.search(name):
        yield name


def _refused(test: f.Expr, holds: bool, words: re.Pattern[str], asks: re.Pattern[str]) -> Iterator[str]:
    """The names of what a test that has to come out so rules out, in a job of several ranks."""
    if type(test) is f.Not:
        yield from _refused(test.operand, not holds, words, asks)
    elif type(test) is f.BoolOp:
        for value in test.values:
            yield from _refused(value, holds, words, asks)
    elif type(test) is f.Compare and len(test.ops) == 1 and test.ops[0] in (_DIFFERS if holds else _IS):
        sides = (test.left, test.rights[0])
        if any(asks.search(last_name(side)) for side in sides):
            for side in sides:
                for node in walk(side):
                    yield from _names(node, words)
