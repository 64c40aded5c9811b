"""Runs kernels thread by thread, and finds no fault in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.tir.sanitizer import sanitize
from compiler.tir.statements.function import PrimFunc


def run_threads(func: PrimFunc, arrays: Sequence[Any]) -> None:
    """Run a function whose kernels bind thread axes, and change the arrays in place."""
    result = sanitize(func, arrays)
    assert not result.reports, str(result)
    assert result.complete
