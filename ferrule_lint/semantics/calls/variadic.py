"""Functions that gather arguments and hand them on, as they are for one call.

Of `def fire(self, event, *args)`, which calls `getattr(hook, event)(*args)`, a call with two arguments more is a call
of `def fire(self, event, args_0, args_1)`, which calls `getattr(hook, event)(args_0, args_1)`: what is passed goes its
way by name. The same function for other numbers of arguments is another one, as a template is for other types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import is_open
from ferrule_lint.semantics.project.entities import FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: arguments that a call passes beyond the parameters that have names
MOST_ARGUMENTS = 8
#: spellings of one function
MOST_SPELLINGS = 64
_GATHERS = ("*", "**")


class Spelled(NamedTuple):
    """A call of a function whose parameters all have names."""

    function: FunctionInfo
    call: f.Call
    keywords: Mapping[str, Value]


def spelled(
    analysis: Analysis, function: FunctionInfo, receiver: bool, call: f.Call | None, keywords: Mapping[str, Value]
) -> Spelled | None:
    """What a call comes to of a function that gathers arguments and does nothing else with them than hand them on;
    None if it has none to gather, or if that cannot be told. `receiver`: whether a method is called on something."""
    if call is None or not any(p.kind in _GATHERS for p in function.parameters) or is_open(call):
        return None
    if function.name in _CALLED_BY_OTHERS or function.qualname in function.module.outer:
        return None
    handed_on = analysis.bodies.once(_handed_on, function.body)
    gathering = {p.kind: p.name for p in function.parameters if (p.kind, p.name) in handed_on}
    if not gathering:
        return None
    of_instance = function.owner is not None and not function.is_static and (receiver or function.is_class_method)
    normal = [p for p in function.parameters if p.kind == "normal"]
    more = max(len(call.args) - len(normal) + of_instance, 0) if "*" in gathering else 0
    own = {p.name for p in function.parameters if p.kind in ("normal", "keyword")}
    others = tuple(sorted([k for k, _ in call.keywords if k and k not in own])) if "**" in gathering else ()
    if more + len(others) > MOST_ARGUMENTS:
        return None
    names = dict(zip(others, _names(gathering.get("**", ""), len(others)), strict=True))
    made = function.spellings.get((more, others))
    if made is None:
        if len(function.spellings) >= MOST_SPELLINGS:
            analysis.count("spellings of a function")
            return None
        made = function.spellings[more, others] = _made(function, gathering, more, names)
    given = tuple([(names.get(name or "", name), value) for name, value in call.keywords])
    return Spelled(made, call._replace(keywords=given), {names.get(k, k): v for k, v in keywords.items()})


#: constructors are asked what they fix of an instance, by others than those who call them
_CALLED_BY_OTHERS = frozenset({"__init__", "__new__"})


def _handed_on(body: f.Body) -> frozenset[tuple[str, str]]:
    """The names that a body only mentions where it passes on all that they hold, `f(*args)` or `f(**kwargs)`, each with
    what stands before it."""
    passed = [given for call in nodes(body, f.Call) for given in _passed_on(call)]
    mentioned = Counter(name.id for name in nodes(body, f.Name))
    return frozenset([(kind, name) for (kind, name), times in Counter(passed).items() if mentioned[name] == times])


def _passed_on(call: f.Call) -> Iterator[tuple[str, str]]:
    yield from (("*", a.value.id) for a in call.args if type(a) is f.Starred and type(a.value) is f.Name)
    yield from (("**", value.id) for name, value in call.keywords if name is None and type(value) is f.Name)


def _names(gathering: str, count: int) -> list[str]:
    return [f"{gathering}_{i}" for i in range(count)]


def _made(function: FunctionInfo, gathering: dict[str, str], more: int, named: dict[str, str]) -> FunctionInfo:
    """What a function comes to for `more` arguments that are gathered by position, and `named` ones by keyword, with
    the parameter of each."""
    given = _names(gathering.get("*", ""), more)
    parameters: list[f.Parameter] = []
    for p in function.parameters:
        if gathering.get(p.kind) != p.name:
            parameters.append(p)
        else:
            kind, names = ("normal", given) if p.kind == "*" else ("keyword", [*named.values()])
            parameters += [f.Parameter(name, None, None, kind) for name in names]
    body = _rewritten(function.body, (gathering.get("*", ""), given), (gathering.get("**", ""), named))
    return function.spelled(tuple(parameters), body, f"*{more}{''.join(f',{name}' for name in named)}")


def _rewritten(node: Any, positional: tuple[str, list[str]], keyword: tuple[str, dict[str, str]]) -> Any:
    """A body in which names stand for what is handed on."""
    parts = [_rewritten(part, positional, keyword) if isinstance(part, tuple) else part for part in node]
    same = all(a is b for a, b in zip(parts, node, strict=True))
    if type(node) is f.Call:
        return _call_of(node if same else f.Call(*parts), positional, keyword)
    if same:
        return node
    return tuple(parts) if type(node) is tuple else type(node)(*parts)


def _call_of(call: f.Call, positional: tuple[str, list[str]], keyword: tuple[str, dict[str, str]]) -> f.Call:
    if not is_open(call):
        return call
    args: list[f.Expr] = []
    for a in call.args:
        if type(a) is f.Starred and type(a.value) is f.Name and a.value.id == positional[0]:
            args += [f.Name(name, a.value.pos) for name in positional[1]]
        else:
            args.append(a)
    keywords: list[tuple[str | None, f.Expr]] = []
    for name, value in call.keywords:
        if name is None and type(value) is f.Name and value.id == keyword[0]:
            keywords += [(k, f.Name(own, value.pos)) for k, own in keyword[1].items()]
        else:
            keywords.append((name, value))
    return call._replace(args=tuple(args), keywords=tuple(keywords))
