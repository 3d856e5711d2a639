"""The state of one pass over one function body."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence, Step
from ferrule_lint.semantics.data.ordering import length_deps
from ferrule_lint.semantics.domain.axes import WORLD, Axes
from ferrule_lint.semantics.domain.conditions import Formula, deps_of, divergence_of, is_caught
from ferrule_lint.semantics.domain.dependences import NOTHING, Deps, root_of
from ferrule_lint.semantics.domain.joins import join2
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value, rounds_of
from ferrule_lint.semantics.domain.summary import Latent
from ferrule_lint.semantics.domain.targets import IN_DDP
from ferrule_lint.semantics.domain.text import render
from ferrule_lint.semantics.domain.trace import Event, Term, Trace
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.sources.files import Files
from ferrule_lint.semantics.walk import wrapped_under

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.control.exceptions import Escape, OpenTry
    from ferrule_lint.semantics.control.started import Started
    from ferrule_lint.semantics.data.layout import Layout
    from ferrule_lint.semantics.gradients.gradient_order import Mark
    from ferrule_lint.semantics.gradients.partly_used import PartlyUsed
    from ferrule_lint.semantics.walk.aliases import Alias
    from ferrule_lint.semantics.walk.kept_tests import Kept
    from ferrule_lint.semantics.walk.left_early import Rounds
    from ferrule_lint.semantics.walk.wrapped_under import WrappedUnder


_MANY_PLACES = 500


#: what frames that are put away hold of each kind
_EMPTY: dict[type, object] = {dict: MappingProxyType({}), list: (), set: NOTHING}
#: what is collected in a frame
_COLLECTED = (
    "_ended", "_set_under", "aliases", "appended", "attempts", "captured", "conditions", "decorated", "definitions",
    "env", "escapes", "exchanged",
    "filled_alike", "for_batches",
    "forwards", "fuller", "given", "gone", "gradient_marks", "issues", "latents", "layouts", "left_in",
    "loops", "losses", "made_uniform", "part_writes", "partly_used", "reduced_within_stages", "returns", "revealed",
    "rounds", "self_writes", "sharded", "sized", "skipped", "stage_tests", "started", "surely", "terms", "tests",
    "told_alike",
    "unbegun", "versions",
    "waits", "wrapped_under", "wraps",
)  # fmt: skip


class CallIssue:
    """Something wrong at a call that no comparison of traces finds: a shape, or a divergent argument."""

    __slots__ = ("code", "divergence", "event", "latent", "message", "pos")

    def __init__(
        self, code: str, pos: f.Pos, divergence: Divergence, event: Event, message: str, latent: Latent | None = None
    ) -> None:
        self.code = code
        self.pos = pos
        self.divergence = divergence
        self.event = event
        self.message = message
        self.latent = latent


class Revealed(NamedTuple):
    """A value that was asked for in the linted file."""

    line: int
    expression: f.Expr
    value: Value


class Round(NamedTuple):
    """A `for` loop whose body is being walked."""

    statement: f.For
    #: what it iterates over
    walked: Value
    #: under how many conditions of the frame it stands
    conditions: int


class Recording:
    """Terms of a frame that are collected apart while the block runs; a class, since generators cost far more."""

    __slots__ = ("_frame", "_saved")

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._saved = frame.terms

    def __enter__(self) -> list[Term]:
        terms: list[Term] = []
        self._frame.terms = terms
        return terms

    def __exit__(self, *error: object) -> None:
        self._frame.terms = self._saved


class Aside(Recording):
    """The same, and nobody hears of the issues and latent findings that come up meanwhile either."""

    __slots__ = ("_issues", "_latents")

    def __init__(self, frame: Frame) -> None:
        super().__init__(frame)
        self._issues, self._latents = len(frame.issues), len(frame.latents)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        del self._frame.issues[self._issues :], self._frame.latents[self._latents :]


class Frame:
    """Environment, trace and side results of one function (or module) body."""

    __slots__ = (
        "_ended",
        "_evaluators",
        "_set_under",
        "aliases",
        "analysis",
        "appended",
        "asked",
        "attempts",
        "captured",
        "clock",
        "closure",
        "conditions",
        "decorated",
        "definitions",
        "depth",
        "env",
        "escapes",
        "exchanged",
        "executors",
        "fallible",
        "files",
        "filled_alike",
        "for_batches",
        "forwards",
        "fuller",
        "function",
        "given",
        "gone",
        "gradient_marks",
        "gradients",
        "in_ddp",
        "in_module",
        "issues",
        "joined",
        "latents",
        "layouts",
        "left_in",
        "light",
        "line",
        "loop_depth",
        "loops",
        "losses",
        "made_uniform",
        "models",
        "module",
        "no_gradient",
        "of_one_size",
        "part_writes",
        "partly_used",
        "reduced_within_stages",
        "returns",
        "revealed",
        "rounds",
        "self_class",
        "self_name",
        "self_writes",
        "sharded",
        "shared",
        "sized",
        "skipped",
        "stage_tests",
        "started",
        "surely",
        "terms",
        "tests",
        "told_alike",
        "unbegun",
        "unused",
        "versions",
        "waits",
        "wrapped_under",
        "wraps",
        "yielded_deps",
        "yielded_length",
        "yielded_order",
    )

    def __init__(
        self,
        analysis: Analysis,
        module: ModuleInfo,
        function: FunctionInfo | None = None,
        *,
        depth: int = 0,
        light: int = 0,
        closure: Frame | None = None,
    ) -> None:
        self.analysis = analysis
        self.models = analysis.models
        self._evaluators = analysis.evaluators
        self.executors = analysis.executors
        self.module = module
        self.function = function
        self.depth = depth
        #: 0: full; 1 or 2: a pass for attribute values only (see `attributes`)
        self.light = light
        self.closure = closure
        #: generators that are kept by a name: what their calls issue, and where that begins; see `begun_later`
        self.unbegun: dict[str, tuple[Trace, frozenset[f.Pos]]] = {}
        self.env: dict[str, Value] = {}
        #: what each place holds now, by a number that nothing else in this frame has; 0: what it held to begin with
        self.versions: dict[str, int] = {}
        self.clock = 0
        self.terms: list[Term] = []
        self.returns: list[tuple[Value, tuple[Formula, ...]]] = []
        self.conditions: list[Formula] = []
        self.made_uniform: dict[str, Axes] = {}
        #: parameters that are passed to something that shards, or to something unknown
        self.wraps: set[str] = set()
        #: parameters that the function shards in place, whatever else it does -> what they are instances of then
        self.sharded: dict[str, str] = {}
        #: what names were last assigned, and their version then
        self.definitions: dict[str, tuple[f.Expr, int]] = {}
        #: the tests that names hold, by the numbers of their versions: see `kept_tests`
        self.tests: dict[int, Kept] = {}
        #: the test that was evaluated last, as an expression
        self.asked: tuple[f.Expr, Formula, Value] | None = None
        #: the call that a statement consists of, while that is walked
        self.unused: f.Expr | None = None
        #: variables that were assigned what another place holds
        self.aliases: dict[str, Alias] = {}
        #: places whose own size was compared with one that the ranks agreed on; see `sizing`
        self.sized: set[str] = set()
        #: what is done to gradients, in its order; see `gradient_order`
        self.gradient_marks: list[Mark] = []
        #: places that hold a module in DDP: see `behind_wrapper`
        self.in_ddp: frozenset[str] = NOTHING
        self.latents: list[Latent] = []
        self.issues: list[CallIssue] = []
        self.self_name: str | None = None
        self.self_class: ClassInfo | None = None
        self.self_writes: dict[str, Value] = {}
        #: the same of attributes of an attribute (`self.state.found`), by both names, for those who ask what is held
        self.part_writes: dict[str, Value] = {}
        #: the conditions under which each of them was set
        self._set_under: dict[str, list[tuple[Formula, ...]]] = {}
        #: those that get None where a handler takes the end of the data
        self._ended: set[str] = set()
        #: parameters that still stand for what was passed, what is left in their fields, which of it for sure: `given`
        self.given: set[str] = set()
        self.left_in: dict[str, Value] = {}
        self.surely: set[str] = set()
        #: variables of functions around it, by their names for callers, and which of them it sets: `captured`
        self.captured: dict[str, str] = {}
        self.shared: frozenset[str] = NOTHING
        self.in_module = False
        #: whether gradients are followed here, in how many blocks without, and what was found; see `participation`
        self.gradients = False
        self.no_gradient = 0
        self.forwards: list[tuple[str, f.Pos, bool]] = []
        self.partly_used: list[PartlyUsed] = []
        #: for each list, the outputs that all that was appended to it reaches; see `meeting`
        self.appended: dict[str, frozenset[str]] = {}
        #: the loss among other things in each `return`; see `loss_entries`
        self.losses: list[Value | None] = []
        #: for each enclosing loop, the states in which a round was left early, and why; see `participation`
        self.skipped: list[list[tuple[Formula, dict[str, Value]]]] = []
        self.line = 0
        self.loop_depth = 0
        #: which of the conditions stand for ranks that have left the function before, and what has got more behind
        #: them than those have: see `behind_exits`
        self.gone: set[int] = set()
        self.fuller: dict[str, Divergence] = {}
        #: dicts that all ranks fill alike, each under its own test: see `filled_by_others`
        self.filled_alike: set[str] = set()
        #: values of places that are sharded under a test, by their identity: see `wrapped_under`
        self.wrapped_under: dict[int, WrappedUnder] = {}
        #: the loops around, with the ways on which their rounds end early
        self.loops: list[Rounds] = []
        #: shapes and types of what is passed to collectives, as far as the text tells them: see `layout`
        self.layouts: dict[f.Pos, Layout] = {}
        #: where sizes of tensors are sent to all ranks: why they differ, up to the end of the function
        self.exchanged: set[Step] = set()
        #: threads that are started here, and issue something
        self.started: list[Started] = []
        #: the root and the reduction of calls that name them
        self.told_alike: dict[f.Pos, tuple[str, str]] = {}
        #: tests under which a point-to-point operation is made for a batch that begins later
        self.for_batches: list[Formula] = []
        #: how many enclosing tests ask whether all ranks have the same sizes
        self.of_one_size = 0
        #: the enclosing `for` loops
        self.rounds: list[Round] = []
        #: why loops over batches take as many rounds as this rank has, in a block that joins: see `joined`
        self.joined: Divergence | None = None
        #: why the enclosing `while` loops take as many rounds as a clock or a queue of this process says
        self.waits: list[Divergence] = []
        #: the enclosing `try` statements, and the exceptions that leave the function on some ranks
        self.attempts: list[OpenTry] = []
        self.escapes: dict[tuple[str, int], Escape] = {}
        #: why work in the function may fail on one rank, and how many calls further in that is
        self.fallible: tuple[Divergence, int] | None = None
        #: the order of what a generator yields, and the parameters that decide it
        self.yielded_order: Divergence | None = None
        self.yielded_deps: Deps = NOTHING
        self.yielded_length: Divergence | None = None
        self.files = Files()
        #: places that only some stages have, and that were reduced within the stages: the event, and why they differ
        self.reduced_within_stages: dict[str, tuple[Event, Divergence]] = {}
        #: where tests of the pipeline stage stand
        self.stage_tests: set[tuple[int, int]] = set()
        #: the conditions around each call of what stands for a decorated function
        self.decorated: list[tuple[Formula, ...]] = []
        #: what `reveal_uniformity` was called on
        self.revealed: list[Revealed] = []

    def put_away(self) -> None:
        """Nobody writes to it any more: what has stayed empty is the same object in all such frames, of which there are
        as many as functions."""
        for holder, names in ((self, _COLLECTED), (self.files, Files.COLLECTED)):
            for name in names:
                held = getattr(holder, name)
                if not held:
                    setattr(holder, name, _EMPTY[type(held)])

    # ------------------------------------------------------------------ places
    def read(self, place: str) -> Value | None:
        frame: Frame | None = self
        while frame is not None:
            value = frame.env.get(place)
            if value is not None:
                return value
            frame = frame.closure
        return None

    def write(self, place: str, value: Value, remade: bool = False) -> None:
        """Assign to a place; `remade`: something that is made of what stood there."""
        # where so many names are bound (a generated table), a new one is taken to have no parts yet
        fresh = len(self.env) > _MANY_PLACES and place not in self.env
        self.env[place] = value
        self.renew(place)
        if value.external == IN_DDP:
            self.in_ddp |= {place}
        # searching one text is several times as fast as asking every place, and most have no parts
        if not fresh:
            places = "\0" + "\0".join(self.env)
            if f"\0{place}." in places or f"\0{place}[" in places:
                for k in [k for k in self.env if k.startswith((place + ".", place + "["))]:
                    del self.env[k]
        if name := self.own_attribute(place):
            if value.const == "None" and self.conditions and is_caught(self.conditions[-1]):
                self._ended.add(name)  # what is set behind the handler does not take its place, for that has returned
            known = None if self._set_again(name) and name not in self._ended else self.self_writes.get(name)
            value = value if remade else self.analysis.as_state(self, place, value)
            both = value if known is None else wrapped_under.either(self, join2(known, value), known, value)
            self.self_writes[name] = both
        elif self.light and self.self_name and place.startswith(self.self_name + ".") and place.count(".") == 2:
            name = place.partition(".")[2]
            value = value if remade else self.analysis.as_state(self, place, value)
            self.part_writes[name] = join2(self.part_writes.get(name, value), value)
        elif self.given or self.captured:
            self.leave(place, value)

    def own_attribute(self, place: str) -> str:
        """The attribute of the instance that a place is; "" if it is none."""
        if not self.self_name or place.count(".") != 1 or not place.startswith(f"{self.self_name}."):
            return ""
        return place.partition(".")[2]

    def also_left(self, name: str, value: Value) -> None:
        """An attribute of the instance may hold this as well, once the method has run."""
        known = self.self_writes.get(name)
        self.self_writes[name] = value if known is None else join2(known, value)

    def leave_changed(self, place: str, value: Value) -> None:
        """An attribute of an object is changed; where that is the instance, or a part of it, it may be left so."""
        self.env[place] = value
        self.renew(place)
        own, _, name = place.partition(".")
        if self.own_attribute(place):
            self.also_left(name, value)
        elif self.light and own == self.self_name and name.count(".") == 1:
            self.part_writes[name] = join2(self.part_writes.get(name, value), value)
        elif self.given or self.captured:
            self.leave(place, value)

    def renew(self, place: str) -> int:
        """From here on a place holds something else; the number of what it holds now."""
        self.clock += 1
        self.versions[place] = self.clock
        holder, _, name = place.rpartition(".")
        if holder and (record := self.env.get(holder)) is not None and record.entries:
            # the field is not what the record was made with, in callees either
            self.env[holder] = record._replace(entries=tuple([(k, v) for k, v in record.entries if k != name]))
        return self.clock

    def leave(self, place: str, value: Value) -> None:
        """Something is put into a place that may be a part of what was passed."""
        root = root_of(place)
        if root in self.captured and root not in self.given:
            if root == place and root not in self.shared:
                return
            known_as = self.captured[root] + place[len(root) :]
        elif root not in self.given:
            return
        elif root == place:
            self.given.discard(place)  # from here on the name stands for something else
            return
        else:
            known_as = place
        known = None if self._set_again(place) else self.left_in.get(known_as)
        if not self.conditions and not self.loop_depth:
            self.surely.add(known_as)
        value = self.analysis.as_state(self, place, value)
        self.left_in[known_as] = value if known is None else join2(known, value)

    def _set_again(self, name: str) -> bool:
        """Whether an attribute of the instance is set here on every way on which it was set before."""
        here = tuple(self.conditions)
        before = self._set_under.setdefault(name, [])
        again = bool(before) and all(under[: len(here)] == here for under in before)
        self._set_under[name] = [here] if again else [*before, here]
        return again

    def was_set(self, name: str) -> bool:
        """Whether an attribute of the instance, which is set here, was set before by all that come here."""
        here = tuple(self.conditions)
        return any(under == here[: len(under)] for under in self._set_under.get(name, [])[:-1])

    def version(self, place: str) -> int:
        return self.versions.get(place, 0)

    def key(self, expr: f.Expr) -> str:
        return render(expr, self.version)

    # ------------------------------------------------------------------ trace
    def emit(self, term: Term) -> None:
        self.terms.append(term)

    def recording(self) -> Recording:
        """Collect the terms of a piece of code apart; the list is complete when the block ends."""
        return Recording(self)

    def aside(self) -> Aside:
        """Look at a piece of code once more, or at one that is not run here: what it issues, and what is wrong with it,
        is told elsewhere."""
        return Aside(self)

    def trace(self) -> Trace:
        return tuple(self.terms)

    # ------------------------------------------------------------------ witnesses
    def step(self, role: str, pos: f.Pos | None, note: str) -> Step:
        line, column = (pos[0], pos[1]) if pos else (self.line, 1)
        return Step(role, self.module.path, line, column, note)

    def source(
        self,
        axes: Axes,
        kind: str,
        pos: f.Pos | None,
        note: str,
        confidence: Confidence = Confidence.HIGH,
        member: bool = False,
    ) -> Divergence:
        return Divergence(axes or WORLD, kind, (self.step("source", pos, note),), confidence, member)

    # ------------------------------------------------------------------ path conditions
    def path_divergence(self, but: int = 0) -> Divergence | None:
        """The divergence of the conditions that control the current place, `but` some of the innermost."""
        formula = self.path_condition(but)
        return divergence_of(formula) if formula is not None else None

    def path_condition(self, but: int = 0) -> Formula | None:
        """The innermost divergent condition that controls the current place, `but` some of the innermost."""
        conditions = self.conditions[: len(self.conditions) - but]
        return next((formula for formula in reversed(conditions) if divergence_of(formula) is not None), None)

    def path_deps(self, but: int = 0) -> Deps:
        result: Deps = NOTHING
        for formula in self.conditions[: len(self.conditions) - but]:
            result |= deps_of(formula)
        return result

    def round_divergence(self) -> Divergence | None:
        """Why the number of rounds of an enclosing loop differs."""
        for r in self.rounds:
            found = rounds_of(r.walked)
            if found is not None and found.own_entry and len(self.conditions) > r.conditions:
                return found._replace(own_entry=False)  # in rounds with a test, that entry may be what is left out
            if found is not None:
                return found
        return self.waits[0].at_most(Confidence.MEDIUM) if self.waits else None

    def round_deps(self) -> Deps:
        """The parameters that decide the number of rounds of the enclosing loops."""
        found: Deps = NOTHING
        for r in self.rounds:
            found |= length_deps(r.walked)
        return found

    # ------------------------------------------------------------------ shortcuts
    def eval(self, expr: f.Expr | None) -> Value:
        return UNKNOWN if expr is None else self._evaluators[type(expr)](self, expr)

    def is_unused(self, call: f.Call | None) -> bool:
        """Whether nobody asks what a call returns."""
        return call is not None and call is self.unused

    def ask(self, expr: f.Expr) -> Value:
        """What an expression holds that has been evaluated before: what that does is not done once more."""
        issues, latents, marks = len(self.issues), len(self.latents), len(self.gradient_marks)
        with self.recording():
            value = self.eval(expr)
        del self.issues[issues:], self.latents[latents:], self.gradient_marks[marks:]
        return value

    @property
    def least_of_tests(self) -> Confidence:
        """LOW in a module of tests, by pytest's names: its groups are made for as many ranks as it runs on, and one
        that could be a part of the job is often all of it. MEDIUM elsewhere."""
        return Confidence.LOW if is_test(self.module.path) else Confidence.MEDIUM

    def axes_in(self, text: str) -> Axes | None:
        """Axes named by the identifiers in a piece of text, or None."""
        return self.analysis.axes_in(text)
