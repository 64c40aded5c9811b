"""Runs everything that has to hold: style, types, the layers, and all tests, browser included.

python -m tests [pytest arguments]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.browser import ENVIRONMENT, NoBrowser, ensure

ROOT = Path(__file__).resolve().parent.parent
CHECKS = (
    ("style", ["-m", "ruff", "check", "."]),
    ("types", ["-m", "mypy"]),
    ("layers", ["-c", "from importlinter.cli import lint_imports_command as run; run()"]),
)


def main(arguments: list[str]) -> int:
    """Run the checks, then pytest; return the first exit code that is not zero."""
    try:
        browser = ensure()
    except NoBrowser as exc:
        print(exc, file=sys.stderr)
        return 2
    environment = {**os.environ, ENVIRONMENT: browser}
    for name, command in CHECKS:
        print(f"-- {name}", flush=True)
        code = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment).returncode
        if code:
            return code
    print("-- tests", flush=True)
    workers = ["-n", str(min(4, os.cpu_count() or 1)), "--dist", "loadfile"]
    return subprocess.run([sys.executable, "-m", "pytest", *workers, *arguments], cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
