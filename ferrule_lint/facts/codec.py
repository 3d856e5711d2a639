"""Facts <-> JSON text, for the cache and between processes.

A text says nothing but data: reading it builds the classes of `types.NODES` and nothing else, whoever wrote it. It is
laid out for speed, so that reading is a few calls of C code per class instead of Python code per node:

    ["ferrule-facts 2", "<crc32 of all that follows>", [string, ...], [[[tag, column, ...], ...], ...]]

A level holds the nodes of one height (their children all lie in earlier levels, so nothing recurses, however deep the
source), grouped by class; a group has the class's index in `types.NODES` and then its fields column by column. A node
or string is referred to by its number, in order of appearance from 1; 0 is None. How a field is written follows from
its annotation in `types`: a position takes four columns, a tuple one column of lengths and then its items' columns.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias, get_args

from ferrule_lint.facts import types as f

#: levels beyond this are refused: deeper tuples could exhaust the C stack of whoever hashes or compares them
MAX_DEPTH = 10_000


class CodecError(Exception):
    """A text that is not facts of this version, or facts too deep to write."""


class _Node(NamedTuple):
    """The number of a node of one of `types`."""

    types: frozenset[type]


class _String(NamedTuple):
    types: frozenset[type]


class _Plain(NamedTuple):
    """A JSON value as it is."""

    types: frozenset[type]


class _Position(NamedTuple):
    pass


class _Many(NamedTuple):
    """A tuple; its items are tuples too if there are several `parts`."""

    parts: tuple[_Node | _String, ...]


_Kind: TypeAlias = _Node | _String | _Plain | _Position | _Many
_Column: TypeAlias = Iterable[Any]


def _node(*types: type, optional: bool = False) -> _Node:
    return _Node(frozenset((*types, type(None)) if optional else types))


_INT: frozenset[type] = frozenset((int,))
_EXPR = _node(*get_args(f.Expr))
_EXPR_OR_NONE = _node(*get_args(f.Expr), optional=True)
_STR = _String(frozenset((str,)))
_STR_OR_NONE = _String(frozenset((str, type(None))))
_KINDS: dict[str, _Kind] = {
    "int": _Plain(_INT),
    "bool": _Plain(frozenset((bool,))),
    "str": _STR,
    "str | None": _STR_OR_NONE,
    "Pos": _Position(),
    "Expr": _EXPR,
    "Expr | None": _EXPR_OR_NONE,
    "Body": _Many((_node(*get_args(f.Stmt)),)),
    "tuple[str, ...]": _Many((_STR,)),
    "tuple[Expr, ...]": _Many((_EXPR,)),
    "tuple[Expr | None, ...]": _Many((_EXPR_OR_NONE,)),
    "tuple[tuple[str | None, Expr], ...]": _Many((_STR_OR_NONE, _EXPR)),
    "tuple[tuple[Expr, Expr | None], ...]": _Many((_EXPR, _EXPR_OR_NONE)),
    "tuple[Generator, ...]": _Many((_node(f.Generator),)),
    "tuple[Handler, ...]": _Many((_node(f.Handler),)),
    "tuple[Parameter, ...]": _Many((_node(f.Parameter),)),
    "tuple[Import, ...]": _Many((_node(f.Import),)),
    "tuple[ClassFacts, ...]": _Many((_node(f.ClassFacts),)),
    "tuple[FunctionFacts, ...]": _Many((_node(f.FunctionFacts),)),
    "tuple[SuppressionComment, ...]": _Many((_node(f.SuppressionComment),)),
}


def _width(kind: _Kind) -> int:
    """The number of columns that a field takes."""
    if isinstance(kind, _Many):
        return 1 + len(kind.parts)
    return 4 if isinstance(kind, _Position) else 1


class _Layout(NamedTuple):
    make: Callable[[Iterable[Any]], Any]
    kinds: tuple[_Kind, ...]
    #: tag and columns
    width: int
    #: indices of the fields that hold a node, and of those that hold tuples with nodes and their number of parts
    nodes: tuple[int, ...]
    many: tuple[tuple[int, int], ...]
    #: indices, in a group, of two columns of lengths that have to agree
    parallel: tuple[int, int] | None


#: tuple fields that pair up item by item
_PARALLEL: dict[type, tuple[str, str]] = {f.Compare: ("ops", "rights"), f.DictDisplay: ("keys", "values")}


def _layout(cls: Any) -> _Layout:
    # annotations are kept as text, or as forward references to it
    notes = {name: str(getattr(note, "__forward_arg__", note)) for name, note in cls.__annotations__.items()}
    kinds = tuple([_KINDS[notes[name]] for name in cls._fields])
    starts = [1]
    for kind in kinds:
        starts.append(starts[-1] + _width(kind))
    pair = _PARALLEL.get(cls)
    return _Layout(
        make=partial(tuple.__new__, cls),
        kinds=kinds,
        width=starts[-1],
        nodes=tuple([i for i, k in enumerate(kinds) if isinstance(k, _Node)]),
        many=tuple(
            (i, len(k.parts))
            for i, k in enumerate(kinds)
            if isinstance(k, _Many) and any(isinstance(p, _Node) for p in k.parts)
        ),
        parallel=pair and (starts[cls._fields.index(pair[0])], starts[cls._fields.index(pair[1])]),
    )


_LAYOUTS: tuple[_Layout, ...] = tuple([_layout(cls) for cls in f.NODES])
_TAGS: dict[type, int] = {cls: tag for tag, cls in enumerate(f.NODES)}


# ---------------------------------------------------------------------- writing
def dump(facts: f.FileFacts) -> str:
    """The text of a file's facts: equal text for facts that were made from the same bytes."""
    strings: dict[str | None, int] = {None: 0}
    numbers: dict[int, int] = {id(None): 0}
    levels: list[list[list[Any]]] = []
    for level in _levels(facts):
        groups: list[list[Any]] = []
        for tag, nodes in sorted(level.items()):
            groups.append([tag, *_write(_LAYOUTS[tag], nodes, numbers, strings)])
            start = len(numbers)
            numbers.update(zip(map(id, nodes), range(start, start + len(nodes)), strict=True))
        levels.append(groups)
    del strings[None]
    body = json.dumps([list(strings), levels], separators=(",", ":"))[1:]
    return _head(body) + body


def _head(body: str) -> str:
    """How a text with this body starts."""
    return f'["ferrule-facts {f.FACTS_VERSION}","{zlib.crc32(body.encode("ascii")):08x}",'


_HEAD_LENGTH = len(_head(""))


def _levels(root: f.FileFacts) -> list[dict[int, list[Any]]]:
    """By height, then tag: every node once, however often it is referred to."""
    heights: dict[int, int] = {id(None): -1}
    levels: list[dict[int, list[Any]]] = [{}]
    leaves = levels[0]
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if type(node) is list:  # a node and its children, all of which have been placed by now
            node, children = node
            if id(node) in heights:
                continue
            height = 1 + max([heights[id(c)] for c in children])
            if height >= len(levels):
                if height >= MAX_DEPTH:
                    raise CodecError("nested too deeply to write")
                levels.append({})
            level = levels[height]
        else:
            if id(node) in heights:
                continue
            tag = _TAGS.get(type(node), -1)
            if tag < 0:
                raise CodecError(f"not a node: {type(node).__name__}")
            layout = _LAYOUTS[tag]
            children = [node[i] for i in layout.nodes]
            for i, parts in layout.many:
                if parts == 1:
                    children += node[i]
                else:
                    children += [x for item in node[i] for x in item if type(x) is not str]
            if children:
                stack.append([node, children])
                stack += reversed(children)
                continue
            height, level = 0, leaves
        heights[id(node)] = height
        tag = _TAGS[type(node)]
        if tag in level:
            level[tag].append(node)
        else:
            level[tag] = [node]
    return levels


def _write(
    layout: _Layout, nodes: list[Any], numbers: dict[int, int], strings: dict[str | None, int]
) -> Iterator[list[Any]]:
    for kind, column in zip(layout.kinds, zip(*nodes, strict=True), strict=True):
        if isinstance(kind, _Many):
            yield list(map(len, column))
            flat = list(chain.from_iterable(column))
            if len(kind.parts) == 1:
                yield _numbered(kind.parts[0], flat, numbers, strings)
            else:
                for i, part in enumerate(kind.parts):
                    yield _numbered(part, [item[i] for item in flat], numbers, strings)
        elif isinstance(kind, _Position):
            yield from map(list, zip(*column, strict=True))
        elif isinstance(kind, _Plain):
            yield list(column)
        else:
            yield _numbered(kind, column, numbers, strings)


def _numbered(
    kind: _Node | _String, column: _Column, numbers: dict[int, int], strings: dict[str | None, int]
) -> list[int]:
    if isinstance(kind, _String):
        return [strings.setdefault(s, len(strings)) for s in column]
    return [numbers[i] for i in map(id, column)]


# ---------------------------------------------------------------------- reading
def load(text: str) -> f.FileFacts:
    """The facts that a text of `dump` holds; CodecError for any other text."""
    try:
        return _load(text)
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError, MemoryError) as error:
        raise CodecError(f"not the text of facts: {error!r}") from None


def _load(text: str) -> f.FileFacts:
    if text[:_HEAD_LENGTH] != _head(text[_HEAD_LENGTH:]):
        raise CodecError("not the text of facts, of another version, or damaged")
    _, _, strings, levels = json.loads(text)
    if len(levels) > MAX_DEPTH:
        raise CodecError("nested too deeply to read")
    # interning also refuses all but strings
    texts: list[str | None] = [None, *map(sys.intern, strings)]
    nodes: list[Any] = [None]
    numbers: dict[int, int] = {}
    for level in levels:
        made: list[Any] = []
        for group in level:
            layout = _LAYOUTS[_tag(group[0])]
            if len(group) != layout.width:
                raise CodecError("wrong number of columns")
            if layout.parallel and group[layout.parallel[0]] != group[layout.parallel[1]]:
                raise CodecError("fields that do not pair up")
            columns = _read(layout, group, nodes, texts, numbers)
            made += map(layout.make, zip(*columns, strict=True))
        nodes += made
    root = nodes[-1]
    if type(root) is not f.FileFacts:
        raise CodecError("no facts of a file")
    return root


def _tag(value: object) -> int:
    if type(value) is not int or not 0 <= value < len(_LAYOUTS):
        raise CodecError("unknown tag")
    return value


def _read(
    layout: _Layout, group: list[Any], nodes: list[Any], texts: list[str | None], numbers: dict[int, int]
) -> Iterator[_Column]:
    place = 1
    for kind in layout.kinds:
        if isinstance(kind, _Many):
            parts = [_resolved(part, group[place + 1 + i], nodes, texts) for i, part in enumerate(kind.parts)]
            place += 1 + len(parts)
            yield _split(group[place - 1 - len(parts)], parts[0] if len(parts) == 1 else list(zip(*parts, strict=True)))
        elif isinstance(kind, _Position):
            quarters = group[place : place + 4]
            for quarter in quarters:
                _check(quarter, _INT)
            place += 4
            # equal numbers become one: most stand in the same few lines
            yield zip(*[map(numbers.setdefault, quarter, quarter) for quarter in quarters], strict=True)
        else:
            yield _resolved(kind, group[place], nodes, texts)
            place += 1


def _resolved(
    kind: _Node | _String | _Plain, column: list[Any], nodes: list[Any], texts: list[str | None]
) -> list[Any]:
    if isinstance(kind, _Node):
        column = list(map(nodes.__getitem__, column))
    elif isinstance(kind, _String):
        column = list(map(texts.__getitem__, column))
    _check(column, kind.types)
    return column


def _check(column: list[Any], types: frozenset[type]) -> None:
    if not types.issuperset(map(type, column)):
        raise CodecError("a field of another type")


def _split(lengths: list[int], items: list[Any]) -> list[tuple[Any, ...]]:
    """The items as tuples of these lengths."""
    _check(lengths, _INT)
    if sum(lengths) != len(items) or min(lengths, default=0) < 0:
        raise CodecError("lengths that do not add up")
    rest = iter(items)
    return [tuple(islice(rest, n)) for n in lengths]
