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
QUICK = (
    ("style", ["-m", "ruff", "check", "."]),
    ("layers", ["-c", "from importlinter.cli import lint_imports_command as run; run()"]),
)
TYPES = ["-m", "mypy"]
"""Takes a minute or two, in which the tests of a machine with several cores can begin."""
WORKERS = ["-n", str(min(4, (os.cpu_count() or 1) + 1)), "--dist", "worksteal"]
"""One worker more than cores: a third of the time, a worker waits for a page, a server, or a limit that a test reaches.

Each takes neighbouring files, which share servers and browsers, until another one has nothing left to do.
"""


def main(arguments: list[str]) -> int:
    """Run the checks, then pytest beside the check of types; return the first exit code that is not zero."""
    try:
        browser = ensure()
    except NoBrowser as exc:
        print(exc, file=sys.stderr)
        return 2
    environment = {**os.environ, ENVIRONMENT: browser}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would each compile every module
    for name, command in QUICK:
        print(f"-- {name}", flush=True)
        code = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment).returncode
        if code:
            return code
    print("-- tests, and types beside them", flush=True)
    types = subprocess.Popen(
        [sys.executable, *TYPES], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    tests = subprocess.run([sys.executable, "-m", "pytest", *WORKERS, *arguments], cwd=ROOT, env=environment).returncode
    print("-- types", flush=True)
    print(types.communicate()[0], end="", flush=True)
    return types.returncode or tests


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
