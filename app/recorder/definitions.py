"""Tells what a recorded program computes, so that two programs can be compared whatever their schedules and names."""

from __future__ import annotations

from app.recorder.measuring.measured_program import MeasuredProgram
from compiler.ir.error import TVMError
from compiler.ir.structural import structural_digest

MAX_PARTS = 50_000
"""The size of a definition, in parts, above which it is not compared: it may use one expression many times."""
MAX_PARAMETERS = 300
"""The length of the listed parameters; the digest has all of them."""


def definition_of(program: MeasuredProgram) -> str:
    """Return the parameters of a program and a digest of its definition; empty if there is none to compare.

    Parameters
    ----------
    program : MeasuredProgram
        Its schedule does not count, nor do the names of its tensors and axes.

    Returns
    -------
    str
        ``float32[16], float32[16]: 1f3a…``.
    """
    try:
        digest = structural_digest(program.definition(), MAX_PARTS)
    except TVMError:
        return ""
    listed = ", ".join(f"{p.dtype}{list(p.shape)}" for p in program.parameters)
    cut = listed if len(listed) <= MAX_PARAMETERS else listed[: MAX_PARAMETERS - 1] + "…"
    return f"{cut}: {digest}" if digest else ""
