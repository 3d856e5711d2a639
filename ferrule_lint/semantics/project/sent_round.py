"""Functions that send what they are given from one rank to the others, and hand back on each what it has now:

    if rank == ranks[0]:
        for other in ranks[1:]:
            send(x, other)
    else:
        x = recv(ranks[0])
    return x

or the same of something that is written down first, and read again by those who receive it:

    if rank == src:
        torch.save(x, buffer)
        broadcast(torch.ByteTensor(buffer.getbuffer()), src)
    else:
        broadcast(data, src)
        x = torch.load(io.BytesIO(data.numpy()))
    return x

That is a broadcast: behind it the ranks have the same, however different they were. Which ranks these are is not to be
told, so that nothing is said of what comes back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import plain
from ferrule_lint.facts.walk import blocks, nodes, statements, walk
from ferrule_lint.semantics.domain.text import last_name, place_name, render, variables

SENDS = re.compile(r"_*i?send(_\w+)?")
RECEIVES = re.compile(r"_*(i?recv|receive)(_\w+)?")
_BROADCASTS = re.compile(r"_*(broadcast|bcast)(_\w+)?", re.IGNORECASE)
#: what writes something down for others to read, and what reads it again
_WRITES = re.compile(r"_*(save|dumps?|encode|serialize)(_\w+)?")
_READS = re.compile(r"_*(loads?|decode|deserialize)(_\w+)?")


def sends_round(body: f.Body, parameters: Collection[str]) -> bool:
    """Whether a function does that with one of its parameters."""
    returned = {place_name(s.value) for s in statements(body) if type(s) is f.Return and s.value is not None}
    return any(
        (_sends(one, name) and _receives(other, name)) or (_writes_down(one, name) and _reads_again(other, name))
        for name in returned.intersection(parameters)
        for s in statements(plain(body))
        if type(s) is f.If
        for one, other in ((s.body, s.orelse), (s.orelse, s.body))
    )


def sends_its_result(body: f.Body) -> bool:
    """Whether one arm of a test hands back what it gives to a call, and the other what the same call has brought:

    if is_main:
        result = load(path)
        share([result])
        return result
    else:
        return share()[0]
    """
    return any(
        not _given_and_returned(one).isdisjoint(_brought_and_returned(other))
        for s in statements(plain(body))
        if type(s) is f.If
        for one, other in ((s.body, s.orelse), (s.orelse, s.body))
    )


def stores_its_result(body: f.Body) -> bool:
    """Whether one arm of a test hands back what it puts into a store, from which the others hand it back:

    if rank == 0:
        value = make()
        store.set(key, pickle.dumps(value))
        return value
    return pickle.loads(store.get(key))
    """
    read = [
        render(call.func.base)
        for s in statements(body)
        if type(s) is f.Return
        for call in nodes(s.value, f.Call)
        if reads_store(call) and type(call.func) is f.Attr
    ]
    return bool(read) and any(
        stored in read and not _returned(arm).isdisjoint(held)
        for s in statements(body)
        if type(s) is f.If
        for arm in (s.body, s.orelse)
        for stored, held in map(put_in_store, arm)
    )


def returns_what_it_sends(body: f.Body) -> bool:
    """Whether one arm of a test hands back, on each of its ways, what it has just broadcast, and the other what it has
    received, or None where that says so:

    if rank == 0:
        if queue.empty():
            broadcast_object_list([None], src=0)
            return None
        broadcast_object_list([item], src=0)
        return item
    box = [None]
    broadcast_object_list(box, src=0)
    return box[0]
    """
    return any(
        _all_returned(one, _is_sent) and _all_returned(other, _is_received)
        for s, behind in _tests(plain(body))
        for one, other in ((s.body, s.orelse or behind), (s.orelse or behind, s.body))
    )


def _tests(block: f.Body) -> Iterator[tuple[f.If, f.Body]]:
    """The tests of a block, and of the blocks in it, with what comes behind them."""
    for i, s in enumerate(block):
        if type(s) is f.If:
            yield s, block[i + 1 :]
        for inner in blocks(s):
            yield from _tests(inner)


def _all_returned(arm: f.Body, told: Callable[[f.Body, list[f.Stmt], f.Expr], bool]) -> bool:
    """Whether that is told of all that an arm hands back, and it hands back something. What is told is asked of the
    arm, the statements on the way to a `return`, and what that hands back."""
    found = [(way, s) for way, s in _ways(arm, []) if type(s) is f.Return]
    return bool(found) and all(type(s) is f.Return and told(arm, way, s.value or _NOTHING) for way, s in found)


_NOTHING = f.Const("None")


def _ways(block: f.Body, before: list[f.Stmt]) -> Iterator[tuple[list[f.Stmt], f.Stmt]]:
    """Each statement of a block, and of those in it, with what stands in front of it, tests around it included."""
    way = list(before)
    for s in block:
        yield way[:], s
        for inner in blocks(s):
            yield from _ways(inner, [*way, s])
        way.append(s)


def _is_sent(arm: f.Body, way: list[f.Stmt], returned: f.Expr) -> bool:
    """Whether the last broadcast in front of a `return` sends what that hands back: `[item]`, a tensor of it."""
    sent = next((given for s in reversed(way) if (given := _broadcast(s)) is not None), None)
    if type(sent) is f.Name:
        made = (s.value for s in reversed(way) if type(s) is f.Assign and sent.id in map(place_name, s.targets))
        sent = next(made, None)
    if type(sent) is f.Sequence:
        return render(returned) in map(render, sent.elements)
    return sent is not None and type(returned) is f.Name and returned.id in variables(sent)


def _is_received(arm: f.Body, way: list[f.Stmt], returned: f.Expr) -> bool:
    """Whether what is handed back comes out of what was broadcast in front of it, or is None by a test of that."""
    received = {place_name(given) for s in way if (given := _broadcast(s)) is not None} - {""}
    for s in way:
        if type(s) is f.Assign and s.value is not None and received & variables(s.value):
            received |= {place for place in map(place_name, s.targets) if place}
    asked = returned
    if returned == _NOTHING:
        test = next((s.test for s in reversed(way) if type(s) is f.If), None)
        asked = test if test is not None else returned
    return not received.isdisjoint(variables(asked))


def _broadcast(s: f.Stmt) -> f.Expr | None:
    """What a statement broadcasts."""
    call = s.value if type(s) is f.ExprStmt else None
    if type(call) is not f.Call or not call.args or _BROADCASTS.fullmatch(last_name(call.func)) is None:
        return None
    return call.args[0]


#: a store of key and value that all processes reach (`torch.distributed.Store`), by its name
_STORE = re.compile(r"store$", re.IGNORECASE)


def put_in_store(s: f.Stmt) -> tuple[str, frozenset[str]]:
    """The store into which a statement puts something, as text, and the variables in that: `store.set(key, value)`."""
    call = s.value if type(s) is f.ExprStmt else None
    if type(call) is not f.Call or type(call.func) is not f.Attr or call.func.attr != "set" or len(call.args) != 2:
        return "", frozenset()
    if _STORE.search(last_name(call.func.base)) is None:
        return "", frozenset()
    return render(call.func.base), frozenset(variables(call.args[1]))


def reads_store(call: f.Call) -> bool:
    """`store.get(key)`, which waits until the key is there."""
    func = call.func
    return type(func) is f.Attr and func.attr == "get" and _STORE.search(last_name(func.base)) is not None


def _returned(arm: f.Body) -> set[str]:
    """The names that an arm hands back, or of which it hands back an item."""
    values = [s.value for s in statements(arm) if type(s) is f.Return and s.value is not None]
    return {place_name(v.base if type(v) is f.Subscript else v) for v in values} - {""}


def _given_and_returned(arm: f.Body) -> set[str]:
    """The functions that an arm calls with what it hands back, alone or in a list."""
    found: set[str] = set()
    for s in statements(arm):
        call = s.value if type(s) is f.ExprStmt else None
        if type(call) is f.Call and call.args:
            given = call.args[0].elements if type(call.args[0]) is f.Sequence else call.args[:1]
            if any(place_name(e) in _returned(arm) for e in given):
                found.add(render(call.func))
    return found


def _brought_and_returned(arm: f.Body) -> set[str]:
    """The functions whose result an arm hands back, or an item of that."""
    found: set[str] = set()
    for s in statements(arm):
        brought: f.Expr | None = None
        if type(s) is f.Return:
            brought = s.value.base if type(s.value) is f.Subscript else s.value
        elif type(s) is f.Assign and not _returned(arm).isdisjoint(map(place_name, s.targets)):
            brought = s.value
        if type(brought) is f.Call:
            found.add(render(brought.func))
    return found


def _sends(arm: f.Body, name: str) -> bool:
    """Whether an arm sends something, and does not set it."""
    sent = any(
        type(node) is f.Call
        and SENDS.fullmatch(last_name(node.func)) is not None
        and any(place_name(given) == name for given in node.args)
        for node in walk(arm)
    )
    return sent and not any(type(node) is f.Assign and name in map(place_name, node.targets) for node in walk(arm))


def _receives(arm: f.Body, name: str) -> bool:
    """Whether an arm sets something to what it receives."""
    return any(
        type(node) is f.Assign
        and name in map(place_name, node.targets)
        and type(node.value) is f.Call
        and RECEIVES.fullmatch(last_name(node.value.func)) is not None
        for node in arm
    )


def _writes_down(arm: f.Body, name: str) -> bool:
    """Whether an arm broadcasts, and writes something down that it does not set."""
    if any(type(node) is f.Assign and name in map(place_name, node.targets) for node in walk(arm)):
        return False
    calls = [node for node in walk(arm) if type(node) is f.Call]
    written = any(_WRITES.fullmatch(last_name(c.func)) and name in map(place_name, c.args) for c in calls)
    return written and any(_BROADCASTS.fullmatch(last_name(c.func)) for c in calls)


def _reads_again(arm: f.Body, name: str) -> bool:
    """Whether an arm broadcasts, and sets something to what it reads, whichever way it takes."""
    calls = (node for node in walk(arm) if type(node) is f.Call)
    return any(_BROADCASTS.fullmatch(last_name(c.func)) for c in calls) and _is_read(arm, name)


def _is_read(arm: f.Body, name: str) -> bool:
    for s in arm:
        if type(s) is f.Assign and name in map(place_name, s.targets):
            return type(s.value) is f.Call and _READS.fullmatch(last_name(s.value.func)) is not None
        if type(s) is f.If and _is_read(s.body, name) and _is_read(s.orelse, name):
            return True
        if type(s) is f.With and _is_read(s.body, name):
            return True
    return False
