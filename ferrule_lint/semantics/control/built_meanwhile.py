"""What an import finds is built where it fails: `except ImportError:`, `if rank == 0: build()`, and a barrier behind.

A rank that comes to the import after the first rank has built what it asks for has no exception, and never comes to
the barrier in the handler, which the first rank waits in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import under_tests, walk
from ferrule_lint.semantics.domain.text import last_name

_MISSING = frozenset({"ImportError", "ModuleNotFoundError"})
_BUILDS = re.compile(r"(^|_)(re)?(build|compile|make|install)(_|$)", re.IGNORECASE)


def built_by_some(handler: f.Handler, names: Sequence[str], attempt: f.Body) -> f.Call | None:
    """The call in a handler of a failed import by which some ranks build what is imported; None: there is none.

    `names`: what the handler catches; `attempt`: the body of the `try`, which holds nothing but imports (no
    statements of their own).
    """
    if attempt or not (not names or "Exception" in names or _MISSING & set(names)):
        return None
    for s, tests in under_tests(handler.body):
        if tests and type(s) is f.ExprStmt:
            for node in walk((s.value,)):
                if type(node) is f.Call and _BUILDS.search(last_name(node.func)):
                    return node
    return None
