"""Measurement of the core frequency, by a loop with a known number of cycles."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from compiler.runtime.modules.native_code import ObjectCode
from compiler.runtime.timing.clock import stopwatch
from compiler.target.codegen.llvm import pipeline
from compiler.target.target import Target

Run: TypeAlias = Callable[[int], int]

CHAIN = {"x86_64": ("imulq $0, $0", 3), "aarch64": ("add $0, $0, #1", 1)}
"""By architecture, an instruction that depends on its own previous result, and its latency in cycles on all processors.
On x86 it is a multiplication, as some processors add constants in zero cycles."""
LENGTH = 32
"""Instructions per iteration; the loop counter is updated in parallel."""
ROUNDS = 10_000
REPEATS = 7


@cache
def _kernel() -> tuple[ObjectCode, Run, int] | None:
    """Return code that runs the chain ``n`` times, and the cycles of one iteration; None if no chain is known."""
    target = Target("llvm")
    chain = CHAIN.get(target.triple.partition("-")[0])
    if chain is None:
        return None
    instruction, latency = chain
    assembly = "\\0A\\09".join([instruction] * LENGTH)
    text = f"""
target triple = "{target.triple}"
define i64 @strata_frequency(i64 %rounds) {{
entry:
  br label %body
body:
  %count = phi i64 [ 0, %entry ], [ %next, %body ]
  %value = phi i64 [ 3, %entry ], [ %last, %body ]
  %last = call i64 asm sideeffect "{assembly}", "=r,0,~{{cc}}"(i64 %value)
  %next = add i64 %count, 1
  %more = icmp ult i64 %next, %rounds
  br i1 %more, label %body, label %end
end:
  ret i64 %last
}}
"""
    code = ObjectCode(pipeline.object_code(pipeline.parse(text), target))
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("strata_frequency"))
    return code, run, LENGTH * latency


def measure_frequency() -> float | None:
    """Measure the frequency of the core that this thread runs on, in cycles per second.

    It is None on architectures without a known loop, and the current frequency, not the nominal one: cores run faster
    while others are idle, and slower when they are hot.
    """
    kernel = _kernel()
    if kernel is None:
        return None
    _, run, cycles = kernel
    return cycles * ROUNDS / min(_timed(run) for _ in range(REPEATS))


def _timed(run: Run) -> float:
    elapsed = stopwatch()
    run(ROUNDS)
    return elapsed()
