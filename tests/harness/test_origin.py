"""Back from a call to the line that made the value in which two ranks differ."""

from __future__ import annotations

import textwrap
from collections import OrderedDict

import pytest

from ferrule_lint.harness.origin import View, origin
from ferrule_lint.harness.rank.values import shown


def found(source: str, **values: tuple[str, str]) -> tuple[str, str] | None:
    """(the line of the origin, its variable); the call is the line that ends with `# call`."""
    view = views(source, values)
    result = origin([view])
    return None if result is None else (view.source.splitlines()[result.line - 1].strip(), result.name)


def views(source: str, values: dict[str, tuple[str, str]]) -> View:
    text = textwrap.dedent(source)
    line = next(number for number, one in enumerate(text.splitlines(), 1) if one.endswith("# call"))
    mine = {name: one for name, (one, _) in values.items()}
    return View("a.py", line, text, mine, {name: one for name, (_, one) in values.items()})


def test_the_first_value_that_differs() -> None:
    source = """
    def f(batch):
        same = 3
        sizes = batch.sizes()
        splits = list(sizes)
        exchange(out, same, splits)  # call
        splits = None
    """
    assert found(source, same=("3", "3"), sizes=("[1]", "[2]"), splits=("[1]", "[2]")) == (
        "sizes = batch.sizes()",
        "sizes",
    )
    # nothing is known of what it was made of
    assert found(source, splits=("[1]", "[2]")) == ("splits = list(sizes)", "splits")


def test_the_order_of_a_set_is_its_loop() -> None:
    source = """
    for name in {"a", "b"}:
        all_reduce(state[name])  # call
    """
    assert found(source, name=("'a'", "'b'")) == ('for name in {"a", "b"}:', "name")


def test_the_order_of_a_set_that_was_made_before() -> None:
    source = """
    wanted = set(names)
    for name in wanted:
        all_reduce(state[name])  # call
    """
    values = {"name": ("'a'", "'b'"), "wanted": ("{'a', 'b'}", "{'b', 'a'}"), "names": ("['a', 'b']", "['a', 'b']")}
    assert found(source, **values) == ("wanted = set(names)", "wanted")


def test_what_a_function_was_given_comes_from_its_caller() -> None:
    inner = views("def f(x):\n    all_reduce(x)  # call\n", {"x": ("float32[2]", "float32[3]")})
    outer = views("valid = x[mask]\nf(valid)  # call\n", {"valid": ("float32[2]", "float32[3]"), "mask": ("a", "a")})
    result = origin([inner, outer])
    assert result is not None
    assert (result.line, result.name, result.values) == (1, "valid", ("float32[2]", "float32[3]"))
    assert origin([inner]) is None


@pytest.mark.parametrize("source", ["all_reduce(make(2))  # call", "f(x, y)  # call", "not python (  # call"])
def test_unknown_is_unknown(source: str) -> None:
    assert found(source, z=("1", "2")) is None


def test_only_plain_values_are_shown() -> None:
    class Loud:
        def __repr__(self) -> str:
            raise AssertionError("the user's code was run")

    assert shown(Loud()) == "" and shown([1, Loud()]) == "" and shown(OrderedDict(a=1)) == ""
    assert shown([1, (2.5, None)]) == "[1, (2.5, None)]"
    assert shown({"a": [1]}) == "{'a': [1]}"
    assert shown(list(range(100))) == "" and shown([[[1]]]) == ""


def test_tensors_are_shown_by_dtype_and_size() -> None:
    torch = pytest.importorskip("torch")
    assert shown(torch.ones(2, 3)) == "float32[2,3]"
    assert shown(torch.float16) == "torch.float16"
