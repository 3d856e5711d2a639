"""What one process sends the others over a channel of its own, where the arms of a test meet:

    if self.is_coordinator:
        while True:
            try:
                messages.append(self.inbox.recv())
            except Empty:
                break
        self.publisher.send_multipart([HEADER] + messages)
    else:
        messages = self.subscriber.recv_multipart()[1:]

or through a store that all of them reach (`store.set(key, found)`, and `found = store.get(key)`).

Behind it all of them have what the sender has, however that came to it. Which processes these are is not to be told, so
that nothing is said of it. The rank's own data stay what they are: a stage hands its batch on to the next one, and
other replicas have others.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value
from ferrule_lint.semantics.domain.text import last_name, place_name, variables
from ferrule_lint.semantics.project.sent_round import RECEIVES, SENDS, put_in_store, reads_store
from ferrule_lint.semantics.walk.frame import Frame


def settle(frame: Frame, s: f.If) -> None:
    """Where two arms have met: what one of them has sent to the other."""
    if s.orelse:
        for one, other in ((s.body, s.orelse), (s.orelse, s.body)):
            for place in _sent(one) & _received(other):
                if not _is_data(frame.env.get(place, UNKNOWN)):
                    frame.env[place] = UNKNOWN


def _sent(arm: f.Body) -> set[str]:
    """The places that an arm sends, and does not set again."""
    sent: set[str] = set()
    for s in arm:
        if type(s) is f.Assign:
            sent.difference_update(map(place_name, s.targets))
        elif type(s) is f.ExprStmt and type(s.value) is f.Call and SENDS.fullmatch(last_name(s.value.func)):
            sent.update(*map(variables, s.value.args))
        else:
            sent.update(put_in_store(s)[1])
    return sent


def _received(arm: f.Body) -> set[str]:
    """The places that an arm sets to what it receives, or to a part of that."""
    received: set[str] = set()
    for s in arm:
        if type(s) is f.Assign and s.value is not None:
            told = _receives(s.value) or not received.isdisjoint(variables(s.value))
            names = {name for name in map(place_name, s.targets) if name}
            received = received | names if told else received - names
    return received


def _receives(e: f.Expr) -> bool:
    return any(RECEIVES.fullmatch(last_name(call.func)) or reads_store(call) for call in nodes(e, f.Call))


def _is_data(value: Value) -> bool:
    apart = (value.data, value.divergence, value.length, value.presence)
    return any(d is not None and d.kind == "data" for d in apart)
