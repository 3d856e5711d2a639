"""What is made on first use: `if self._cache is None: self._cache = make()`, `if not self.prepared: self.prepare()`.

Who comes first makes it, and that is mostly somebody else: what making it takes is a guess for whoever asks for it. So
is what follows `if hasattr(self, "_cache"): return`.
"""

from __future__ import annotations

import re

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.divergence.compare import GROUP_CREATION
from ferrule_lint.semantics.domain.assigned import assigning
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.domain.trace import Trace, weakened
from ferrule_lint.semantics.walk.frame import Frame

_NONE = f.Const("None")
#: names of flags that say of something that it is there, and not that it is over
_MADE = re.compile(
    r"(prepared|initiali[sz]ed|inited|setup|set_up|built|loaded|wrapped|created|compiled|configured|ready)$"
)


def as_guesses(frame: Frame, s: f.If, body: Trace) -> Trace:
    """What the body of an `if` issues, as guesses where it makes what the test misses.

    A group that is made for its own sake is none: whoever asks for one may well be the first. One that is made on the
    way to something else has mostly been made by then.
    """
    if not body:
        return body
    tests = s.test.values if type(s.test) is f.BoolOp and s.test.op == "and" else (s.test,)
    made = next((place for test in tests if (place := _missed(test)) and _is_made(frame, place, s.body)), "")
    if not made:
        return body
    for_groups = frame.models.convention("group", made.rpartition(".")[2]) is not None
    return weakened(body, lambda e: e.op not in GROUP_CREATION or not (for_groups or e in body))


def turned(s: f.If) -> f.If:
    """The same `if` the other way round: `if hasattr(self, "_x"): return self._x`, `else: self._x = make()`."""
    return s._replace(test=f.Not(s.test), body=s.orelse, orelse=s.body)


def is_made_after(frame: Frame, s: f.Stmt, rest: f.Body) -> bool:
    """Whether what follows an `if` in its block makes what the `if` has looked for, which leaves where it is there."""
    if type(s) is not f.If or s.orelse or len(s.body) != 1 or type(s.body[0]) is not f.Return:
        return False
    tests = s.test.values if type(s.test) is f.BoolOp and s.test.op == "and" else (s.test,)
    for test in tests:
        place = _missed(f.Not(test))
        if place and (place_name(test) != place or _MADE.search(place) is not None) and _is_made(frame, place, rest):
            return all(one is test or _is_not_asked_anew(frame, one) for one in tests)
    return False


def _is_not_asked_anew(frame: Frame, test: f.Expr) -> bool:
    """Whether a test asks that the caller does not want what is there to be made once more (`not force`), and this one
    need not want it."""
    switch = test.operand if type(test) is f.Not else None
    if type(switch) is not f.Name or frame.function is None:
        return False
    named = any(p.name == switch.id and p.default == f.Const("False") for p in frame.function.parameters)
    return named and frame.eval(switch).const != "True"


def _missed(test: f.Expr) -> str:
    """The place that has nothing yet where a test holds: `not x`, `x is None`, `not hasattr(self, "x")`; or ""."""
    if type(test) is f.Compare and test.rights == (_NONE,):
        return place_name(test.left) if test.ops == ("is",) else ""
    if type(test) is not f.Not:
        return ""
    asked = test.operand
    if type(asked) is f.Compare and asked.rights == (_NONE,):
        return place_name(asked.left) if asked.ops == ("is not",) else ""
    if type(asked) is f.Call and last_name(asked.func) == "hasattr" and len(asked.args) == 2:
        owner, name = place_name(asked.args[0]), asked.args[1]
        return f"{owner}.{name.text[1:-1]}" if owner and type(name) is f.Const else ""
    return place_name(asked)


def _is_made(frame: Frame, place: str, body: f.Body) -> bool:
    """Whether a block sets a place that outlives the function, or has a method of the instance set it."""
    declared = frame.function.body if frame.function is not None else ()
    kept = "." in place or any(type(d) is f.ScopeDecl and place in d.names for d in declared)
    return kept and (any(assigning(body, place)) or _sets_by_method(frame, place, body))


def _sets_by_method(frame: Frame, place: str, body: f.Body) -> bool:
    """Whether a block runs a method of the instance that sets an attribute: `self.prepare()` for `self.prepared`,
    `self.configure(name=name)` for `self.config.name`."""
    owner, _, name = place.rpartition(".")
    if frame.self_class is None or not owner or place.partition(".")[0] != frame.self_name:
        return False
    for s in body:
        call = s.value if type(s) is f.ExprStmt else None
        if type(call) is not f.Call or type(call.func) is not f.Attr or place_name(call.func.base) != frame.self_name:
            continue
        if any(keyword == name for keyword, _ in call.keywords):
            return True
        if owner == frame.self_name:
            method = frame.analysis.names.method(frame.self_class, call.func.attr)
            own = method.parameters[0].name if method is not None and method.parameters else ""
            if method is not None and own and any(assigning(method.body, f"{own}.{name}")):
                return True
    return False
