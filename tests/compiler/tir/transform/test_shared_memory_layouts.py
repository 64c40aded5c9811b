"""Passes for the shared memory and the registers of matrix instructions: what they move, they find again."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, PrimExpr
from compiler.ir.module import IRModule
from compiler.tir.interpreter import interpret
from compiler.tir.script import from_source
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform import InjectPermutedLayout, ManifestSharedMemoryLocalStage, TransformMmaBufferLayout
from compiler.tir.transform.pass_base import PrimFuncPass
from tests.compiler.tir.transform.programs import nodes

ROWS = 16

STAGED = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for n in range(2):
        with T.block("outer"):
            S = T.alloc_buffer((8, 8), "float32", scope="{scope}")
            for a in {loop}(8):
                for b in range(1, 5):
                    with T.block("S"):
                        va = T.axis.spatial(8, a)
                        T.where(a + b < 9)
                        T.block_attr({{"tir.manifest_shared_memory_local_stage": 1, "other": 2}})
                        S[va, b + n] = A[va, b] * A[b, va] + T.float32(1)
            for a, b in T.grid(8, 4):
                with T.block("C"):
                    T.where(a + b < 8)
                    C[a, b + 1 + n] = S[a, b + 1 + n]
"""

PERMUTED = """
@T.prim_func
def main(X: T.Buffer((16, {width}), "float16"), Y: T.Buffer((16, {width}), "float16")):
    with T.block("o"):
        S = T.alloc_buffer((16, {width}), "float16", scope="shared.dyn")
        W = T.alloc_buffer((16, 16), "float16", scope="warp")
        with T.block("b"):
            T.reads(X[0:16, 0:{width}])
            T.writes(Y[0:16, 0:{width}])
            T.block_attr({{"permuted_layout": {annotation}}})
            for i, j in T.grid(16, {width}):
                S[i, j] = X[i, j]
            {matrix}
            for i, j in T.grid(16, {width}):
                Y[i, j] = S[i, j]
"""
MATRIX = """for i, j in T.grid(16, {groups}):
                T.ptx_ldmatrix("float16", T.bool(False), 4, ".b16", W.data, 0, T.tvm_access_ptr(
                    T.type_annotation("float16"), S.data, j * 8, 512, 1), i * {width})"""

REGISTERS = """
@T.prim_func
def main(Y: T.Buffer((32, 16), "float32")):
    with T.block("o"):
        M = T.alloc_buffer({shape}, "float32", scope="m16n8k8.{matrix}")
        for i, j in T.grid(32, 16):
            M[i, j] = Y[i, j]
        T.mma_fill(4, M.data, 0, dtype="float32")
"""


def _applied(transform: PrimFuncPass, text: str) -> PrimFunc:
    func: PrimFunc = transform(IRModule({"main": from_source(text)}))["main"]
    return func


def _results(func: PrimFunc, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    data = np.random.default_rng(3).integers(-9, 9, shape).astype(dtype)
    result = np.zeros(shape, dtype)
    interpret(func, [data, result])
    return result


@pytest.mark.parametrize("loop", ["T.serial", "T.vectorized"])
def test_a_stage_in_registers_computes_the_same(loop: str) -> None:
    text = STAGED.format(scope="shared", loop=loop)
    func = _applied(ManifestSharedMemoryLocalStage(), text)
    stores = [store.buffer for store in nodes(func, BufferStore)]
    assert [(buffer.name, buffer.scope()) for buffer in stores[:2]] == [("S_local", "local"), ("S", "shared")]
    assert [int(dim) for dim in stores[0].shape] == [8, 4]
    assert '"other": 2' in str(func)
    assert "local_stage" not in str(func)
    serial = text.replace("T.vectorized", "T.serial")
    after = _applied(ManifestSharedMemoryLocalStage(), serial)
    np.testing.assert_array_equal(_results(after, (8, 8), "float32"), _results(from_source(serial), (8, 8), "float32"))


@pytest.mark.parametrize(
    ("scope", "loop", "message"),
    [("local", "T.serial", "to store one element of shared memory"), ("shared", "T.unroll", "serial or vectorized")],
)
def test_copies_that_have_no_stage(scope: str, loop: str, message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        _applied(ManifestSharedMemoryLocalStage(), STAGED.format(scope=scope, loop=loop))


def _permuted(width: int, annotation: int = 1) -> PrimFunc:
    matrix = MATRIX.format(width=width, groups=width // 8)
    return _applied(InjectPermutedLayout(), PERMUTED.format(width=width, annotation=annotation, matrix=matrix))


def _evaluated(e: PrimExpr, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return what an index is for some rows and columns, which are variables called ``i`` and ``j`` in it."""
    operations = {"T": SimpleNamespace(bitwise_xor=np.bitwise_xor)}
    return np.asarray(eval(str(e), operations, {"i": rows, "j": columns}))


@pytest.mark.parametrize("width", [32, 64, 96])
def test_permuted_elements_are_found_again(width: int) -> None:
    func = _permuted(width)
    shape = (ROWS, width)
    text = PERMUTED.format(width=width, annotation=1, matrix="pass")
    after = _results(_applied(InjectPermutedLayout(), text), shape, "float16")
    np.testing.assert_array_equal(after, _results(from_source(text), shape, "float16"))
    rows, groups = np.indices((ROWS, width // 8))
    columns = _evaluated(nodes(func, BufferStore)[0].indices[1], rows, groups * 8)
    (call,) = (n for n in nodes(func, Call) if n.op.name == "tir.ptx_ldmatrix")
    address = call.args[5]
    assert isinstance(address, Call)
    loaded = _evaluated(address.args[2], rows, groups)
    np.testing.assert_array_equal(loaded, rows * width + columns)
    assert set(loaded[:8, 0] // 8 % 8) == set(range(8)), "rows in different banks"


def test_blocks_without_the_annotation_stay() -> None:
    store = nodes(_permuted(64, annotation=0), BufferStore)[0]
    assert str(store.indices[1]) == "j"
    with pytest.raises(LoweringError, match="a multiple of 32 elements for S, got shape \\(16, 48\\)"):
        _permuted(48)


def test_accumulators_are_registers_of_a_thread() -> None:
    func = _applied(TransformMmaBufferLayout(), REGISTERS.format(matrix="matrixC", shape=(32, 16)))
    store = nodes(func, BufferStore)[0]
    assert store.buffer.scope() == "local"
    assert [int(dim) for dim in store.buffer.shape] == [2, 2, 2, 2]
    assert [str(index) for index in store.indices] == ["i // 16", "j // 8", "i % 16 // 8", "j % 2"]
    (fill,) = (n for n in nodes(func, Call) if n.op.name == "tir.mma_fill")
    assert fill.args[1] is store.buffer.data
    assert not nodes(func, BufferLoad)[0].buffer.scope().startswith("m16")


@pytest.mark.parametrize(
    ("matrix", "shape", "message"),
    [
        ("matrixC", (32, 12), "a multiple of 16 x 8, got 32 x 12"),
        ("matrixA", (16, 16), "a multiple of 32 x 8, got 16 x 16"),
        ("matrixA", (32, 16), "only be accessed by instructions"),
        ("matrixB", (32, 32), "only be accessed by instructions"),
    ],
)
def test_operands_of_other_shapes_and_accesses(matrix: str, shape: tuple[int, int], message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        _applied(TransformMmaBufferLayout(), REGISTERS.format(matrix=matrix, shape=shape))
