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
QUICK = {
    "style": ["-m", "ruff", "check", "."],
    "layers": ["-c", "from importlinter.cli import lint_imports_command as run; run()"],
}
TYPES = ["-m", "mypy"]
"""Takes a minute or two, in which the tests can begin."""
WORKERS = ["-n", str(min(4, (os.cpu_count() or 1) + 1)), "--dist", "worksteal"]
"""One worker more than cores: a third of the time, a worker waits for a page, a server, or a limit that a test reaches.

Each takes neighbouring files, which share servers and browsers, until another one has nothing left to do.
"""


def main(arguments: list[str]) -> int:
    """Run the quick checks, then pytest, and types beside both; return a code that is not zero if one is."""
    try:
        browser = ensure()
    except NoBrowser as exc:
        print(exc, file=sys.stderr)
        return 2
    environment = {**os.environ, ENVIRONMENT: browser}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would each compile every module
    types = _started(TYPES, environment)
    quick = {name: _started(command, environment) for name, command in QUICK.items()}
    failed = [name for name, check in quick.items() if _result(name, check)]
    if failed:
        types.kill()
        return 1
    print("-- tests, and types beside them", flush=True)
    tests = subprocess.run([sys.executable, "-m", "pytest", *WORKERS, *arguments], cwd=ROOT, env=environment).returncode
    return _result("types", types) or tests


def _started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    arguments = [sys.executable, *command]
    return subprocess.Popen(
        arguments, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def _result(name: str, check: subprocess.Popen[str]) -> int:
    """Print what a check has to say; return its exit code."""
    print(f"-- {name}", check.communicate()[0], sep="\n", end="", flush=True)
    return check.returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
