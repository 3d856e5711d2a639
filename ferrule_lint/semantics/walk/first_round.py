"""Loops whose first round does nothing that others would see: `for dst in range(n): if dst > 0: send(x)`.

What is left of them are the rounds of `range(1, n)`, which is how the other half of an exchange counts.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.conditions import atoms, evaluate
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Exit, Term, Trace, every_term
from ferrule_lint.semantics.walk.frame import Frame


def left_out(frame: Frame, s: f.For, body: Trace) -> Trace:
    """The body of a `for` as it is from its second round on, where nothing is issued in the first."""
    number = _number(s)
    if number is None or not any(type(t) is Choice for t in body):
        return body
    first = {frame.key(f.Compare(number, (op,), (f.Const(n),), number.pos)): True for op, n in _FIRST}
    first[frame.key(number)] = False
    asked = {atom.key for term in body if type(term) is Choice for atom in atoms(term.formula)}
    answers = {key: first[key.lstrip("=")] for key in sorted(asked) if key.lstrip("=") in first}
    if not answers or any(_is_seen(term) for term in every_term(_under(body, answers))):
        return body
    return _under(body, {key: not outcome for key, outcome in answers.items()})


#: how it is asked whether a number that counts from zero is zero
_FIRST = (("==", "0"), ("<=", "0"), ("<", "1"))


def _is_seen(term: Term) -> bool:
    """Whether a term of a round is something that others see, or that ends the loop."""
    if type(term) is CallTerm:
        return bool(term.summary.events) or term.summary.busy
    return type(term) is Event or (type(term) is Exit and term.kind != "continue")


def _number(s: f.For) -> f.Name | None:
    """What counts the rounds of a loop from zero: `i` of `for i in range(n)` and of `for i, x in enumerate(xs)`."""
    call, target = s.iterable, s.target
    if type(call) is not f.Call or call.keywords or not 1 <= len(call.args) <= 2:
        return None
    if last_name(call.func) == "enumerate" and len(call.args) == 1 and type(target) is f.Sequence and target.elements:
        target = target.elements[0]
    elif last_name(call.func) != "range" or (len(call.args) == 2 and call.args[0] != f.Const("0")):
        return None
    return target if type(target) is f.Name else None


def _under(trace: Trace, answers: dict[str, bool]) -> Trace:
    """A trace in which some tests have been answered."""
    out: list[Term] = []
    for term in trace:
        if type(term) is not Choice:
            out.append(term)
            continue
        taken = evaluate(term.formula, answers)
        if taken is None:
            out.append(term._replace(body=_under(term.body, answers), orelse=_under(term.orelse, answers)))
        else:
            out += _under(term.body if taken else term.orelse, answers)
            if out and type(out[-1]) is Exit:
                break
    return tuple(out)
