"""Sets resource limits on its own process and replaces it by a tool."""

import os
import resource
import runpy
import sys

_MAX_FILE_BYTES = 256 << 20


def _limit(seconds: int, memory: int) -> None:
    for which, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, _MAX_FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(which)
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (limit, limit))


def _main(seconds: str, memory: str, *command: str) -> None:
    _limit(int(seconds), int(memory))
    if command[0].endswith(".py"):
        sys.argv = list(command)
        runpy.run_path(command[0], run_name="__main__")
    else:
        os.execv(command[0], command)


if __name__ == "__main__":
    _main(*sys.argv[1:])
