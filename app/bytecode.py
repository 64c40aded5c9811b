"""Bytecode of this project's modules, for the processes of the sandbox, which may write no file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import compiler

PACKAGES = [Path(__file__).parent, Path(compiler.__path__[0])]
_LOWEST_PRIORITY = 19


def write_bytecode(folders: Sequence[Path] = PACKAGES) -> subprocess.Popen[bytes] | None:
    """Begin to write what is missing or outdated, behind everything else that the machine does.

    Processes of the sandbox would compile these modules at every start of a server that runs from a clone. Returns None
    where Python is told to write no bytecode, or the folders may not be written.
    """
    if sys.dont_write_bytecode or not all(os.access(folder, os.W_OK) for folder in folders):
        return None
    command = [sys.executable, "-P", "-s", "-m", "compileall", "-q", "-q", *map(str, folders)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if sys.platform != "win32":
        os.setpriority(os.PRIO_PROCESS, process.pid, _LOWEST_PRIORITY)
    return process
