"""Programs with blocks to be scheduled, and what they compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import compiler as tvm
from compiler import tir
from compiler.tir.interpreter import interpret
from compiler.tir.schedule import Schedule, ScheduleError
from compiler.tir.script import from_source
from compiler.tir.script import tir as T
from compiler.tir.statements.function import PrimFunc

# mypy: disable-error-code="valid-type,no-untyped-def,attr-defined"

Array = NDArray[Any]
Step = Callable[[Any], object]


@dataclass(frozen=True)
class Program:
    """A function with blocks, whose last parameter is its result.

    Attributes
    ----------
    func : PrimFunc
    shapes : tuple of tuple of int
        Of its inputs.
    reference : callable
        Returns the result.
    """

    func: PrimFunc
    shapes: tuple[tuple[int, ...], ...]
    reference: Callable[..., Array]

    def schedule(self) -> Any:
        """Return a schedule that checks its own bookkeeping."""
        return tir.Schedule(self.func, debug_mask="all", seed=0)

    def check(self, sch: Any, compiled: bool = True) -> None:
        """Check what a scheduled program computes, interpreted and as machine code."""
        rng = np.random.default_rng(0)
        inputs = [rng.integers(-4, 5, shape).astype("float32") for shape in self.shapes]
        expected = self.reference(*inputs)
        result = np.full(expected.shape, np.nan, "float32")
        interpret(sch.mod["main"], [*inputs, result])
        np.testing.assert_array_equal(result, expected)
        if compiled:
            arrays = [tvm.nd.array(a) for a in (*inputs, np.full(expected.shape, np.nan, "float32"))]
            tvm.build(sch.mod, target="llvm")(*arrays)
            np.testing.assert_array_equal(arrays[-1].numpy(), expected)


@T.prim_func
def _matmul(A: T.Buffer((10, 24)), B: T.Buffer((24, 12)), C: T.Buffer((10, 12))):
    for i, j, k in T.grid(10, 12, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def _chain(A: T.Buffer((12, 16)), D: T.Buffer((12, 16))):
    B = T.alloc_buffer((12, 16))
    C = T.alloc_buffer((12, 16))
    for i, j in T.grid(12, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(12, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
    for i, j in T.grid(12, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * C[vi, vj]


@T.prim_func
def _blur(A: T.Buffer((14, 10)), C: T.Buffer((12, 10))):
    B = T.alloc_buffer((14, 10))
    for i, j in T.grid(14, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i, j, k in T.grid(12, 10, 3):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + B[vi + vk, vj]


@T.prim_func
def _matmul_relu(A: T.Buffer((8, 16)), B: T.Buffer((16, 8)), D: T.Buffer((8, 8))):
    C = T.alloc_buffer((8, 8))
    for i, j, k in T.grid(8, 8, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(8, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0.0)


@T.prim_func
def _row_maximum(A: T.Buffer((6, 30)), C: T.Buffer((6,))):
    for i, k in T.grid(6, 30):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.min_value("float32")
            C[vi] = T.max(C[vi], A[vi, vk])


@T.prim_func
def _padded(A: T.Buffer((9, 12)), B: T.Buffer((12, 16))):
    for i, j in T.grid(12, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vi >= 2 and vi < 11 and vj >= 1 and vj < 13, A[vi - 2, vj - 1], T.float32(0))


MATMUL = Program(_matmul, ((10, 24), (24, 12)), lambda a, b: a @ b)
CHAIN = Program(_chain, ((12, 16),), lambda a: (a * 2 + 1) ** 2)
BLUR = Program(_blur, ((14, 10),), lambda a: a[:-2] + a[1:-1] + a[2:] + 3)
MATMUL_RELU = Program(_matmul_relu, ((8, 16), (16, 8)), lambda a, b: np.maximum(a @ b, 0))
ROW_MAXIMUM = Program(_row_maximum, ((6, 30),), lambda a: a.max(1))
PADDED = Program(_padded, ((9, 12),), lambda a: np.pad(a, ((2, 1), (1, 3))))
PROGRAMS = {
    "matmul": MATMUL,
    "chain": CHAIN,
    "blur": BLUR,
    "matmul_relu": MATMUL_RELU,
    "row_maximum": ROW_MAXIMUM,
    "padded": PADDED,
}


def schedule(text: str) -> Any:
    """Return a schedule of a function that is written as blocks: a line for each, within its loops."""
    parameters, _, body = text.strip().partition("\n")
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return Schedule(from_source(f"@T.prim_func\ndef main({parameters}):\n{lines}\n"), debug_mask="all")


def refused(s: Any, step: Step, message: str) -> None:
    """Check that a step is refused for some reason and changes nothing."""
    before = s.mod
    with pytest.raises(ScheduleError) as caught:
        step(s)
    assert caught.match(message)
    assert s.mod is before


def kept(text: str, *steps: Step) -> Any:
    """Check that steps leave what a program makes of small whole numbers as it is; return its schedule."""
    s = schedule(text)
    expected = computed(s.mod["main"])
    for step in steps:
        step(s)
    for result, value in zip(computed(s.mod["main"]), expected, strict=True):
        np.testing.assert_array_equal(result, value)
    return s


def computed(func: Any) -> list[Any]:
    """Return what a function makes of small whole numbers."""
    rng = np.random.default_rng(0)
    buffers = list(func.buffer_map.values())
    arrays = [rng.integers(0, 5, [int(dim) for dim in buffer.shape]).astype(buffer.dtype) for buffer in buffers]
    arrays[-1][...] = 77
    interpret(func, arrays)
    return arrays


STAGE = """for i in range({extent}):
    with T.block("{name}"):
        vi = T.axis.spatial({extent}, i)
        {store}
"""


def stages(head: str, **stores: str) -> str:
    """Return a program of blocks, each a loop around one store after its extent, as in ``B="8: B[vi] = A[vi]"``."""
    text = head + "\n"
    for name, store in stores.items():
        count, _, store = store.partition(": ")
        text += STAGE.format(extent=count, name=name, store=store)
    return text


TWO = 'A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")'
