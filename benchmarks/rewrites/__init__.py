"""The same program in other words: rewrites of Python that change nothing but the form.

Each is a function from a module's syntax tree to another that does the same, or to the same tree where it does not
apply. `metamorphic.py` asks that the linter says the same of both.
"""

from __future__ import annotations

from rewrites import calls, carriers, control, exits, extracted, halves
from rewrites.base import Rewrite

#: every rewrite, by its name
ALL: dict[str, Rewrite] = {
    rewrite.name: rewrite
    for family in (control, exits, extracted, halves, carriers, calls)
    for rewrite in family.REWRITES
}
