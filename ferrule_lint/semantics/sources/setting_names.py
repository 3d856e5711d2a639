"""What holds settings by its name: `config`, `self.args`, `cfg.model`.

Settings are meant for all ranks. Where one of them is passed on together with local data, in one dict, asking for a
setting is not asking for the data.
"""

from __future__ import annotations

import re

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.dependences import CONTAINED, FLOWS, ITEM, recast
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name

_SETTINGS = re.compile(r"(^|_)(config|cfg|conf|args|opts?|options|settings|hparams|hps?|flags)$", re.IGNORECASE)


def hold_settings(expr: f.Expr | None) -> bool:
    """Whether something is called after settings."""
    return _SETTINGS.search(last_name(expr)) is not None


def is_setting(place: str) -> bool:
    """Whether a place, by its text, is a field of what is called after settings: `args.rate`, `self.config.rated`."""
    return any(_SETTINGS.search(part) for part in place.split(".")[:-1])


def of_entry(base: f.Expr | None, value: Value) -> Value:
    """What an entry of `base` holds, of which nothing more is known than what `base` depends on."""
    if not value.deps or value.data is not None or not hold_settings(base):
        return value
    return value._replace(deps=recast(value.deps, CONTAINED, FLOWS, ITEM))
