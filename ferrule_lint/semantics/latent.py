"""Latent findings: what comes true when a divergent argument is passed.

A parameter is a symbolic condition. A choice on it whose arms issue different events is nothing to report in the
function itself, and a finding at the call that passes something divergent.
"""

from __future__ import annotations

from collections.abc import Mapping

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.compare import Comparison, difference, issues
from ferrule_lint.semantics.conditions import atoms
from ferrule_lint.semantics.frame import CallIssue, Frame
from ferrule_lint.semantics.instantiate import divergence_through
from ferrule_lint.semantics.lattice import FLOWS, WORLD, Divergence, Value, overlap
from ferrule_lint.semantics.modelled import shape_message, shape_problems
from ferrule_lint.semantics.summary import Latent, Summary
from ferrule_lint.semantics.trace import Choice, Trace, choices_and_loops

MOST_LATENTS = 24
DEEPEST = 5
_ANY = Divergence(WORLD, "rank", (), Confidence.HIGH)


def of_summary(trace: Trace) -> tuple[Latent, ...]:
    """The latent findings of a function's own trace."""
    out: list[Latent] = []
    for term in choices_and_loops(trace):
        if len(out) >= MOST_LATENTS:
            break
        if type(term) is Choice:
            own = {a.key: a._replace(divergence=_ANY) for a in atoms(term.formula) if a.deps and a.divergence is None}
            if not own or len(own) > 3:
                continue
            found = difference(trace, term, own, _ANY, Confidence.MEDIUM)
            if found is None:
                continue
            event = found.occurrences[0].event
            hidden = all(o.event.hidden for o in found.occurrences)
            code = "FER103" if found.after_exit else "FER101" if hidden else "FER102"
            deps = frozenset().union(*(a.deps for a in own.values()))
            out.append(Latent(code, "condition", deps, term.path, term.pos, term.text, event))
        elif term.deps and term.trip is None:
            comparison = Comparison(WORLD, Confidence.MEDIUM, True)
            if issues(comparison.signature(term.body, (), {})):
                occurrences: list = []  # type: ignore[type-arg]
                comparison.occurrences(term.body, {}, occurrences)
                if occurrences:
                    event = occurrences[0].event
                    out.append(Latent("FER104", "trips", term.deps, term.path, term.pos, term.text, event))
    return tuple(out)


def raise_or_pass_on(frame: Frame, summary: Summary, bound: Mapping[str, Value], pos: f.Pos) -> None:
    """At a call: report the callee's latent findings that this call makes true, pass on those it leaves open."""
    for latent in summary.latents:
        for name, how in sorted(latent.deps):
            value = bound.get(name)
            if value is None:
                continue
            if latent.needs == "shape":
                _shape(frame, summary, latent, value, pos)
                continue
            if latent.needs == "trips" and how == FLOWS:
                # a divergent object that is iterated tells nothing about its length
                divergence = value.length or value.shape
            else:
                divergence = divergence_through(value, how)
            if divergence is not None:
                if overlap(divergence.axes, latent.event.axes) and latent.event.axes != frozenset({"?"}):
                    message = f"`{summary.display}` issues {latent.event.op} depending on `{name}`, which differs between ranks"
                    frame.issues.append(CallIssue(latent.code, pos, divergence, latent.event, message, latent))
            elif value.deps and latent.depth < DEEPEST and len(frame.latents) < MOST_LATENTS:
                passed = frozenset((p, how if how != "flows" else h) for p, h in value.deps)
                frame.latents.append(
                    Latent(latent.code, latent.needs, passed, latent.path, latent.pos, latent.text, latent.event, latent.depth + 1)
                )


def _shape(frame: Frame, summary: Summary, latent: Latent, value: Value, pos: f.Pos) -> None:
    problems = shape_problems(value)
    for code, divergence in problems:
        axes = latent.event.axes
        if "?" in axes or "world" in axes or divergence.axes & axes:
            message = shape_message(code, latent.event.op)
            frame.issues.append(CallIssue(code, pos, divergence, latent.event, message, latent))
    direct = frozenset(d for d in value.deps if d[1] == FLOWS)
    if not problems and direct and latent.depth < DEEPEST and len(frame.latents) < MOST_LATENTS:
        frame.latents.append(
            Latent(latent.code, "shape", direct, latent.path, latent.pos, latent.text, latent.event, latent.depth + 1)
        )
