"""Programs made to be hard: what they cost grows with their size as it should, and what is given up is counted.

Cost is counted in calls of Python functions, which are the same on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from ferrule_lint.checks.result import CheckResult
from ferrule_lint.checks.run import check
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models
from ferrule_lint.semantics.divergence import difference

HEAD = "import functools\nimport torch.distributed as dist\n"


class TooMuch(BaseException):
    """Not an `Exception`: an internal error is caught and reported."""


def cost(source: str, limit: int = 4_000_000) -> tuple[int, CheckResult]:
    """How many calls it takes to check a file, and what comes of it."""
    models = load_models()
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        if event == "call":
            calls += 1
            if calls > limit:
                raise TooMuch

    sys.setprofile(count)
    try:
        result = check({"a.py": extract(source.encode())}, ["a.py"], models)
    finally:
        sys.setprofile(None)
    return calls, result


def chain(n: int) -> str:
    """Calls through many functions."""
    functions = "".join(f"def f{i}():\n    f{i - 1}()\n" for i in range(1, n))
    return f"{HEAD}def f0():\n    dist.barrier()\n{functions}if dist.get_rank() == 0:\n    f{n - 1}()\n"


def contexts(n: int) -> str:
    """Every function calls the next with every constant there is."""
    calls = "f{0}(a, None, True)\n    f{0}(None, b, False)\n    f{0}(True, False, c)\n    f{0}(a, b, c)\n"
    functions = "".join(f"def f{i}(a=None, b=None, c=None):\n    {calls.format(i - 1)}" for i in range(1, n))
    return f"{HEAD}def f0(a, b, c):\n    dist.barrier()\n{functions}"


def flags(n: int) -> str:
    """A function that is called with every combination of its flags."""
    names = [f"a{i}" for i in range(n)]
    calls = "".join(f"    f({', '.join(str(bool(number >> i & 1)) for i in range(n))})\n" for number in range(2**n))
    return f"{HEAD}def f({', '.join(names)}):\n    dist.barrier()\ndef g():\n{calls}"


def recursive(n: int) -> str:
    """Functions that all call each other."""
    return HEAD + "".join(
        f"def f{i}(x):\n    f{(i * 7 + 3) % n}(x)\n    f{(i * 5 + 1) % n}(x)\n    dist.barrier()\n" for i in range(n)
    )


def choices(n: int) -> str:
    """Many choices in one function, of which any subset may be taken."""
    body = "".join(
        f"    if x.a{i}:\n        dist.barrier()\n    if r == {i}:\n        dist.all_reduce(x)\n" for i in range(n)
    )
    return f"{HEAD}def f(x):\n    r = dist.get_rank()\n{body}"


def exits(n: int) -> str:
    """Many exits, so that what follows stands in both arms of every choice."""
    body = "".join(f"    if x.a{i}:\n        dist.barrier()\n        if x.b{i}: return\n" for i in range(n))
    return f"{HEAD}def f(x):\n{body}    if dist.get_rank() == 0:\n        dist.barrier()\n"


def exits_of_loops(n: int) -> str:
    body = "".join(f"        if x.a{i}:\n            if x.b{i}: return\n" for i in range(n))
    return f"{HEAD}def f(xs):\n    for x in xs:\n{body}    if dist.get_rank() == 0:\n        dist.barrier()\n"


def arms(n: int) -> str:
    body = "".join(f"    elif r == {i}:\n        dist.barrier()\n" for i in range(n))
    return f"{HEAD}def f(x):\n    r = dist.get_rank()\n    if x == -1:\n        pass\n{body}"


def pairs(n: int) -> str:
    """Tuples of tuples of tuples, twice as many items with each call."""
    functions = "".join(f"def f{i}(x):\n    y = f{i - 1}(x)\n    return (y, y)\n" for i in range(1, n))
    return f"{HEAD}def f0(x):\n    return (x, x)\n{functions}def g(x):\n    if f{n - 1}(x): dist.barrier()\n"


def pairs_in_place(n: int) -> str:
    return f"{HEAD}def f(a):\n{'    a = (a, a)' + chr(10) if n else ''}" + "    a = (a, a)\n" * n + "    g(a)\n"


def callbacks(n: int) -> str:
    functions = "".join(f"def f{i}(k):\n    f{i - 1}(lambda: (k(), k()))\n" for i in range(1, n))
    return f"{HEAD}def f0(k):\n    k()\n{functions}f{n - 1}(dist.barrier)\n"


def decorators(n: int) -> str:
    wrapper = "def w(fn):\n    def inner(*a):\n        return fn(*a)\n    return inner\n"
    return f"{HEAD}{wrapper}{'@w' + chr(10)}" + "@w\n" * n + "def f(x):\n    dist.barrier()\nf(1)\n"


def loops(n: int) -> str:
    nested = "".join("    " * (i + 1) + f"for x{i} in xs{i}:\n" for i in range(n))
    return f"{HEAD}def f(xs):\n{nested}{'    ' * (n + 1)}dist.barrier()\n"


def attributes(n: int) -> str:
    methods = "".join(
        f"    def m{i}(self):\n        self.a{i} = self.a{(i * 7 + 1) % n}\n        return self.m{(i * 5 + 3) % n}()\n"
        for i in range(n)
    )
    return f"{HEAD}class A:\n{methods}def f(a: A):\n    if a.a0:\n        dist.barrier()\n"


def bases(n: int) -> str:
    classes = "".join(f"class C{i}(C{i - 1}, C{max(i - 2, 0)}): pass\n" for i in range(1, n))
    return f"{HEAD}class C0: pass\n{classes}def f(c: C{n - 1}):\n    c.x()\n    dist.barrier()\n"


def displays(n: int) -> str:
    items = ", ".join(f"'k{i}': [{i}, {{'a': {i}}}]" for i in range(n))
    return f"{HEAD}X = {{{items}}}\ndef f():\n    y = {{{items}}}\n    dist.barrier()\n"


def variables(n: int) -> str:
    """One function that sets variables of its module, and asks for each before."""
    begun = "".join(f"G{i} = None\n" for i in range(n))
    made = "".join(f"    global G{i}\n    assert G{i} is None\n    G{i} = dist.new_group(ranks)\n" for i in range(n))
    used = "".join(f"    dist.all_reduce(x, group=G{i})\n" for i in range(n))
    return f"{HEAD}{begun}def setup(ranks):\n{made}def f(x):\n{used}"


def groups(n: int) -> str:
    """A function that makes groups, and asks of each whether this rank is in it."""
    body = "".join(
        f"    ranks{i} = [r + {i} for r in given]\n    group{i} = dist.new_group(ranks{i})\n"
        f"    if place in ranks{i}:\n        mine = group{i}\n"
        for i in range(n)
    )
    return f"{HEAD}def f(given, x):\n    place = dist.get_rank()\n{body}    dist.all_reduce(x, group=mine)\n"


def entries(n: int) -> str:
    """A dict that makes what it is asked for, and is asked for a lot."""
    body = "".join(f"    found['k{i}'].append(x['k{i}'])\n" for i in range(n))
    head = f"{HEAD}from collections import defaultdict\n"
    return f"{head}def f(x):\n    found = defaultdict(list)\n{body}    dist.all_reduce(x)\n"


def keys(n: int) -> str:
    """Entries of a dict, each under a test of its own, and at the end handed on."""
    body = "".join(f"    if x['a{i}'].any():\n        found['k{i}'] = x['b{i}']\n" for i in range(n))
    return f"{HEAD}def f(x):\n    found = {{}}\n{body}    log(found)\n    dist.barrier()\n"


def walked(n: int) -> str:
    """Loops over one thing, one after the other."""
    return f"{HEAD}def f(xs):\n" + "    for x in xs:\n        dist.all_reduce(x)\n" * n


def lists(n: int) -> str:
    """Lists that are filled from others, and summed up where anything is in them."""
    body = "".join(
        f"    grads{i} = [p.grad for p in model.parameters() if p.grad is not None]\n    if not grads{i}:\n"
        f"        grads{i} = padding\n    norms{i} = []\n    for g in grads{i}:\n        norms{i}.append(g.norm())\n"
        f"    if norms{i}:\n        total{i} = torch.stack(norms{i}).sum()\n        dist.all_reduce(total{i})\n"
        for i in range(n)
    )
    return f"import torch\n{HEAD}def f(model, padding):\n{body}"


def lines(n: int) -> str:
    """A generated file of so many lines."""
    return HEAD + "".join(
        f"def f{i}(x):\n    y = x + {i}\n    if y > 3:\n        return y\n    dist.barrier()\n" for i in range(n // 5)
    )


def transfers(n: int) -> str:
    """What one rank and the others send each other in n loops over all ranks."""
    loop = "    for other in range(1, dist.get_world_size()):\n        dist.{0}(x, other)\n"
    first = "".join(loop.format(op).replace("    ", "        ") for op in ("send", "recv")) * n
    others = "        dist.recv(x, 0)\n        dist.send(x, 0)\n" * n
    return f"{HEAD}def f(x):\n    if dist.get_rank() == 0:\n{first}    else:\n{others}"


@pytest.mark.parametrize(
    ("program", "size", "growth"),
    [
        (chain, 60, 2.5),
        (contexts, 8, 3),
        (choices, 8, 5),
        (exits, 12, 5),
        (exits_of_loops, 12, 5),
        (arms, 10, 5),
        (arms, 60, 4),
        (pairs, 12, 2.5),
        (pairs_in_place, 12, 2.5),
        (callbacks, 12, 5),
        (decorators, 6, 5),
        (loops, 8, 2.5),
        (attributes, 16, 2.5),
        (bases, 20, 5),
        (displays, 60, 2.5),
        (variables, 60, 2.5),
        (groups, 30, 2.5),
        (entries, 60, 2.5),
        (keys, 120, 2.5),
        (walked, 60, 2.5),
        (lists, 20, 2.5),
        (lines, 300, 2.5),
        (transfers, 8, 2.5),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_cost_grows_with_size(program: Callable[[int], str], size: int, growth: float) -> None:
    cost(program(2))  # what is made once
    small, first = cost(program(size))
    large, second = cost(program(2 * size))
    assert not first.errors and not second.errors
    assert large <= growth * small, f"{small} calls became {large} for twice the size"


def test_a_file_of_a_hundred_thousand_lines() -> None:
    table = "TABLE = {\n" + "".join(f"    {i}: 'x',\n" for i in range(50_000)) + "}\n"
    source = HEAD + table + "".join(f"y{i} = 1\n" for i in range(50_000))
    result = check({"a.py": extract(source.encode())}, ["a.py"], load_models())
    assert not result.findings and not result.errors


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (choices(60), "comparisons of long traces"),
        (flags(9), "contexts of a function"),
        (recursive(60), "summaries of a function"),
        (
            f"{HEAD}def f(x):\n    if {' and '.join(f'dist.get_rank() == {i}' for i in range(9))}:\n"
            "        dist.barrier()\n",
            "tests linked in a comparison",
        ),
        (
            f"{HEAD}def f({', '.join(f'a{i}' for i in range(40))}):\n"
            + "".join(f"    if a{i}:\n        dist.barrier()\n" for i in range(40)),
            "latent findings of a function",
        ),
        (
            HEAD + "def f(x):\n" + "".join(f"    dist.all_reduce(x, group=x.g{i})\n" for i in range(40)),
            "kinds of events of a function",
        ),
        (transfers(60), "transfers of a function"),
        (
            HEAD
            + "def f(**kwargs):\n    dist.barrier(**kwargs)\n"
            + "".join(f"def g{i}(x):\n    f(a{i}=x)\n" for i in range(80)),
            "spellings of a function",
        ),
    ],
    ids=["choices", "contexts", "recursive", "atoms", "latents", "events", "transfers", "spellings"],
)
def test_what_is_given_up_is_counted(source: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(difference.Effort.__init__, "__defaults__", (lambda what: None, 10_000, False))
    result = check({"a.py": extract(source.encode())}, ["a.py"], load_models())
    assert not result.errors
    assert result.statistics.get(what, 0) > 0, result.statistics
