"""What comments state about the program, as facts: `total = count()  # ferrule: uniform`.

The front end wraps what a comment speaks of in a call of a name that no program can have, so that whoever walks the
code meets the statement where it counts, and whatever remembers facts by their content sees it change.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f

_PREFIX = "ferrule: "
#: the words that may follow `# ferrule:` in such a comment
WORDS = ("uniform", "divergent", "collective")


def marker(word: str) -> str:
    """The name of the call, or of the decorator, that stands for a comment."""
    return _PREFIX + word


def stated(expr: f.Expr) -> tuple[str, f.Expr]:
    """What a comment says of an expression, and the expression without that; "" where none speaks of it.

    `collective` on a `def` stands at the beginning of its body, and has a text with the function's name in it.
    """
    if type(expr) is f.Call and type(expr.func) is f.Name and expr.func.id.startswith(_PREFIX):
        return expr.func.id.removeprefix(_PREFIX), expr.args[0]
    return "", expr


#: by what comments say of a function's result it is decorated
UNIFORM_RESULT, DIVERGENT_RESULT = marker("uniform"), marker("divergent")
