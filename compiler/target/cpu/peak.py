"""Measurement of this machine's peak rate of fused multiply-adds."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from llvmlite import ir

from compiler.ir.error import ArgumentError
from compiler.runtime.modules.native_code import ObjectCode
from compiler.runtime.timing.clock import Duration, time_together
from compiler.target.codegen.llvm import pipeline
from compiler.target.codegen.llvm.types import I32, I64, POINTER, VOID, constant, register_type
from compiler.target.target import Target

Run: TypeAlias = Callable[[int, int], None]
"""Takes the address of an output buffer and the number of iterations."""
_BITS = {"float32": 32, "float64": 64}
_CHAINS = 12
"""The number of independent accumulators: more than latency × FMA units of any CPU, fewer than its registers."""
_SECONDS = 0.01
_REPEATS = 5


@cache
def _kernel(dtype: str) -> tuple[ObjectCode, Run, int]:
    """Return code that runs ``n`` iterations of independent fused multiply-adds, and its operations per iteration."""
    target = Target("llvm")
    lanes = max(target.vector_bits, 128) // _BITS[dtype]
    module = ir.Module("peak")
    module.triple = target.triple
    function = ir.Function(module, ir.FunctionType(VOID, [POINTER, I64]), "strata_peak")
    result, rounds = function.args
    typ = register_type(f"{dtype}x{lanes}")
    entry, body, end = (function.append_basic_block(name) for name in ("entry", "body", "end"))
    builder = ir.IRBuilder(entry)
    factor = builder.load(result, typ=typ, align=4)
    builder.branch(body)
    builder.position_at_end(body)
    count = builder.phi(I64)
    count.add_incoming(constant(I64, 0), entry)
    sums = [builder.phi(typ) for _ in range(_CHAINS)]
    for number, total in enumerate(sums):
        total.add_incoming(constant(typ, float(number)), entry)
        product = builder.fmul(total, factor, flags=("contract",))
        total.add_incoming(builder.fadd(product, factor, flags=("contract",)), body)
    following = builder.add(count, constant(I64, 1))
    count.add_incoming(following, body)
    builder.cbranch(builder.icmp_unsigned("<", following, rounds), body, end)
    builder.position_at_end(end)
    for number, total in enumerate(sums):
        place = builder.gep(result, [ir.Constant(I32, number)], source_etype=typ)
        builder.store(total.incomings[1][0], place, align=4)
    builder.ret_void()
    parsed = pipeline.parse(str(module))
    pipeline.optimise(parsed, target)
    code = ObjectCode(pipeline.object_code(parsed, target))
    entry_point = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(code.address("strata_peak"))
    return code, entry_point, 2 * _CHAINS * lanes


def measure_peak(dtype: str = "float32", threads: int = 1) -> float:
    """Measure the peak rate of fused multiply-adds of ``float32`` or ``float64`` on registers, over all threads."""
    if dtype not in _BITS:
        raise ArgumentError(f"measure_peak: dtype must be one of {', '.join(_BITS)}, got {dtype!r}")
    if threads < 1:
        raise ArgumentError(f"measure_peak: threads must be positive, got {threads}")
    operations, best = fastest_run(dtype, threads)
    return operations / best / 1e9


def fastest_run(dtype: str, threads: int) -> tuple[int, Duration]:
    """Return the operations of a run of multiply-adds, and the time of the fastest one."""
    _, run, operations = _kernel(dtype)
    rounds = 1 << 16
    elapsed = _timed(run, rounds, 1)
    rounds = max(1 << 16, int(rounds * _SECONDS / max(elapsed.clock, 1e-6)))
    return operations * rounds * threads, min(_timed(run, rounds, threads) for _ in range(_REPEATS))


def _timed(run: Run, rounds: int, threads: int) -> Duration:
    """Return the time that the threads take, each running all iterations."""

    def work() -> None:
        memory = (ctypes.c_char * 4096)()
        run(ctypes.addressof(memory), rounds)

    return time_together([work] * threads)
