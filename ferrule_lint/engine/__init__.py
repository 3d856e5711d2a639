"""One run: from paths and settings to a report.

Discovery, reading, facts (from the cache where the file was seen before), the checks over the whole project,
selection, and the flagger for the files that have findings. Nothing here prints or exits: whatever goes wrong with
one file becomes an error in the report, and the run goes on.
"""

from ferrule_lint.engine.run import Fixed, fix, lint
from ferrule_lint.engine.state import Progress

__all__ = ["Fixed", "Progress", "fix", "lint"]
