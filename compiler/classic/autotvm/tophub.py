"""``tvm.autotvm.tophub``: published tuning records.

TVM downloads them; here they are files that the program has.  A context holds the records of those files, so that what
a program tuned itself is used as it is around TVM's.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from os import PathLike

from compiler.classic.autotvm.env import GLOBAL_SCOPE
from compiler.classic.autotvm.task.history import ApplyHistoryBest
from compiler.classic.autotvm.utils import EmptyContext
from compiler.target.target import Target

__all__ = ["ApplyHistoryBest", "EmptyContext", "context"]

logger = logging.getLogger("autotvm")


def context(
    target: Target | str | Iterable[Target | str], extra_files: Iterable[str | PathLike[str]] | None = None
) -> ApplyHistoryBest:
    """Return a context of published records, which are those of ``extra_files`` alone here.

    Examples
    --------
    ::

        with autotvm.tophub.context(target, extra_files=["records.json"]):
            lib = relay.build(mod, target=target)
    """
    if not GLOBAL_SCOPE.silent:
        targets = [target] if isinstance(target, (Target, str)) else list(target)
        logger.warning("No published records for %s: none are downloaded.", ", ".join(map(str, targets)))
    best = ApplyHistoryBest([])
    for name in extra_files or ():
        best.load(name)
    return best
