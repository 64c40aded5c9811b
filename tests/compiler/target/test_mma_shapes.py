"""Products by ``ptx_mma`` whose fragments are written here as the figures of the PTX ISA say, against NumPy's."""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

import compiler as tvm
from compiler.driver.emulate import emulate
from compiler.driver.sanitize import sanitize
from compiler.ir.module import IRModule
from compiler.target.cuda_tools import compile_cuda, missing_tools
from compiler.tir.script import from_source


class Shape(NamedTuple):
    """An instruction; places are rows and columns by the group ``g`` and the thread ``t`` in it, register by register.

    Where four bits are multiplied, a place is that of a word of eight numbers.
    """

    form: str
    word: str
    dtype: str
    depth: int
    a: tuple[str, ...]
    b: tuple[str, ...]


HALVES_A = ("g, t * 2", "g, t * 2 + 1", "g + 8, t * 2", "g + 8, t * 2 + 1")
SHAPES = {
    "HMMA.1688.F32": Shape("m16n8k8", "fp16", "float16", 8, HALVES_A, ("g, t * 2", "g, t * 2 + 1")),
    "HMMA.1688.F32.BF16": Shape("m16n8k8", "bf16", "bfloat16", 8, HALVES_A, ("g, t * 2", "g, t * 2 + 1")),
    "HMMA.1684.F32.TF32": Shape("m16n8k4", "tf32", "float32", 4, ("g, t", "g + 8, t"), ("g, t",)),
    "HMMA.1688.F32.TF32": Shape(
        "m16n8k8", "tf32", "float32", 8, ("g, t", "g + 8, t", "g, t + 4", "g + 8, t + 4"), ("g, t", "g, t + 4")
    ),
    "IMMA.8832.S4.S4": Shape("m8n8k32", "int4", "int32", 32, ("g, t",), ("g, t",)),
    "IMMA.16832.U4.U4": Shape("m16n8k32", "uint4", "int32", 32, ("g, t", "g + 8, t"), ("g, t",)),
    "IMMA.16864.S4.S4": Shape(
        "m16n8k64", "int4", "int32", 64, ("g, t", "g + 8, t", "g, t + 4", "g + 8, t + 4"), ("g, t", "g, t + 4")
    ),
}  # fmt: skip


def _is_nibbles(shape: Shape) -> bool:
    return shape.word.endswith("int4")


def _program(shape: Shape) -> IRModule:
    rows, columns = 16 if "m16" in shape.form else 8, shape.depth // (8 if _is_nibbles(shape) else 1)
    total, word = ("int32", "int32") if _is_nibbles(shape) else ("float32", "fp32")
    lines = [
        f"    {name}[{at + 4}] = {name.upper()}[{place}]"
        for name, places in (("a", shape.a), ("b", shape.b))
        for at, place in enumerate(places)
    ]
    lines += [f"    c[{at}] = T.{total}(0)" for at in range(rows // 4)]
    call = f'"{shape.form}", "row", "col", "{shape.word}", "{shape.word}", "{word}", a.data, 4, b.data, 4, c.data, 0'
    results = [f"    C[g + {at // 2 * 8}, t * 2 + {at % 2}] = c[{at}]" for at in range(rows // 4)]
    return from_source(f"""
@T.prim_func
def main(A: T.Buffer(({rows}, {columns}), "{shape.dtype}"), B: T.Buffer((8, {columns}), "{shape.dtype}"),
         C: T.Buffer(({rows}, 8), "{total}")):
    tx = T.launch_thread("threadIdx.x", 32)
    g: T.int32 = tx // 4
    t: T.int32 = tx % 4
    a = T.alloc_buffer(({len(shape.a) + 4},), "{shape.dtype}", scope="local")
    b = T.alloc_buffer(({len(shape.b) + 4},), "{shape.dtype}", scope="local")
    c = T.alloc_buffer(({rows // 4},), "{total}", scope="local")
{chr(10).join(lines)}
    T.evaluate(T.ptx_mma({call}, False, dtype="{total}"))
{chr(10).join(results)}
""")  # type: ignore[no-any-return]


def _numbers(rng: np.random.Generator, rows: int, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Return an operand as memory has it, and its numbers."""
    if not _is_nibbles(shape):
        kind = ml_dtypes.bfloat16 if shape.dtype == "bfloat16" else shape.dtype
        values = rng.integers(-9, 10, (rows, shape.depth)).astype(kind)
        return values, values.astype("float32")
    low, high = (-8, 8) if shape.word == "int4" else (0, 16)
    values = rng.integers(low, high, (rows, shape.depth))
    words = (values.reshape(rows, -1, 8).astype("uint32") & 15) << (4 * np.arange(8, dtype="uint32"))
    return np.bitwise_or.reduce(words, axis=2).view("int32"), values


@pytest.mark.parametrize("instruction", SHAPES)
def test_products_equal_those_of_numpy(instruction: str) -> None:
    shape, rng = SHAPES[instruction], np.random.default_rng(5)
    rows = 16 if "m16" in shape.form else 8
    (a, left), (b, right) = (_numbers(rng, each, shape) for each in (rows, 8))
    expected = left @ right.T
    module, result = _program(shape), np.zeros((rows, 8), "int32" if _is_nibbles(shape) else "float32")
    checked = result.copy()
    emulate(module, target="cuda")(a, b, result)
    np.testing.assert_array_equal(result, expected)
    faults = sanitize(module, target="cuda", arrays=[a, b, checked])
    assert faults.complete
    assert not faults.reports
    np.testing.assert_array_equal(checked, expected)


def test_programs_are_those_of_the_instructions() -> None:
    for shape in SHAPES.values():
        words = {"int4": "s32.s4.s4.s32", "uint4": "s32.u4.u4.s32", "fp16": "f32.f16.f16.f32"}.get(shape.word)
        source = tvm.build(_program(shape), target="cuda").imported_modules[0].get_source()
        words = words or f"f32.{shape.word}.{shape.word}.f32"
        assert f"mma.sync.aligned.{shape.form}.row.col.{words} " in source
        head = next(line for line in source.splitlines() if "main_kernel(" in line)
        assert head.count("__restrict__") == 3, "registers are each thread's own"


@pytest.mark.skipif(bool(missing_tools()), reason=missing_tools() or "none")
@pytest.mark.parametrize("instruction", ["HMMA.1688.F32", "HMMA.1688.F32.TF32", "IMMA.8832.S4.S4", "IMMA.16864.S4.S4"])
def test_nvidias_compilers_make_the_instruction(instruction: str) -> None:
    source = tvm.build(_program(SHAPES[instruction]), target="cuda").imported_modules[0].get_source()
    assert any(instruction in line.text for line in compile_cuda(source, "sm_80").sass)
