"""Comprehensions and generator expressions: loops whose result is a container."""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data import filters, grouping, kinds, sample_fields
from ferrule_lint.semantics.data.ordering import length_deps, no_order, numbers
from ferrule_lint.semantics.domain.conditions import Formula, connect
from ferrule_lint.semantics.domain.dependences import NO_DEPS, NOTHING
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import Divergence, Value, contained, rounds_of, worse
from ferrule_lint.semantics.domain.text import place_name, position, shown
from ferrule_lint.semantics.domain.trace import Choice
from ferrule_lint.semantics.gradients import participation
from ferrule_lint.semantics.walk import each_of
from ferrule_lint.semantics.walk.binding import as_key, bind, element_of, loop_term
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.instances import known_by
from ferrule_lint.semantics.walk.predicates import condition
from ferrule_lint.semantics.walk.returned import counts


def comprehension(frame: Frame, e: f.Comprehension) -> Value:
    """A comprehension. Its variables are its own: what the function has under their names is there again behind it."""
    own = {name for g in e.generators for name in _bound_names(g.target)}
    before = {place: frame.env[place] for place in _places_of(frame, own)}
    value = _evaluated_comprehension(frame, e)
    for place in _places_of(frame, own):
        del frame.env[place]
    frame.env.update(before)
    return value


def _is_of_rank(iterable: Value) -> bool:
    """Whether what is walked is, for all that is known, the rank's own."""
    own = iterable.data or iterable.divergence or iterable.presence or iterable.emptiness
    return own is not None or rounds_of(iterable) is not None


def _distinct(frame: Frame, e: f.Comprehension, walked: Value, items: Value) -> Divergence | None:
    """Why a set has as many items as it has: `{task for task in batch["task"]}`, `{s.task for s in batch}`."""
    only = e.generators[0]
    if len(e.generators) == 1 and [place_name(only.target)] == [place_name(item) for item in e.elements]:
        return grouping.of_distinct(frame, walked, only.iterable, e.pos)
    return grouping.of_distinct(frame, items, e, e.pos)


def _bound_names(target: f.Expr) -> list[str]:
    if type(target) is f.Sequence:
        return [name for element in target.elements for name in _bound_names(element)]
    if type(target) is f.Starred:
        return _bound_names(target.value)
    return [target.id] if type(target) is f.Name else []


def _places_of(frame: Frame, names: set[str]) -> list[str]:
    """The places that begin with one of some names; the function may have thousands of others."""
    begin = tuple(names)
    return [
        place for place in frame.env if place.startswith(begin) and place.partition(".")[0].partition("[")[0] in names
    ]


def _is_of_fields(e: f.Comprehension) -> bool:
    """`{name: field[keep] for name, field in batch.items()}`: the fields of something, each made into another."""
    walked = e.generators[0]
    if e.kind != "dict" or len(e.generators) > 1 or walked.conditions or type(walked.iterable) is not f.Call:
        return False
    return type(walked.iterable.func) is f.Attr and walked.iterable.func.attr == "items" and not walked.iterable.args


def _evaluated_comprehension(frame: Frame, e: f.Comprehension) -> Value:
    conditions: list[Formula] = []
    iterables: list[Value] = []
    filtered: Divergence | None = None
    chosen = NO_DEPS
    walked_apart = False
    # what is walked is computed once, before the first round
    outer = frame.eval(e.generators[0].iterable)
    with frame.recording() as head:
        for generator in e.generators:
            iterable = outer if generator is e.generators[0] else frame.eval(generator.iterable)
            iterables.append(iterable)
            element = element_of(frame, iterable, generator.iterable)
            walked_apart = element.items is not None
            element = sample_fields.walked(frame, generator.target, generator.iterable, e.elements, element)
            asks = e.elements + generator.conditions if generator.conditions else ()
            target = filters.item(generator.target, generator.iterable, asks)
            bind(frame, generator.target, element if target is not None else as_key(element))
            each_of.recall(frame, generator.target, generator.iterable)
            for test in generator.conditions:
                formula, value = condition(frame, test)
                conditions.append(formula)
                if kinds.asks(frame, test):
                    continue
                if not (iterable.multiple and value.observed is not None and value.observed.kind == "rank"):
                    filtered = worse(filtered, value.observed)
                asked = (formula,)
                chosen |= filters.decided_by(asked, iterable, target)
                filtered = filtered or filters.left_out(frame, asked, iterable, target, {}, position(test))
            known_by(frame, generator.conditions, _bound_names(generator.target))
            if target is None:
                bind(frame, generator.target, element)
                each_of.recall(frame, generator.target, generator.iterable)
    formula = connect("and", conditions)
    frame.conditions.append(formula)
    with frame.recording() as body_terms:
        values = [frame.eval(v) for v in e.elements]
    frame.conditions.pop()
    body = tuple(body_terms)
    pos = position(e.generators[0].iterable) or e.pos
    if body and conditions:
        test_pos = next((p for g in e.generators for c in g.conditions if (p := position(c))), e.pos)
        text = " and ".join(shown(c) for g in e.generators for c in g.conditions)
        body = (Choice(formula, body, (), frame.module.path, test_pos, text, "filter"),)
    body = (*head, *body)
    first = iterables[0]
    # `{k: v for k, v in zip(names, values)}`: there is no more in it than what is taken of each
    told_apart = e.kind == "dict" and len(iterables) == 1 and walked_apart
    if body:
        frame.emit(loop_term(frame, first, body, pos, e.generators[0].iterable))
    unordered = next((i.unordered for i in iterables if i.unordered is not None), None)
    if all(type(v) is f.Const for v in e.elements):
        unordered = None  # one item is like another
    if e.kind == "set":
        unordered = None if numbers(e) else no_order(frame, e.pos)
    length = next((d for i in iterables if (d := rounds_of(i)) is not None), None)
    length = worse(filtered, length)  # what is left out says more than how many there were
    if conditions and length is not None and length.own_entry:
        length = length._replace(own_entry=False)  # that entry may be what they leave out
    # what a dict holds under a key is not what the key was made of
    joined = contained(join(values[-1:])).plain()
    if e.kind == "set" and length is None and not conditions:
        length = _distinct(frame, e, first, joined)
    # as many as there are of something that has nothing to do with the rank's data, whatever is taken for each
    made = filtered is None and not any(map(_is_of_rank, iterables))
    of_fields = _is_of_fields(e)
    padded_to = joined.shape_deps if joined.filled else NOTHING
    return Value(
        uniform=all(v.uniform for v in values) and all(i.uniform for i in iterables),
        divergence=joined.divergence,
        data=worse(joined.data, None if told_apart else first.data),
        length=length,
        length_deps=NOTHING.union(chosen, *map(length_deps, iterables)),
        deps=joined.deps,
        element_types=joined.types,
        holds=joined.external,
        unordered=unordered,
        shape=joined.shape,
        shape_deps=padded_to,
        # as many as there are rounds, each with a size of its own; who takes a field has that size
        uneven_last=joined.uneven_last if of_fields else joined.shape is not None or bool(padded_to),
        padded=joined.padded,
        agreed=joined.agreed,
        container=(first.container and not conditions and len(iterables) == 1) or made or of_fields,
        multiple=first.multiple and len(iterables) == 1 and not conditions,
        there=True,
        reach=participation.of_items(values, iterables) if frame.gradients else None,
        counts=counts(values) if len(values) == 1 else (),
    )
