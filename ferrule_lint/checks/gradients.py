"""FER304: gradients whose reduction ranks do not share, that are reduced before they are complete, or not at all."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ferrule_lint.checks.build import NAMES, span
from ferrule_lint.facts.types import Pos
from ferrule_lint.findings import Confidence, EventSite, Finding, Step
from ferrule_lint.semantics.calls.forwards import in_inference
from ferrule_lint.semantics.control import hooks
from ferrule_lint.semantics.domain.axes import DP, overlap
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.reach import OWN
from ferrule_lint.semantics.domain.text import shown
from ferrule_lint.semantics.gradients import behind_wrapper, gradient_order, partly_used
from ferrule_lint.semantics.gradients.through_calls import WITHOUT
from ferrule_lint.semantics.project.entities import ClassInfo
from ferrule_lint.semantics.project.programs import of_one_process
from ferrule_lint.semantics.project.training import only_run_around
from ferrule_lint.semantics.walk.frame import Frame


def check(
    frame: Frame, function: str, reported: Collection[Step], forwards: Collection[tuple[int, int]]
) -> Iterator[Finding]:
    """`reported`: what findings about the forwards themselves rest on; `forwards`: the line and column of those that
    some are about."""
    yield from _partly_used(frame, function, reported, forwards)
    yield from _too_early(frame, function)
    yield from _behind_wrapper(frame, function)


def _too_early(frame: Frame, function: str) -> Iterator[Finding]:
    path = frame.module.path
    for sync, later in gradient_order.too_early(frame):
        message = (
            "gradients are reduced over the ranks before the last backward that feeds them:"
            f" line {later.pos[0]} adds to them afterwards"
        )
        witness = (
            Step("source", path, later.pos[0], later.pos[1], "a backward that comes later"),
            Step("event", path, sync.pos[0], sync.pos[1], "reduces the gradients"),
        )
        event = EventSite("all_reduce", path, sync.pos[0], sync.pos[1], ("dp",), False)
        yield _on_every_rank(message, function, sync.pos, witness, event)


def _behind_wrapper(frame: Frame, function: str) -> Iterator[Finding]:
    path = frame.module.path
    for one in behind_wrapper.found(frame):
        message = (
            f"the gradients of `{one.wrapper}` are not reduced: this runs the module behind the wrapper,"
            " whose own forward nobody calls"
        )
        run = Step("flow", one.path, one.run.pos[0], one.run.pos[1], f"`{shown(one.run.func)}` runs the module itself")
        witness = (
            Step("source", *one.wrapped, f"`{one.wrapper}` is a module in DDP"),
            run,
            Step("event", path, one.backward[0], one.backward[1], "this backward reduces nothing of it"),
        )
        event = EventSite("backward", path, one.backward[0], one.backward[1], ("dp",), True)
        yield _on_every_rank(message, function, one.call.pos, witness, event)


def _on_every_rank(message: str, function: str, pos: Pos, witness: tuple[Step, ...], event: EventSite) -> Finding:
    """What is wrong on each rank alike: gradients are reduced at the wrong time, or never."""
    return Finding(
        code="FER304",
        name=NAMES["FER304"],
        severity="error",
        confidence=Confidence.MEDIUM,
        message=message,
        path=event.path,
        span=span(pos),
        axes=("dp",),
        kind="order",
        function=function,
        witness=witness,
        events=(event,),
    )


def _partly_used(
    frame: Frame, function: str, reported: Collection[Step], forwards: Collection[tuple[int, int]]
) -> Iterator[Finding]:
    """One finding for each module, and one for what goes wrong on a rank; none where the forward itself is reported,
    here or under one of its sources."""
    path = frame.module.path
    owner = frame.self_class if frame.in_module else None
    surely = owner is not None and _is_wrapped_to_train(frame, owner)
    seen: set[tuple[str, bool]] = set()
    for used in frame.partly_used:
        divergence = used.divergence
        base, _, part = used.output.lstrip("=").replace("~", "").partition("#")
        if not overlap(divergence.axes, DP):
            continue  # pipeline stages have parts of their own, and share gradients with nobody else
        of_host = divergence.kind == "host"
        if (base, of_host) in seen or any(step in reported for step in divergence.why):
            continue
        if any(call[:2] in forwards for call in used.calls):
            continue
        if used.output.startswith("=") and any(f"`{base}`" in step.note for step in divergence.why):
            continue  # what decides is hardly what is trained
        if (
            part
            and divergence.kind == "structure"
            and not used.has_stand_in
            and not _decided_here(frame, divergence.why[0])
        ):
            continue  # the module gives nothing back for an input that is not there: FER107 is about that
        if partly_used.is_kept_by_hand(frame.module, base.rpartition(".")[2]):
            continue
        seen.add((base, of_host))
        what = f"an output of `{base}`" if part or used.output.startswith("=") else f"the output of `{base}`"
        if base == OWN:
            what = "the output of the inherited forward"
        message = f"{what} reaches the loss on some ranks only: the others have no backward for it"
        place = used.calls[0] if used.has_stand_in else used.at
        place = place or (used.calls[0] if used.calls and used.returned else used.end)
        guess = _is_guess(frame, used, base, surely)
        least = Confidence.LOW if guess else Confidence.MEDIUM
        last = divergence.why[-1]
        decides = Step("condition", last.path, last.line, last.column, "decides which way is taken")
        steps = [decides, *partly_used.steps(used, path)]
        yield Finding(
            code="FER304",
            name=NAMES["FER304"],
            severity="error",
            confidence=min(least, divergence.confidence),
            message=message,
            path=path,
            span=span(place),
            axes=tuple(sorted(divergence.axes)),
            kind=divergence.kind,
            function=function,
            witness=(
                *divergence.why,
                *steps,
                Step("event", path, used.end[0], used.end[1], "backward goes through here"),
            ),
            events=tuple(EventSite("backward", path, p[0], p[1], ("dp",), True) for p in (used.calls or (used.end,))),
        )


def _is_wrapped_to_train(frame: Frame, owner: ClassInfo) -> bool:
    """Whether a class is seen to be wrapped, and not only by a program that runs it."""
    sharding = frame.analysis.sharding
    if not sharding.is_surely_wrapped(owner):
        return False
    site = sharding.site(owner, frame.module.path)
    return site is None or not only_run_around(frame.analysis, site.path)


def _is_guess(frame: Frame, used: partly_used.PartlyUsed, base: str, surely: bool) -> bool:
    """Whether two things are guessed: that ranks differ there, and that the gradients of this module are shared, where
    its class is not `surely` seen to be wrapped."""
    divergence = used.divergence
    if surely:
        return False
    if _is_shared_by_nobody(frame) or not _is_seen_without(frame, used):
        return True
    nothing = (divergence.empty and not _asks_for_targets(frame, divergence)) or divergence.kind == "structure"
    if nothing and frame.in_module and frame.self_class is not None and used.calls and base != OWN:
        return True  # a layer that looks for empty inputs itself expects them
    told = divergence.kind == "data" and not divergence.unnamed
    # who runs a stand-in knows that the gradients are shared
    return not told and not used.has_stand_in and not _wraps(frame)


#: what a batch has to be learned from, by the names of parameters: there may be none of it in the batch of a rank
_TARGETS = re.compile(r"(^|_)(targets?|labels?|gts?|ground_truths?|annotations?|boxes|bboxes)(_|$)")


def _asks_for_targets(frame: Frame, divergence: Divergence) -> bool:
    """Whether it is a parameter with what is to be learned that is looked at: images without an object in them, and no
    input of a layer."""
    if frame.function is None:
        return False
    names = [p.name for p in frame.function.parameters if _TARGETS.search(p.name)]
    return any(f"`{name}`" in divergence.why[0].note for name in names)


def _is_seen_without(frame: Frame, used: partly_used.PartlyUsed) -> bool:
    """Whether the file shows what goes on without the output: something that has no gradient, a stand-in, a handler;
    or it is a loss, whose backward is here or by the function's name. Elsewhere it is a list or an arm that the output
    does not come to, and something else in it mostly has a gradient for the same module."""
    if used.at is not None or used.has_stand_in or used.divergence.kind == "host" or not used.returned:
        return True
    if hooks.worked_on(frame) is not None or (frame.function is not None and "loss" in frame.function.name.lower()):
        return True
    # a helper says so where it lies, with what it hands back in the place of a module's output
    elsewhere = _asks_for_targets(frame, used.divergence)
    return any(
        step.role == "condition" and (step.path == frame.module.path or (elsewhere and step.note == WITHOUT))
        for step in used.divergence.why
    )


def _is_shared_by_nobody(frame: Frame) -> bool:
    """Whether what runs here is hardly what the project trains on several ranks: its file only runs models, is a
    program of one process, or has to do with nothing that is wrapped anywhere."""
    near = frame.analysis.sharding.is_near_wraps(frame.module.path)
    return not near or in_inference(frame) or of_one_process(frame.analysis, frame.module)


def _wraps(frame: Frame) -> bool:
    """Whether the file itself wraps something whose gradients are reduced."""
    site = frame.analysis.sharding.reducing_site(frame.module.path)
    return site is not None and site.path == frame.module.path


def _decided_here(frame: Frame, source: Step) -> bool:
    """Whether a step stands in this function, and not in another one that it calls."""
    if source.path != frame.module.path or frame.function is None:
        return False
    lines = (f.line for f in frame.module.functions.values() if f.line <= source.line)
    return max(lines, default=0) == frame.function.line
