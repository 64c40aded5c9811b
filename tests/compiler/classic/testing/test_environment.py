"""Switches that tests read from the environment."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
from tvm.testing.utils import IS_IN_CI, SKIP_SLOW_TESTS, install_request_hook
install_request_hook(depth=3)
print(IS_IN_CI, SKIP_SLOW_TESTS)
"""


@pytest.mark.parametrize(
    ("variables", "expected"),
    [({}, "False False"), ({"CI": "true"}, "True False"), ({"SKIP_SLOW_TESTS": "Yes"}, "False True")],
)
def test_switches_are_read_from_the_environment(variables: dict[str, str], expected: str) -> None:
    others = {name: value for name, value in os.environ.items() if name not in ("CI", "SKIP_SLOW_TESTS")}
    command = ["-c", f"from compiler.classic.alias import install; install(); exec({PROGRAM!r})"]
    ended = subprocess.run([sys.executable, *command], env={**others, **variables}, capture_output=True, text=True)
    assert ended.stdout.strip() == expected, ended.stderr
