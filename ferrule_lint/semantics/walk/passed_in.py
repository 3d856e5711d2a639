"""What the constructor of a class is passed: `Trainer(model, writer=Writer() if rank == 0 else None)`.

What an attribute holds is asked for without its instance. Where a call of the class passes something that differs by
rank, or from one host to the next, so does the attribute that keeps it; and where two arms of a test of the rank make
the instance, what one of them passes and the other does not is there on some ranks only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.lattice import Divergence, Value, worse
from ferrule_lint.semantics.domain.text import is_open, last_name, shown
from ferrule_lint.semantics.project import options
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.walk.at_place import WatchingFrame

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: calls of one class that are looked at; with more nothing is said
MOST_CALLS = 8
#: names behind each other, for a first look at what a call passes
_DEEPEST = 2
#: what tells ranks or hosts apart, by the names in it
_TELLS = re.compile(
    r"(?<![a-z])(ranks?|main|masters?|chief|leader|primary|first|zero|is_root|driver|coordinator|time|clock|monotonic"
    r"|host(name)?|process)(?![a-z])",
    re.IGNORECASE,
)
#: what a name is that ends like this all ranks have, whatever stands before it
_OF_ALL = re.compile(
    r"_(groups?|grads?|weights?|params|buffers?|placements|size|dir|path|addr|strategy)$", re.IGNORECASE
)
_KINDS = ("rank", "host")
_FLAGS = ("None", "True", "False")


class _Site(NamedTuple):
    """A call of the class, with what it passes for each parameter; without what cannot be told."""

    module: ModuleInfo
    #: the function that it stands in, None at the top level of the file
    owner: FunctionInfo | None
    call: f.Call
    given: dict[str, f.Expr]

    @property
    def body(self) -> f.Body:
        return self.module.body if self.owner is None else self.owner.body

    @property
    def place(self) -> tuple[str, str]:
        return self.module.path, "" if self.owner is None else self.owner.id


def passed(analysis: Analysis, method: FunctionInfo, layer: int) -> dict[str, Value]:
    """What differs of the constructor's parameters because its callers pass it."""
    if method.name != "__init__" or is_test(method.module.path):
        return {}
    parameters = [p for p in method.parameters[1:] if p.kind in ("normal", "keyword")]
    sites = list(_sites(analysis, method, parameters))
    if not sites or len(sites) > MOST_CALLS:
        return {}
    found: dict[str, Value] = {}
    for place in dict.fromkeys(site.place for site in sites if _may_tell(analysis, site)):
        own = [site for site in sites if site.place == place]
        frame = analysis.caller(own[0].module, own[0].owner, layer)
        for parameter in parameters:
            value = _of_parameter(frame, own, parameter.name)
            if value is not None:
                before = found.get(parameter.name, Value())
                found[parameter.name] = value._replace(
                    divergence=worse(before.divergence, value.divergence),
                    presence=worse(before.presence, value.presence),
                )
    return found


def _sites(analysis: Analysis, method: FunctionInfo, parameters: list[f.Parameter]) -> Iterator[_Site]:
    for module, owner, call in options.calls_outside_tests(analysis, method):
        given: dict[str, f.Expr] = {}
        may_give = is_open(call)
        for parameter in parameters:
            value = options.passed(call, method, True, parameter.name)
            if value is not None:
                given[parameter.name] = value
            elif parameter.default is not None and not may_give:
                given[parameter.name] = parameter.default
        yield _Site(module, owner, call, given)


def _may_tell(analysis: Analysis, site: _Site) -> bool:
    """Whether what a call passes, or the tests that it stands under, may tell ranks apart: a look at the names."""
    exprs = [expr for expr in site.given.values() if type(expr) is not f.Const]
    under = [tests for value, tests in _kept(site) if value is site.call]
    told = any(_tells(site.body, expr, 0) or _asks(analysis, site, expr) for expr in exprs)
    return told or any(_named(test) for tests in under for test in tests)


def _asks(analysis: Analysis, site: _Site, expr: f.Expr) -> bool:
    """Whether a function of the project is asked that returns what may tell ranks apart (`draws=is_visualizer()`)."""
    if type(expr) is not f.Call:
        return False
    asked = analysis.names.resolve(expr.func, site.module)
    returned = [s.value for s in asked.body if type(s) is f.Return] if type(asked) is FunctionInfo else []
    return any(value is not None and _named(value) for value in returned)


def _kept(site: _Site) -> Iterator[tuple[f.Expr, tuple[f.Expr, ...]]]:
    for statement in statements(site.body):
        if type(statement) is f.Assign and statement.value is site.call:
            for target in statement.targets:
                yield from assignments(site.body, last_name(target))


def _tells(body: f.Body, expr: f.Expr, depth: int) -> bool:
    if _named(expr):
        return True
    if depth >= _DEEPEST:
        return False
    for name in {node.id for node in walk((expr,)) if type(node) is f.Name}:
        for value, tests in assignments(body, name):
            if any(_named(test) for test in tests) or _tells(body, value, depth + 1):
                return True
    return False


def _named(expr: f.Expr) -> bool:
    names = (last_name(node) for node in walk((expr,)) if type(node) is f.Name or type(node) is f.Attr)
    return any(_TELLS.search(name) and not _OF_ALL.search(name) for name in names)


def _of_parameter(frame: WatchingFrame, sites: list[_Site], name: str) -> Value | None:
    """What a function passes for a parameter, in all its calls; None if that tells of no difference."""
    divergence: Divergence | None = None
    presence: Divergence | None = None
    rank = ""
    values = [(site, frame.seen(site.given[name])) for site in sites if name in site.given]
    for site, value in values:
        if _counts(value.divergence):
            divergence, rank = worse(divergence, _via(frame, value.divergence, site)), value.rank
        if _counts(value.presence):
            presence = worse(presence, _via(frame, value.presence, site))
    for (site, value), (other, beside) in pairwise(values):
        under = frame.under(site.call) or frame.under(other.call)
        if under is None or under.kind != "rank":
            continue
        one, two = _flag(site, name, value), _flag(other, name, beside)
        if "None" in (one, two) and one != two and "" not in (one, two):
            presence = worse(presence, _via(frame, under, other))
        elif one != two and {one, two} == {"True", "False"}:
            divergence = worse(divergence, _via(frame, under, other))
    if divergence is None and presence is None:
        return None
    return Value(divergence=divergence, presence=presence, rank=rank)


def _counts(found: Divergence | None) -> bool:
    return found is not None and found.kind in _KINDS and not found.assumed and not found.member


def _via(frame: WatchingFrame, found: Divergence | None, site: _Site) -> Divergence:
    assert found is not None
    step = frame.step("call", site.call.pos, f"passed on here: `{shown(site.call)}`")
    return found.then(step).at_most(Confidence.MEDIUM)


def _flag(site: _Site, name: str, value: Value) -> str:
    """None, True, False, "there" for something that is certainly there, "" for what cannot be told."""
    given = site.given[name]
    if type(given) is f.Const:
        return given.text if given.text in _FLAGS else "there"
    return (value.const or "") if value.const in _FLAGS else "there" if value.there or type(given) is f.Call else ""
