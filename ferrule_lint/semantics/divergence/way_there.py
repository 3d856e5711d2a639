"""How ranks come to a choice: by the answers to tests further up that leave otherwise.

```python
if path is None:
    return None
model = load(path)
if model is not None:
    return model
raise RuntimeError(path)
```

A way that ends in an exception is comparable with anything, and a choice of which one arm ends so is taken for the
other arm. Of a rank that fails behind this choice, the ways that leave before it would be left over: as if it had not
come here. But who is told apart by the choice has come to it.
"""

from __future__ import annotations

from ferrule_lint.semantics.domain.conditions import implied
from ferrule_lint.semantics.domain.trace import Choice, Trace, ends, parts


def answers(trace: Trace, choice: Choice) -> dict[str, bool] | None:
    """The answers with which a rank gets from the beginning of a trace to a choice in it; None: it is not here."""
    found: dict[str, bool] = {}
    for term in trace:
        if term is choice:
            return found
        arms = [(term.body, True), (term.orelse, False)] if type(term) is Choice else [(parts(term), True)]
        for arm, holds in arms:
            inner = answers(arm, choice)
            if inner is not None:
                led = implied(term.formula, holds) if type(term) is Choice else {}
                return {**found, **led, **inner}
        found.update(_gone_past((term,)))
    return None


def _gone_past(trace: Trace) -> dict[str, bool]:
    """The answers with which a rank gets to the end of a trace, as far as its choices leave no other."""
    found: dict[str, bool] = {}
    for term in trace:
        if type(term) is not Choice or term.form in ("except", "exception"):
            continue
        if ends(term.body) or ends(term.orelse):
            found.update(implied(term.formula, not ends(term.body)))
        else:
            found.update(_gone_past(term.body + term.orelse))
    return found
