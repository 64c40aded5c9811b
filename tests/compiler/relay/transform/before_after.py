"""Passes as texts: a program before, the program expected after."""

from __future__ import annotations

from compiler.ir import IRModule
from compiler.ir.structural import structural_equal
from compiler.ir.transform import PassContext, parse_pass
from compiler.relay.inference import infer_module
from compiler.relay.parser import parse

ARROW = "->"
"""A line that stands between a program and what becomes of it."""


def typed(program: str) -> IRModule:
    """Return the module of a program's text, with types."""
    return infer_module(parse(program))


def check_pass(passes: str, before: str, expected: str, opt_level: int = 4) -> IRModule:
    """Run passes, which are given as text, on a program; check that what comes of it is the expected program.

    Programs are compared by structure: names of variables say nothing, and a function may leave out its result type.
    """
    with PassContext(opt_level=opt_level):
        after = infer_module(parse_pass(passes)(typed(before)))
    if not structural_equal(after, typed(expected)):
        raise AssertionError(f"{passes} makes\n\n{after}\n\nof the program, expected was\n\n{typed(expected)}")
    return after


def check_stays(passes: str, program: str, opt_level: int = 4) -> None:
    """Check that passes return the very module that they are given."""
    mod = typed(program)
    with PassContext(opt_level=opt_level):
        assert parse_pass(passes)(mod) is mod
