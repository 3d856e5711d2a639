"""Local data that callers pass to a method which keeps, by what they hold, something in its instance.

```python
class Buffer:
    def add(self, item):
        if item.sum() > 0:
            self.items.append(item)

for batch in loader:
    buffer.add(batch)
```

What an attribute holds is asked for without its instance: how many items there are then differs between ranks, if all
that call the method which puts them in pass local data. So it is with a constructor (`Packs(batch, limit)`), and with
the keys of a dict: `self.sums[task] = loss` has them in the order in which this rank has met them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.assigned import targets
from ferrule_lint.semantics.domain.dependences import DATA, OBSERVED, Deps, root_of
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import place_name, shown
from ferrule_lint.semantics.project import options
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.walk.passed_in import MOST_CALLS

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: kinds of dependences by which a test has read what it was given
_READ = (OBSERVED, DATA)


def decisive(method: FunctionInfo, writes: dict[str, Value], keeps_by_calls: bool) -> frozenset[str]:
    """The parameters of a method whose content decides what it keeps in its instance, under which keys, or whether it
    does. `keeps_by_calls`: it calls under tests what keeps something; by which parameters is not looked at."""
    own = frozenset([p.name for p in method.parameters[1:] if p.kind in ("normal", "keyword")])
    if keeps_by_calls:
        return own
    found = keys(method.body, method.parameters[0].name)
    for value in writes.values():
        deps: Deps = value.deps | value.length_deps | value.presence_deps
        found.update(root_of(name) for name, how in deps if how in _READ)
    return own & found


def keys(body: f.Body, own: str) -> set[str]:
    """The variables under which a method makes entries in attributes of its instance, `self.sums[task] = loss`."""
    entries = [t for s in statements(body) for t in targets(s)]
    for call in nodes(body, f.Call):
        if type(call.func) is f.Attr and call.func.attr == "setdefault" and call.args:
            entries.append(f.Subscript(call.func.base, call.args[0], call.pos))
        elif type(call.func) is f.Attr and type(call.func.base) is f.Subscript:
            entries.append(call.func.base)  # `self.losses[task].append(loss)`
    return {
        t.index.id
        for t in entries
        if type(t) is f.Subscript and type(t.index) is f.Name and place_name(t.base).startswith(f"{own}.")
    }


def passed(
    analysis: Analysis, method: FunctionInfo, info: ClassInfo, names: frozenset[str], layer: int
) -> dict[str, Divergence]:
    """Of these parameters, those for which every caller passes local data, each with where it comes from."""
    if not names or is_test(method.module.path):
        return {}
    sites = options.calls_outside_tests(analysis, method)
    if len(sites) > MOST_CALLS:
        sites = [site for site in sites if _may_be_of(site, info)]
    if not sites or len(sites) > MOST_CALLS:
        return {}
    found: dict[str, Divergence | None] = dict.fromkeys(names)
    makes = method.name == "__init__"
    for module, owner, call in sites:
        if owner is None or not (makes or type(call.func) is f.Attr):
            return {}
        frame = analysis.caller(module, owner, layer)
        of = frame.seen(call.func.base).types if type(call.func) is f.Attr and not makes else {info}
        if not any(info in analysis.names.mro(c) for c in of):
            if of:
                continue  # a method of another class that is called so, too
            return {}
        for name in list(found):
            given = options.passed(call, method, True, name)
            data = frame.seen(given).data if given is not None else None
            if data is None or data.assumed or data.confidence is Confidence.LOW:
                del found[name]  # another instance, maybe, which is given what ranks have agreed on
            elif found[name] is None:
                step = frame.step("call", call.pos, f"passed on here: `{shown(call)}`")
                found[name] = data.then(step).at_most(Confidence.MEDIUM)
    return {name: why for name, why in found.items() if why is not None}


def _may_be_of(site: options.Site, info: ClassInfo) -> bool:
    """Whether a call may be of the class, by a look at its file: one of its own, or where the class is spoken of."""
    module = site[0]
    return module is info.module or module.mentions_any(frozenset({info.name}))
