"""Outlines: what is known of a file without its bodies, and facts that are read when they are asked for."""

from __future__ import annotations

import json
import random

import pytest

from ferrule_lint.facts import outline
from ferrule_lint.facts import types as f
from ferrule_lint.facts.codec import CodecError
from ferrule_lint.facts.outline import LazyFacts, Outline
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.project.names import Names
from ferrule_lint.semantics.project.nearness import Nearness

SOURCE = b"""import a.b as c
from . import d  # ferrule: ignore[FER102] why
class Base: pass
class C(Base, c.Other[int], make()):
    @property
    def x(self): return self.y
    @x.setter
    def x(self, value): self.y = value
    def run(self): helper(self)
def helper(x):
    return x.z
"""


def never() -> f.FileFacts:
    raise AssertionError("made anew")


def test_what_an_outline_says() -> None:
    said = outline.outline(extract(SOURCE))
    assert said.classes == (("Base", ()), ("C", ("Base", "Other", "")))
    assert said.methods == {"x", "run"}
    assert [i.name for i in said.imports] == [None, "d"]
    assert [s.code for s in said.suppressions] == ["FER102"]
    assert {"helper", "z", "make"} <= said.names
    assert said.lines == 11


@pytest.mark.parametrize("source", [SOURCE, b"", b"x = '\xc3\xa9'\n", b"class \xc3\x89: pass\n"])
def test_round_trip(source: bytes) -> None:
    facts = extract(source)
    known = outline.load(outline.dump(facts), never)
    assert known.outline == outline.outline(facts) == outline.outline(known)
    assert known.whole == facts
    assert known.whole is known.whole is outline.whole(known)


def test_damage_is_noticed_before_anything_is_read() -> None:
    text = outline.dump(extract(SOURCE))
    for n in range(0, len(text), 11):
        for damaged in (text[:n], text[:n] + chr(ord(text[n]) ^ 1) + text[n + 1 :]):
            with pytest.raises(CodecError):
                outline.load(damaged, never)


def sealed(body: str) -> str:
    return outline._head(body) + body


def test_random_damage_under_a_good_checksum() -> None:
    """Whatever is read is well typed, and what is no facts is made anew."""
    rng = random.Random(5)
    facts = extract(SOURCE)
    body = outline.dump(facts)[outline._HEAD_LENGTH :]
    first = body.index("\n")
    read = 0
    for _ in range(2000):
        n = rng.randrange(first)
        damaged = body[:n] + rng.choice('0123456789-,[]"en. ') * rng.randrange(3) + body[n + rng.randrange(3) :]
        try:
            known = outline.load(sealed(damaged), lambda: facts)
        except CodecError:
            continue
        read += 1
        assert known.whole == facts
        well_typed(known.outline)
    assert 0 < read < 2000


def well_typed(known: Outline) -> None:
    assert type(known.lines) is int
    assert all(type(i.module) is str and type(i.level) is int for i in known.imports)
    assert all(type(s.first) is int and type(s.text) is str for s in known.suppressions)
    assert all(type(name) is str for name in (*known.names, *known.methods))
    assert all(type(name) is str and all(type(b) is str for b in bases) for name, bases in known.classes)


def test_an_entry_that_is_no_facts_is_made_anew() -> None:
    first = json.dumps([1, [], [], [], [], [], ""], separators=(",", ":"))
    facts = extract(SOURCE)
    assert outline.load(sealed(f"{first[1:]}\nnonsense"), lambda: facts).whole is facts


# ---------------------------------------------------------------------- a project of which little is read
def lazily(sources: dict[str, str], read: list[str]) -> dict[str, LazyFacts]:
    def facts_of(path: str, source: str) -> LazyFacts:
        facts = extract(source.encode())

        def noted() -> f.FileFacts:
            read.append(path)
            return facts

        return LazyFacts(outline.outline(facts), noted)

    return {path: facts_of(path, source) for path, source in sources.items()}


PROJECT = {
    "base.py": "class Base:\n    def run(self):\n        self.step()\n    def step(self): pass\n",
    "api.py": "from base import Base as Engine\n",
    "sub.py": "from api import Engine\nclass Sub(Engine):\n    def step(self): pass\n",
    "below.py": "import sub\nclass Below(sub.Sub[int]):\n    def prepare_everything(self): pass\n",
    "other.py": "class Other:\n    def run(self): pass\n",
    "variants.py": "class V:\n    @property\n    def some_thing(self): ...\n"
    "    @some_thing.setter\n    def some_thing(self, v): ...\n",
}


def test_subclasses_are_found_through_renamed_imports() -> None:
    read: list[str] = []
    analysis = Analysis(lazily(PROJECT, read), load_models())
    base = analysis.names.modules["base.py"].classes["Base"]
    assert [c.name for c in analysis.hierarchy.below(base)] == ["Below", "Sub"]
    assert set(read) == PROJECT.keys() - {"other.py", "variants.py"}


def test_which_files_programs_share_is_told_by_their_imports() -> None:
    read: list[str] = []
    program = "from tools import go\nif __name__ == '__main__':\n    go()\n"
    files = {"wraps.py": "import helper\n", "helper.py": "", "tools.py": "def go(): pass\n", "program.py": program}
    near = Nearness(Analysis(lazily(files, read), load_models()), ["wraps.py"])
    assert "helper.py" in near
    assert not read
    assert "tools.py" not in near
    assert read == ["program.py"]  # whether it can be started


def test_methods_are_found_by_name_in_the_files_that_have_one() -> None:
    read: list[str] = []
    names = Names(lazily(PROJECT, read))
    assert names.only_method("run") is None  # of two classes
    assert names.only_method("missing") is None
    assert not read
    found = names.only_method("prepare_everything")
    assert found is not None and found.owner == "Below"
    assert read == ["below.py"]
    assert [m.owner for m in names.methods_named("run")] == ["Base", "Other"]


def test_a_property_and_its_setter_are_one_method() -> None:
    found = Names(lazily(PROJECT, [])).only_method("some_thing")
    assert found is not None and found.is_property


def test_modules_are_the_same_whether_facts_are_read_or_there() -> None:
    names = Names(lazily(PROJECT, []))
    there = Names({path: extract(source.encode()) for path, source in PROJECT.items()})
    for path in PROJECT:
        assert names.modules[path].functions.keys() == there.modules[path].functions.keys()
        assert names.modules[path].body == there.modules[path].body
