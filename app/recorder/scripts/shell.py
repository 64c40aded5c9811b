"""Shell commands in scripts."""

from __future__ import annotations

import os
import subprocess


def system(command: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> int:
    """Run a command as ``os.system`` does; where the sandbox allows none that raises, instead of a status.

    Returns
    -------
    int
        The status that ``os.wait`` would give.

    Raises
    ------
    PermissionError
        If no program may be started.
    """
    code = subprocess.call(command, shell=True)
    return code << 8 if code >= 0 else -code
