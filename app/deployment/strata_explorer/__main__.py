"""The commands ``strata`` and ``tvmc``."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator

__all__ = ["main", "tvmc"]


def main() -> int:
    """Carry out a command of ``strata``."""
    with _loading():
        from app.shell.main import main as carry_out
    return carry_out()


def tvmc() -> int:
    """Carry out a command of ``tvmc``."""
    with _loading():
        from compiler.classic.tvmc.main import main as carry_out
    try:
        return carry_out()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


@contextlib.contextmanager
def _loading() -> Iterator[None]:
    """Let Ctrl+C end the process at once: there is nothing to tidy up, and no line of a module to be shown."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    sys.exit(main())
