"""Switches in environment variables."""

from __future__ import annotations

import os

from compiler.ir.error import expected

__all__ = ["IS_IN_CI", "SKIP_SLOW_TESTS", "install_request_hook", "strtobool"]

IS_IN_CI = os.environ.get("CI", "") == "true"
"""Whether tests run in continuous integration."""
SKIP_SLOW_TESTS = os.environ.get("SKIP_SLOW_TESTS", "").lower() in ("1", "true", "yes")
"""Whether tests that take long are to be skipped."""

_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")


def strtobool(val: str) -> bool:
    """Return what ``y``, ``yes``, ``t``, ``true``, ``on``, ``1`` or their opposites mean, in any case."""
    word = val.lower()
    if word not in _TRUE + _FALSE:
        expected("strtobool", "val", f"one of {', '.join(_TRUE + _FALSE)}", val)
    return word in _TRUE


def install_request_hook(depth: int) -> None:
    """Do nothing: TVM's continuous integration redirects downloads to mirrors here, and there are no such mirrors."""
