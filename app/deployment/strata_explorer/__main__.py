"""The commands ``strata`` and ``tvmc``."""

from __future__ import annotations

import sys

from app.shell.main import main

__all__ = ["main", "tvmc"]


def tvmc() -> int:
    """Carry out a command of ``tvmc``."""
    from compiler.classic.tvmc.main import main as carry_out

    return int(carry_out())


if __name__ == "__main__":
    sys.exit(main())
