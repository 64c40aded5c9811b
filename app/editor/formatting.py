"""Formats scripts with ruff, without running them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from ruff import find_ruff_bin

from app import patience
from app.errors import InvalidBody
from compiler.target import cuda_tools

LINE_LENGTH = 100
SECONDS = 5
BYTES = 1 << 30
"""Address space limit of the formatter process."""
NAME = "script.py"
_LIMITED = str(Path(cuda_tools.__file__).with_name("limited.py"))


def format_script(script: str) -> str:
    """Return a script in ruff's style.

    Raises
    ------
    InvalidBody
        If it is not valid Python, or formatting exceeds the limits.
    """
    command = [find_ruff_bin(), "format", "--isolated", "--no-cache", f"--line-length={LINE_LENGTH}"]
    limited = [
        sys.executable,
        "-I",
        "-S",
        _LIMITED,
        str(SECONDS),
        str(BYTES),
        *command,
        f"--stdin-filename={NAME}",
        "-",
    ]
    with tempfile.TemporaryDirectory() as folder:
        try:
            environment = {"HOME": folder, "RAYON_NUM_THREADS": "1"}
            ran = patience.run(limited, SECONDS, text=script, cwd=folder, env=environment, stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            raise InvalidBody(f"formatting takes more than {SECONDS} seconds", field="$.script") from None
    if ran.returncode:
        raise InvalidBody(_reason(ran.stderr), field="$.script", expected="a Python program")
    return ran.stdout


def _reason(errors: str) -> str:
    """Return ruff's error message, e.g. ``line 2, column 1: unexpected EOF while parsing``."""
    first = next(iter(errors.strip().splitlines()), "")
    _, separator, place = first.partition(f"{NAME}:")
    if not separator:
        return "the script cannot be formatted"
    line, column, message = place.split(":", 2)
    return f"line {line}, column {column}:{message}"
