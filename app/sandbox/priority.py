"""Lower scheduling priority of children."""

from __future__ import annotations

import contextlib
import os

NICENESS = 10
"""A child gets a tenth of what the server gets of a core that both want."""


def lower(processes: int) -> None:
    """Lower the priority of this process, the leader of a new session.

    Where the kernel shares cores between sessions first, a process's own niceness counts only inside of its session: so
    the session's is lowered too.

    Parameters
    ----------
    processes : int
        Descriptor of the directory ``/proc``.
    """
    os.nice(NICENESS)
    with contextlib.suppress(OSError):  # it is not shared so, or another child's was lowered in the same instant
        file = os.open("self/autogroup", os.O_WRONLY | os.O_CLOEXEC, dir_fd=processes)
        try:
            os.write(file, b"%d" % NICENESS)
        finally:
            os.close(file)
