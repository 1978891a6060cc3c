"""The clawgate binary from Python: a scripted Messages API, runs of cases, and judgements.

Everything is decided by the binary; this starts it, reads its JSON and raises what it found. The forms of the JSON are
published under ``schemas/clawgate`` of clawgate: ``mock``, ``run`` and ``judge``.
"""

from ._api import Api
from ._binary import ClawgateError, ClawgateFailed, binary
from ._judge import judge
from ._run import Run, run

__all__ = ["Api", "ClawgateError", "ClawgateFailed", "Run", "binary", "judge", "run"]
