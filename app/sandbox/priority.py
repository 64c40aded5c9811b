"""Lower scheduling priority of children."""

from __future__ import annotations

import contextlib
import os

NICENESS = 10
"""With this niceness, a child gets a tenth of the server's share of a contended core."""


def lower(processes: int) -> None:
    """Lower the priority of this process, which must be the leader of a new session.

    With autogroup scheduling, the kernel distributes CPU time among sessions first, and a process's niceness counts
    only within its session: so that of the session is lowered too.

    Parameters
    ----------
    processes : int
        Descriptor of ``/proc``.
    """
    os.nice(NICENESS)
    with contextlib.suppress(OSError):  # no autogroup scheduling, or rate-limited because of another child
        file = os.open("self/autogroup", os.O_WRONLY | os.O_CLOEXEC, dir_fd=processes)
        try:
            os.write(file, b"%d" % NICENESS)
        finally:
            os.close(file)
