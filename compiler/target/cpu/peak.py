"""Measurement of this machine's peak rates of multiply-adds, by the data type of what is multiplied."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.runtime.modules.native_code import ObjectCode
from compiler.runtime.timing.clock import Duration, time_together
from compiler.target.codegen.llvm import pipeline
from compiler.target.codegen.llvm.selection.dot_products import dot_intrinsic
from compiler.target.codegen.llvm.selection.pair_products import PAIR_INTRINSICS
from compiler.target.codegen.llvm.types import I8, I16, I32, I64, POINTER, VOID, constant, register_type
from compiler.target.cpu.cpu_features import (
    byte_product_bits,
    half_product_bits,
    int16_vector_bits,
    integer_products,
    tile_dtypes,
)
from compiler.target.target import Target
from compiler.tir.analysis.arithmetic import Arithmetic

Run: TypeAlias = Callable[[int, int], None]
"""Takes the address of an output buffer and the number of iterations."""
MultiplyAdd: TypeAlias = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]
"""Adds products of a vector of sums, seen as numbers to multiply, and another one to the sums."""
_CHAINS = 12
"""The number of independent accumulators: more than latency × FMA units of any CPU, fewer than its registers."""
_LEAST_BITS = 32
"""Of numbers that are multiplied and added without being widened."""
_SECONDS = 0.01
_REPEATS = 5
PEAKS = ("float32", "float64", "int32", "int64", "int16", "int8")
"""Of which numbers' products the peak is measured, where a processor has instructions for them."""


def peak_of(arithmetic: Arithmetic | None, target: Target) -> str | None:
    """Return which of :data:`PEAKS` bounds a kind of arithmetic on a processor; None if none does.

    Products of narrow integers are bounded by the instruction that adds four or two of them to a lane.  Those that a
    processor multiplies in tiles, or pairs of bfloat16 that it adds, are not measured, nor is arithmetic in float16.
    """
    if arithmetic is None or target.kind != "llvm":
        return None
    operands, result = {*arithmetic[:2]}, arithmetic.result
    machine = target.triple, target.cpu, target.llvm_features
    by_tiles = tile_dtypes(*machine)
    if operands == {result}:
        return result if result in PEAKS and dt.bits(result) >= _LEAST_BITS else None
    is_tiled = "int8" in by_tiles and "int16" not in operands
    if result == "int32" and operands <= {"int8", "uint8", "int16"} and not is_tiled:
        return {4: "int8", 2: "int16"}.get(integer_products(*machine, *arithmetic[:2]))
    has_pairs = "bfloat16" in by_tiles or half_product_bits(*machine)
    is_widened = operands == {"float16"} or (operands == {"bfloat16"} and not has_pairs)
    return result if result == "float32" and is_widened else None


@cache
def _kernel(dtype: str) -> tuple[ObjectCode, Run, int]:
    """Return code that runs ``n`` iterations of independent multiply-adds, and its operations per iteration."""
    target = Target("llvm")
    module = ir.Module("peak")
    module.triple = target.triple
    typ, operations, multiply_add = _multiply_adds(module, dtype, target)
    function = ir.Function(module, ir.FunctionType(VOID, [POINTER, I64]), "strata_peak")
    result, rounds = function.args
    entry, body, end = (function.append_basic_block(name) for name in ("entry", "body", "end"))
    builder = ir.IRBuilder(entry)
    factor = builder.load(result, typ=typ, align=4)
    builder.branch(body)
    builder.position_at_end(body)
    count = builder.phi(I64)
    count.add_incoming(constant(I64, 0), entry)
    sums = [builder.phi(typ) for _ in range(_CHAINS)]
    for number, total in enumerate(sums):
        total.add_incoming(constant(typ, number), entry)
        total.add_incoming(multiply_add(builder, total, factor), body)
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
    return code, entry_point, _CHAINS * operations


def _multiply_adds(module: ir.Module, dtype: str, target: Target) -> tuple[ir.VectorType, int, MultiplyAdd]:
    """Return the type of a vector of sums, how many operations a multiply-add of it is, and what makes one."""
    machine = target.triple, target.cpu, target.llvm_features
    if dtype == "int8":
        types = ("uint8" if target.triple.startswith("x86_64") else "int8", "int8")
        lanes = byte_product_bits(*machine, *types)[0] // 32
        sums, factors = ir.VectorType(I32, lanes), ir.VectorType(I8, 4 * lanes)
        name = dot_intrinsic(target.triple, types, sums, factors)
        dot = ir.Function(module, ir.FunctionType(sums, [sums, factors, factors]), name)
        return sums, 8 * lanes, lambda b, x, y: b.call(dot, [x, b.bitcast(x, factors), b.bitcast(y, factors)])
    if dtype == "int16":
        lanes = int16_vector_bits(*machine) // 32
        sums, factors = ir.VectorType(I32, lanes), ir.VectorType(I16, 2 * lanes)
        pairs = ir.Function(module, ir.FunctionType(sums, [factors, factors]), PAIR_INTRINSICS[lanes])
        return sums, 4 * lanes, lambda b, x, y: b.add(x, b.call(pairs, [b.bitcast(x, factors), b.bitcast(y, factors)]))
    lanes = max(target.vector_bits, 128) // dt.bits(dtype)
    sums = register_type(dt.with_lanes(dtype, lanes))
    if dt.is_float(dtype):
        fused = ("contract",)
        return sums, 2 * lanes, lambda b, x, y: b.fadd(b.fmul(x, y, flags=fused), y, flags=fused)
    return sums, 2 * lanes, lambda b, x, y: b.add(b.mul(x, y), y)


def measure_peak(dtype: str = "float32", threads: int = 1) -> float:
    """Measure the peak rate of multiply-adds of one of :data:`PEAKS` on registers, over all threads, in Gop/s.

    Raises ArgumentError for others, and for narrow integers whose products this machine has no instruction for.
    """
    if dtype not in PEAKS:
        raise ArgumentError(f"measure_peak: dtype must be one of {', '.join(PEAKS)}, got {dtype!r}")
    summed = "int32" if dtype in ("int8", "int16") else dtype
    if peak_of(Arithmetic(dtype, dtype, summed), Target("llvm")) != dtype:
        raise ArgumentError(f"measure_peak: this machine has no instruction whose peak for {dtype} is measured")
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
