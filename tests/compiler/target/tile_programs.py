"""Products in tile registers (AMX) against NumPy, on any x86-64 Linux: where the processor has no AMX, emulated.

    python -m tests.compiler.target.tile_programs

The process is never as before: signals of invalid instructions are caught, and system calls filtered.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.classic.tir.intrinsics import amx
from compiler.classic.topi import x86_tensor_intrin
from compiler.ir.error import TVMError
from compiler.runtime.modules.native_code import host_features
from compiler.target.cpu import host_check

TARGET = "llvm -mcpu=haswell -mattr=+amx-tile,+amx-int8,+amx-bf16"
FEATURES = frozenset({"amx-tile", "amx-int8", "amx-bf16"})
_RNG = np.random.default_rng(0)


def begin_emulation() -> None:
    """Let this process run AMX instructions, which its processor lacks."""
    source = Path(__file__).with_name("tile_emulator.c")
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/emulator.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        assert ctypes.CDLL(library).begin() == 0


def operands(m: int, n: int, k: int, left: str, right: str) -> list[np.ndarray]:
    def random(shape: tuple[int, int], dtype: str) -> np.ndarray:
        if dtype == "bfloat16":
            return _RNG.standard_normal(shape).astype(ml_dtypes.bfloat16)
        return _RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)

    return [random((m, k), left), random((k, n), right)]


def check(run: Callable[..., object], m: int, n: int, k: int, left: str, right: str) -> None:
    """Compare what a function computes with NumPy's product."""
    a, b = operands(m, n, k, left, right)
    c = tvm.nd.array(np.full((m, n), -7, "float32" if left == "bfloat16" else "int32"))
    run(tvm.nd.array(a), tvm.nd.array(b), c)
    if left == "bfloat16":
        np.testing.assert_allclose(c.numpy(), a.astype("float64") @ b.astype("float64"), rtol=1e-4, atol=1e-4)
    else:
        np.testing.assert_array_equal(c.numpy(), a.astype("int64") @ b.astype("int64"))


def packed_product(m: int, n: int, k: int, left: str, right: str) -> list[te.Tensor]:
    """Define a product whose second operand is packed: the operands, the packed one, and the result."""
    group, out = (2, "float32") if left == "bfloat16" else (4, "int32")
    a, b = te.placeholder((m, k), left, "A"), te.placeholder((k, n), right, "B")
    shape = (n // 16, k // group, 16, group)
    packed = te.compute(shape, lambda jo, ko, ji, ki: b[ko * group + ki, jo * 16 + ji], name="P")
    kk = te.reduce_axis((0, k), "k")

    def element(i: Any, j: Any) -> Any:
        return te.sum(a[i, kk].astype(out) * packed[j // 16, kk // group, j % 16, kk % group].astype(out), axis=kk)

    return [a, b, packed, te.compute((m, n), element, name="C")]


def by_te(
    rows: int, columns: int, depth: int, left: str, right: str, times: tuple[int, int, int]
) -> Callable[..., Any]:
    """Build a tensorized product of so many times the extents of an intrinsic, in parallel."""
    a, b, _, c = packed_product(rows * times[0], columns * times[1], depth * times[2], left, right)
    s = te.create_schedule(c.op)
    io, jo, ii, ji = s[c].tile(*c.op.axis, rows, columns)
    ko, ki = s[c].split(c.op.reduce_axis[0], depth)
    s[c].reorder(io, jo, ko, ii, ji, ki)
    s[c].tensorize(ii, x86_tensor_intrin.amx_product(rows, columns, depth, left, right))
    s[c].parallel(io)
    return tvm.build(s, [a, b, c], TARGET)


def by_tir(rows: int, columns: int, depth: int, left: str, right: str) -> Callable[..., Any]:
    """Build a plain product whose second operand is packed by a schedule, twice the extents of an intrinsic."""
    group, out = (2, "float32") if left == "bfloat16" else (4, "int32")
    a, b = te.placeholder((rows * 2, depth * 2), left, "A"), te.placeholder((depth * 2, columns * 2), right, "B")
    kk = te.reduce_axis((0, depth * 2), "k")
    c = te.compute(
        (rows * 2, columns * 2), lambda i, j: te.sum(a[i, kk].astype(out) * b[kk, j].astype(out), axis=kk), name="C"
    )
    sch = tir.Schedule(te.create_prim_func([a, b, c]))
    sch.cache_read("C", 1, "global")
    sch.transform_layout("C", ("read", 1), lambda k, j: (j // 16, k // group, j % 16, k % group))
    i, j, k = sch.get_loops("C")
    (io, ii), (jo, ji), (ko, ki) = (
        sch.split(i, [None, rows]),
        sch.split(j, [None, columns]),
        sch.split(k, [None, depth]),
    )
    sch.reorder(io, jo, ko, ii, ji, ki)
    sch.parallel(io)
    sch.decompose_reduction("C", ko)
    sch.tensorize(ii, amx.get_amx_intrin(rows, columns, depth, left, right))
    return tvm.build(sch.mod, target=TARGET)


def by_names_of_tvm(m: int, n: int, k: int) -> Callable[..., Any]:
    """Build a product whose sums stay in tile registers between two intrinsics."""
    a, b, _, c = packed_product(m, n, k, "uint8", "int8")
    s = te.create_schedule(c.op)
    sums = s.cache_write(c, "amx.tmm")
    io, jo, ii, _ = s[c].tile(*c.op.axis, 32, 32)
    s[c].tensorize(ii, x86_tensor_intrin.acc_32x32_int32_sapphirerapids(n))
    s[sums].compute_at(s[c], jo)
    ko, ki = s[sums].split(sums.op.reduce_axis[0], 128)
    s[sums].reorder(ko, *sums.op.axis, ki)
    s[sums].tensorize(sums.op.axis[0], x86_tensor_intrin.dot_32x128x32_u8s8s32_sapphirerapids(k))
    s[c].parallel(io)
    return tvm.build(s, [a, b, c], TARGET)


def beside_a_pragma(m: int, n: int, k: int) -> Callable[..., Any]:
    """Build two products of which one is tensorized and the other in tiles of other sizes by a pragma, in turns."""
    a, b, packed, c = packed_product(m, n, k, "int8", "int8")
    kk = te.reduce_axis((0, k // 4), "k")

    def element(i: Any, j: Any) -> Any:
        terms = [a[i, kk * 4 + g].astype("int32") * packed[j // 16, kk, j % 16, g].astype("int32") for g in range(4)]
        return te.sum(terms[0] + terms[1] + terms[2] + terms[3], axis=kk)

    d = te.compute((m, n), element, name="D")
    both = te.compute((m, n), lambda i, j: c[i, j] - d[i, j] * 2, name="E")
    s = te.create_schedule(both.op)
    io, _ = s[both].split(both.op.axis[0], 16)
    s[both].parallel(io)
    for stage in (c, d):
        s[stage].compute_at(s[both], io)
    jo, ji = s[c].split(c.op.axis[1], 16)
    ko, ki = s[c].split(c.op.reduce_axis[0], 64)
    s[c].reorder(jo, ko, c.op.axis[0], ji, ki)
    s[c].tensorize(c.op.axis[0], x86_tensor_intrin.amx_product(16, 16, 64, "int8", "int8"))
    i, j = d.op.axis
    jo, ji = s[d].split(j, 16)
    ko, ki = s[d].split(kk, 8)
    s[d].reorder(jo, ko, i, ji, ki)
    s[d].pragma(ko, "tile_product")
    built = tvm.build(s, [a, b, both], TARGET)
    sizes = set(re.findall(r"^@tiles\S* = internal constant .*(c\".*)", built.get_source(), re.MULTILINE))
    assert len(sizes) == 2

    def run(x: Any, y: Any, z: Any) -> None:
        built(x, y, z)
        z.copyfrom(-z.numpy())  # c - 2 * c

    return run


def main() -> None:
    run = by_te(32, 32, 64, "uint8", "int8", (2, 1, 1))
    if not host_features() >= FEATURES:
        host_check.host_features = lambda: host_features() | FEATURES  # type: ignore[attr-defined]
        with pytest.raises(TVMError, match="the system lets this process use none"):
            check(run, 64, 32, 64, "uint8", "int8")
        begin_emulation()
        run = by_te(32, 32, 64, "uint8", "int8", (2, 1, 1))
    check(run, 64, 32, 64, "uint8", "int8")
    with pytest.raises(TVMError, match="dimension 1"):
        check(run, 64, 32, 60, "uint8", "int8")
    check(run, 64, 32, 64, "uint8", "int8")
    for number, (left, right) in enumerate(amx.AMX_INTRINSICS):
        group = 2 if left == "bfloat16" else 4
        rows, columns = [(5, 96), (16, 16), (21, 32), (48, 16), (32, 32)][number]
        depth = group * int(_RNG.integers(1, 40))
        times = (2, 1, 1 + number % 2)
        m, n, k = (extent * count for extent, count in zip((rows, columns, depth), times, strict=True))
        check(by_te(rows, columns, depth, left, right, times), m, n, k, left, right)
        if number % 2:
            check(by_tir(rows, columns, depth, left, right), rows * 2, columns * 2, depth * 2, left, right)
    check(by_names_of_tvm(64, 96, 384), 64, 96, 384, "uint8", "int8")
    check(beside_a_pragma(48, 32, 128), 48, 32, 128, "int8", "int8")


if __name__ == "__main__":
    main()
