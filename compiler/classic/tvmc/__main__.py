"""The command line: ``compile`` and ``run``."""

from __future__ import annotations

import sys

from compiler.classic.tvmc.main import main

if __name__ == "__main__":
    sys.exit(main())
