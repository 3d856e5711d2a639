"""Facts -> text -> facts, and texts that are not facts."""

from __future__ import annotations

import gc
import json
import random
import sysconfig
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ferrule_lint.facts import codec
from ferrule_lint.facts import types as f
from ferrule_lint.facts.codec import CodecError, dump, load
from ferrule_lint.frontend.errors import SourceError
from ferrule_lint.frontend.lower import extract

STDLIB = Path(sysconfig.get_path("stdlib"))

SAMPLE = b'''
import a.b as c
from . import d  # ferrule: ignore[FER102] why
@deco(1)
class C(B):
    x: int = 0
    def m(self, a, /, b=1, *args, c, **kw) -> None:
        return lambda: {**a, "k": [*b]}
async def g(n):
    """doc"""
    global y
    async with a as b, c:
        await d.e(1, k=2, **e)
    for i in range(n):
        if i == 0 and not n or 1 < n <= 3:
            break
        elif x is None:
            continue
        yield {i, (j := i)}
    while True:
        z = [q for q in w if q] if a else a[1:2]
    try:
        assert a
    except E as err:
        raise
    else:
        del a, b
    finally:
        a += f"{b:{c}}"
    match n:
        case [x, *rest] if x:
            pass
        case {"k": v}:
            pass
'''


def equal(a: Any, b: Any) -> bool:
    """Equality that tells classes apart, at any depth."""
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, tuple):
            if len(a) != len(b):
                return False
            stack += zip(a, b, strict=True)
        elif a != b:
            return False
    return True


def sealed(body: str) -> str:
    """A text with a good checksum, whatever its body."""
    return codec._head(body) + body


def tampered(change: Callable[[list[str], list[Any]], object]) -> str:
    _, _, strings, levels = json.loads(dump(extract(SAMPLE)))
    change(strings, levels)
    return sealed(json.dumps([strings, levels], separators=(",", ":"))[1:])


# ---------------------------------------------------------------------- round trip
def stdlib_sample() -> list[Path]:
    paths = sorted(p for p in STDLIB.glob("*.py")) + sorted(STDLIB.glob("asyncio/*.py"))
    chosen = random.Random(7).sample(paths, min(60, len(paths)))
    return sorted({*chosen, STDLIB / "typing.py", STDLIB / "this.py"})


@pytest.mark.parametrize("path", stdlib_sample(), ids=lambda p: p.name)
def test_round_trip_of_the_standard_library(path: Path) -> None:
    facts = extract(path.read_bytes())
    text = dump(facts)
    again = load(text)
    assert equal(again, facts)
    assert dump(again) == text == dump(extract(path.read_bytes()))
    assert text.isascii() and "\n" not in text


def test_round_trip_of_every_class_of_node() -> None:
    facts = extract(SAMPLE)
    seen: set[type] = set()
    stack: list[Any] = [facts]
    while stack:
        node = stack.pop()
        seen.add(type(node))
        if isinstance(node, tuple):
            stack += node
    assert seen >= set(f.NODES)
    assert equal(load(dump(facts)), facts)


@pytest.mark.parametrize(
    "source",
    ["", "x\n", "é = 'ß\\ud800\U0001f600'\n", "x = {**a}\n", "def f(): pass\n", "f(**a)\n", "with a: pass\n"],
)
def test_round_trip_of_small_files(source: str) -> None:
    facts = extract(source.encode())
    assert equal(load(dump(facts)), facts)


def test_a_lone_surrogate_survives() -> None:
    facts = f.FileFacts(1, (), (), (), (f.ExprStmt(1, f.Const("\ud800")),))
    assert equal(load(dump(facts)), facts)


def test_the_text_is_json_and_says_its_version() -> None:
    head, check, strings, levels = json.loads(dump(extract(SAMPLE)))
    assert head == f"ferrule-facts {f.FACTS_VERSION}"
    assert len(check) == 8
    assert "deco" in strings
    assert levels[-1][0][0] == f.NODES.index(f.FileFacts)


def test_shared_nodes_stay_shared() -> None:
    source = b"match subject(1):\n" + b"".join(b"    case %d: pass\n" % i for i in range(50))
    facts = extract(source)
    assert dump(facts).count('"subject"') == 1
    node: Any = load(dump(facts)).body[0]
    assert node.test.left is node.orelse[0].test.left


def test_strings_are_interned() -> None:
    first, second = (load(dump(extract(b"some_long_name\n"))).body[0] for _ in range(2))
    assert type(first) is type(second) is f.ExprStmt
    assert type(first.value) is type(second.value) is f.Name
    assert first.value.id is second.value.id


# ---------------------------------------------------------------------- depth
def nested(levels: int) -> f.FileFacts:
    node: f.Expr = f.Const("0")
    for _ in range(levels):
        node = f.Not(node)
    return f.FileFacts(1, (), (), (), (f.ExprStmt(1, node),))


@pytest.mark.parametrize("levels", [200, 5000])
def test_deep_facts(levels: int) -> None:
    facts = nested(levels)
    assert equal(load(dump(facts)), facts)


def test_a_long_elif_chain() -> None:
    source = "if a == 0:\n    f()\n" + "".join(f"elif a == {i}:\n    f()\n" for i in range(1, 2000))
    facts = extract(source.encode())
    assert equal(load(dump(facts)), facts)


def test_facts_too_deep_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CodecError):
        dump(nested(codec.MAX_DEPTH))
    text = dump(nested(100))
    monkeypatch.setattr(codec, "MAX_DEPTH", 100)
    with pytest.raises(CodecError):
        load(text)


def test_deep_json() -> None:
    for body in ("[" * 200_000, "[" * 100_000 + "]" * 100_001, '{"a":' * 100_000):
        with pytest.raises(CodecError):
            load(sealed(body))


# ---------------------------------------------------------------------- not facts
@pytest.mark.parametrize(
    "text",
    ["", " ", "null", "0", "[]", "{}", "[0, 1, 2, 3]", '["ferrule-facts 2"]', "not json", "\x00", "é", "\ud800",
     '["ferrule-facts 2","00000000",[],[]]', "\x80\x04}", "[" * 100_000],
)  # fmt: skip
def test_foreign_texts(text: str) -> None:
    with pytest.raises(CodecError):
        load(text)


@pytest.mark.parametrize(
    "body",
    ["", "]", "[],[]]", "[],[[]]]", "[],[[[]]]]", "[],{}]", "{},[]]", "null,null]", "[],[[[41]]]]", "[],null]",
     "[1],[]]", "[null],[]]", "[[]],[]]", "[],[],[]]", "[]]", "[],[0]]", '[],"ab"]', '[],["ab"]]', "[],[[0]]]",
     '[],[["ab"]]]', '[],[{"a":1}]]', "[],[[[41,[1],[0],[],[0],[],[0],[],[0]]]]]", "[],[NaN]]", "[],[]"],
)  # fmt: skip
def test_foreign_bodies(body: str) -> None:
    with pytest.raises(CodecError):
        load(sealed(body))


def test_an_empty_file_by_hand() -> None:
    body = f"[],[[[{f.NODES.index(f.FileFacts)},[3],[0],[],[0],[],[0],[],[0],[],[0],[],[0],[]]]]]"
    assert load(sealed(body)) == f.FileFacts(3, (), (), (), ())


def test_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    text = dump(extract(SAMPLE))
    monkeypatch.setattr(f, "FACTS_VERSION", f.FACTS_VERSION + 1)
    with pytest.raises(CodecError):
        load(text)


def test_cut_and_changed_texts() -> None:
    text = dump(extract(SAMPLE))
    for n in range(0, len(text), 37):
        with pytest.raises(CodecError):
            load(text[:n])
        with pytest.raises(CodecError):
            load(text[:n] + chr(ord(text[n]) ^ 1) + text[n + 1 :])
    with pytest.raises(CodecError):
        load(text + " ")


def group(levels: list[Any], cls: type) -> list[Any]:
    """The first group of the class."""
    found: list[list[Any]] = [g for level in levels for g in level if g[0] == f.NODES.index(cls)]
    return found[0]


def change_group(cls: type, column: int, value: Any) -> Callable[[list[str], list[Any]], object]:
    def change(_: list[str], levels: list[Any]) -> None:
        target = group(levels, cls)
        target[column] = [value] * len(target[column]) if column else value

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(change_group(f.Name, 0, len(f.NODES)), id="unknown tag"),
        pytest.param(change_group(f.Name, 0, -1), id="negative tag"),
        pytest.param(change_group(f.Name, 0, True), id="tag of another type"),
        pytest.param(change_group(f.Name, 0, "Name"), id="tag by name"),
        pytest.param(change_group(f.Name, 1, 0), id="no string where one must be"),
        pytest.param(change_group(f.Name, 1, 10**6), id="string out of range"),
        pytest.param(change_group(f.Name, 1, "a"), id="string in place of its number"),
        pytest.param(change_group(f.Name, 1, 1.0), id="a float for a number"),
        pytest.param(change_group(f.Name, 2, "1"), id="place of another type"),
        pytest.param(change_group(f.Name, 2, True), id="place of booleans"),
        pytest.param(change_group(f.Name, 3, None), id="no column"),
        pytest.param(change_group(f.Attr, 1, 0), id="no node where one must be"),
        pytest.param(change_group(f.Attr, 1, 10**6), id="node out of range"),
        pytest.param(change_group(f.Not, 1, 10**30), id="huge number"),
        pytest.param(change_group(f.Call, 2, -1), id="negative length"),
        pytest.param(change_group(f.Call, 2, 10**9), id="large length"),
        pytest.param(change_group(f.Call, 2, "1"), id="length of another type"),
        pytest.param(change_group(f.Break, 1, None), id="no line"),
        pytest.param(change_group(f.FunctionFacts, 2, [1]), id="list for a line"),
        pytest.param(lambda _, levels: group(levels, f.Name).pop(), id="column missing"),
        pytest.param(lambda _, levels: group(levels, f.Name).append([]), id="column too many"),
        pytest.param(lambda _, levels: group(levels, f.Name)[1].pop(), id="column short"),
        pytest.param(lambda _, levels: group(levels, f.Name).clear(), id="empty group"),
        pytest.param(lambda _, levels: group(levels, f.Call)[3].pop(), id="items short"),
        pytest.param(lambda _, levels: levels.pop(), id="no root"),
        pytest.param(lambda _, levels: levels.reverse(), id="children after parents"),
        pytest.param(lambda _, levels: levels.clear(), id="no levels"),
        pytest.param(lambda strings, _: strings.pop(), id="string missing"),
        pytest.param(lambda strings, _: strings.__setitem__(0, 1), id="string of another type"),
        pytest.param(change_group(f.FileFacts, 1, True), id="boolean for a count"),
    ],
)
def test_tampered_structure(change: Callable[[list[str], list[Any]], object]) -> None:
    with pytest.raises(CodecError):
        load(tampered(change))


def test_a_node_of_the_wrong_class() -> None:
    _, _, strings, levels = json.loads(dump(extract(b"a.b\nwhile a:\n    break\n")))
    # the leaves: two names, then `break`
    assert [(g[0], len(g[1])) for g in levels[0]] == [(f.NODES.index(f.Name), 2), (f.NODES.index(f.Break), 1)]
    group(levels, f.Attr)[1] = [3]
    with pytest.raises(CodecError, match="type"):
        load(sealed(json.dumps([strings, levels])[1:]))


def test_operators_and_operands_have_to_pair_up() -> None:
    facts = f.FileFacts(1, (), (), (), (f.Assert(1, f.Compare(f.Const("1"), ("<",), (), (1, 1, 1, 2))),))
    with pytest.raises(CodecError, match="pair"):
        load(dump(facts))


def well_typed(root: f.FileFacts) -> None:
    """Every field has a value of its annotation."""
    kinds = {cls: codec._LAYOUTS[tag].kinds for tag, cls in enumerate(f.NODES)}
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        for kind, value in zip(kinds[type(node)], node, strict=True):
            items: list[tuple[Any, Any]] = []
            if isinstance(kind, codec._Position):
                assert type(value) is tuple and [type(v) for v in value] == [int] * 4
            elif isinstance(kind, codec._Many):
                assert type(value) is tuple
                for item in value:
                    items += zip(kind.parts, item if len(kind.parts) > 1 else (item,), strict=True)
            else:
                items = [(kind, value)]
            for part, item in items:
                assert type(item) in part.types
                if type(item) in kinds:
                    stack.append(item)


def test_random_damage_under_a_good_checksum() -> None:
    """Whatever is read is well typed; whatever is not is refused by CodecError."""
    rng = random.Random(3)
    body = dump(extract(SAMPLE))[codec._HEAD_LENGTH :]
    well_typed(load(sealed(body)))
    read = 0
    for _ in range(3000):
        n = rng.randrange(len(body))
        damaged = body[:n] + rng.choice('0123456789-,[]"en. ') * rng.randrange(3) + body[n + rng.randrange(3) :]
        try:
            facts = load(sealed(damaged))
        except CodecError:
            continue
        read += 1
        well_typed(facts)
    assert 0 < read < 3000


def test_only_nodes_are_written() -> None:
    with pytest.raises(CodecError):
        dump(f.FileFacts(1, (), (), (), ("text",)))  # type: ignore[arg-type]


def test_the_layout_covers_every_field_of_every_class() -> None:
    assert len(codec._LAYOUTS) == len(f.NODES) == len(set(f.NODES))
    for cls, layout in zip(f.NODES, codec._LAYOUTS, strict=True):
        assert len(layout.kinds) == len(cls._fields)  # type: ignore[attr-defined]


# ---------------------------------------------------------------------- speed
def test_reading_is_quicker_than_parsing() -> None:
    source = (STDLIB / "argparse.py").read_bytes()
    text = dump(extract(source))

    def best(work: Callable[[], object]) -> float:
        times = []
        for _ in range(5):
            gc.collect()
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return min(times)

    assert best(lambda: load(text)) < best(lambda: extract(source))


def test_the_checksum_covers_the_body() -> None:
    text = dump(extract(SAMPLE))
    assert json.loads(text)[1] == f"{zlib.crc32(text[codec._HEAD_LENGTH :].encode()):08x}"


def test_errors_of_the_codec_are_not_errors_of_the_source() -> None:
    assert not issubclass(CodecError, SourceError)
