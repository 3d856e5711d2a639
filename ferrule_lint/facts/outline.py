"""What can be said of a file without its bodies, and facts whose bodies are read when they are asked for.

Most files of a project say nothing to the one that is linted. An outline tells which may: their names, imports, the
bases of their classes. It has a line of its own before the facts in the cache; reading it takes a fraction of the time.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeAlias

from ferrule_lint.facts import codec
from ferrule_lint.facts import types as f
from ferrule_lint.facts.codec import CodecError


class Outline(NamedTuple):
    lines: int
    imports: tuple[f.Import, ...]
    suppressions: tuple[f.SuppressionComment, ...]
    #: every identifier that stands in an expression
    names: frozenset[str]
    #: (name, last names of the bases) of each class
    classes: tuple[tuple[str, tuple[str, ...]], ...]
    #: names of what stands in classes as a function
    methods: frozenset[str]
    #: a digest of all but the bodies, whatever line they stand on: imports, signatures, bases
    shape: str


class LazyFacts:
    """Facts of a file: the outline at hand, the rest made by `read` once somebody asks for it."""

    __slots__ = ("_facts", "_read", "outline")

    def __init__(
        self, outline: Outline, read: Callable[[], f.FileFacts] | None, facts: f.FileFacts | None = None
    ) -> None:
        self.outline = outline
        self._read = read
        self._facts = facts

    @property
    def whole(self) -> f.FileFacts:
        """All facts, the same object each time. Raises what `read` raises."""
        if self._facts is None:
            assert self._read is not None
            self._facts, self._read = self._read(), None
        return self._facts


Facts: TypeAlias = f.FileFacts | LazyFacts


def whole(facts: Facts) -> f.FileFacts:
    """Facts with their bodies."""
    return facts.whole if type(facts) is LazyFacts else facts  # type: ignore[return-value]


def with_outline(facts: Facts) -> LazyFacts:
    """Facts whose outline is made once, however often it is asked for."""
    if type(facts) is LazyFacts:
        return facts
    assert type(facts) is f.FileFacts
    return LazyFacts(outline(facts), None, facts)


def outline(facts: Facts) -> Outline:
    """The outline of facts; made here for those that are whole."""
    if type(facts) is LazyFacts:
        return facts.outline
    assert type(facts) is f.FileFacts
    return Outline(
        facts.lines,
        facts.imports,
        facts.suppressions,
        frozenset(facts.names),
        tuple([(plain_name(c.qualname), tuple([_base_name(b) for b in c.bases])) for c in facts.classes]),
        frozenset([plain_name(fn.qualname) for fn in facts.functions if fn.owner is not None]),
        shape_of(facts),
    )


def shape_of(facts: f.FileFacts, without: Collection[str] = ()) -> str:
    """The digest of all but the bodies, as if some top-level functions, and what is in them, were not there."""
    imports = [(i.module, i.name, i.alias, i.level) for i in facts.imports]
    kept = (
        [fn for fn in facts.functions if fn.qualname.partition(".")[0] not in without] if without else facts.functions
    )
    functions = [_without_places(fn._replace(line=0, body=())) for fn in kept]
    classes = [_without_places(c._replace(line=0, body=())) for c in facts.classes]
    return hashlib.sha256(json.dumps([imports, functions, classes]).encode()).hexdigest()[:24]


def _without_places(node: object) -> list[object]:
    """A node as a flat list that tells it from others, wherever it stands."""
    out: list[object] = []
    stack = [node]
    while stack:
        item = stack.pop()
        if not isinstance(item, tuple):
            out.append(item)
        elif type(item) is tuple:
            out.append(f"tuple {len(item)}")
            stack += item[::-1]
        else:
            head, places = _WITHOUT_PLACE[type(item)]
            out.append(head)
            stack += [item[place] for place in places]
    return out


def _parts(node: type) -> tuple[str, tuple[int, ...]]:
    """How nodes of a class begin in the list, and the fields that follow, the last first."""
    fields = node._fields  # type: ignore[attr-defined]
    places = [place for place, name in enumerate(fields) if name != "pos"]
    return f"{node.__name__} {len(places)}", tuple(reversed(places))


_WITHOUT_PLACE = {node: _parts(node) for node in f.NODES}


def plain_name(qualname: str) -> str:
    """`C.m@2` -> `m`: the name that a definition binds."""
    return qualname.rpartition(".")[2].partition("@")[0]


def _base_name(base: f.Expr) -> str:
    """`a.B[T]` -> `B`; empty for what is no name."""
    while type(base) is f.Subscript:
        base = base.base
    if type(base) is f.Name:
        return base.id
    return base.attr if type(base) is f.Attr else ""


# ---------------------------------------------------------------------- text
def dump(facts: f.FileFacts) -> str:
    """A line of JSON with the outline, whose checksum covers all that follows, and a line with the facts."""
    o = outline(facts)
    first = json.dumps(
        [o.lines, o.imports, o.suppressions, sorted(o.names), o.classes, sorted(o.methods), o.shape],
        separators=(",", ":"),
    )
    body = f"{first[1:]}\n{codec.dump(facts)}"
    return _head(body) + body


def _head(body: str) -> str:
    return f'["ferrule-outline {f.FACTS_VERSION}","{zlib.crc32(body.encode("ascii")):08x}",'


_HEAD_LENGTH = len(_head(""))


def load(text: str, otherwise: Callable[[], f.FileFacts]) -> LazyFacts:
    """The facts that a text of `dump` holds, but for the outline as yet unread; CodecError for any other text.

    `otherwise` makes them if what comes after the outline should be no facts, for all its good checksum.
    """
    first, _, rest = text.partition("\n")
    try:
        if text[:_HEAD_LENGTH] != _head(text[_HEAD_LENGTH:]):
            raise CodecError("not the text of an outline, of another version, or damaged")
        _, _, lines, imports, suppressions, names, classes, methods, shape = json.loads(first)
        known = Outline(
            _one(lines, int),
            tuple([_fields(f.Import, item) for item in imports]),
            tuple([_fields(f.SuppressionComment, item) for item in suppressions]),
            frozenset(_texts(names)),
            tuple([(_one(name, str), tuple(_texts(bases))) for name, bases in classes]),
            frozenset(_texts(methods)),
            _one(shape, str),
        )
    except (ValueError, TypeError, LookupError, RecursionError, MemoryError) as error:
        raise CodecError(f"not the text of an outline: {error!r}") from None

    def read() -> f.FileFacts:
        try:
            return codec.load(rest)
        except CodecError:
            return otherwise()

    return LazyFacts(known, read)


#: annotation -> what a field may hold
_ALLOWED: dict[str, tuple[type, ...]] = {"int": (int,), "str": (str,), "str | None": (str, type(None))}


def _fields(cls: Any, item: list[Any]) -> Any:
    made = cls._make(item)
    for name, value in zip(cls._fields, made, strict=True):
        note = cls.__annotations__[name]
        if type(value) not in _ALLOWED[getattr(note, "__forward_arg__", note)]:
            raise CodecError("a field of another type")
    return made


def _one(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise CodecError("a value of another type")
    return value


def _texts(values: Any) -> list[str]:
    if type(values) is not list or not all([type(v) is str for v in values]):
        raise CodecError("no list of texts")
    return values
