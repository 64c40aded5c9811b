"""``tvm.topi.cuda.tensor_intrin``: tensor-core intrinsics for ``Stage.tensorize``.

A warp loads tiles of two matrices from shared memory into fragments, multiplies them, and stores the fragment of the
result.  Code is generated for ``cuda`` alone (``nvcuda::wmma``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.extension import public_module
from compiler.te import compute, decl_tensor_intrin, placeholder
from compiler.te.definition.tensor import Tensor
from compiler.te.definition.tensor_intrin import TensorIntrin
from compiler.tir import call_intrin
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.decl_buffer import decl_buffer

__all__ = [
    "intrin_wmma_gemm", "intrin_wmma_load_matrix_A", "intrin_wmma_load_matrix_W", "intrin_wmma_store_matrix",
]  # fmt: skip

_Sizes: TypeAlias = Sequence[int | PrimExpr]


def intrin_wmma_load_matrix_A(
    strides_dst: _Sizes, strides_from: _Sizes, shape: tuple[int, int, int], layout: str, A_shape: _Sizes,
    C_shape: _Sizes, in_dtype: str,
) -> TensorIntrin:  # fmt: skip
    """Return the copy of a tile of the first operand from shared memory to a fragment.

    Strides are those of the fragments' tensor and of the tile, in elements; ``shape`` are the extents ``m``, ``n`` and
    ``k`` of a product; the tile, of the shape ``A_shape``, lies in shared memory in ``row_major`` or ``col_major``;
    ``C_shape`` is that of the fragment.
    """
    m, _, k = shape
    return _load("wmma.matrix_a", (m, k), strides_dst, strides_from, shape, layout, A_shape, C_shape, in_dtype)


def intrin_wmma_load_matrix_W(
    strides_dst: _Sizes, strides_from: _Sizes, shape: tuple[int, int, int], layout: str, A_shape: _Sizes,
    C_shape: _Sizes, in_dtype: str,
) -> TensorIntrin:  # fmt: skip
    """Return the copy of a tile of the second operand; the arguments are those of :func:`intrin_wmma_load_matrix_A`."""
    _, n, k = shape
    tile = (k, n) if layout == "row_major" else (n, k)
    return _load("wmma.matrix_b", tile, strides_dst, strides_from, shape, layout, A_shape, C_shape, in_dtype)


def intrin_wmma_store_matrix(
    strides_dst: _Sizes,
    strides_from: _Sizes,
    shape: tuple[int, int, int],
    out_dtype: str,
    A_shape: _Sizes,
    C_shape: _Sizes,
) -> TensorIntrin:
    """Return the copy of the fragment of a result to shared memory.

    The shapes are those of the fragment and of the tile that it is stored to; the other arguments are those of
    :func:`intrin_wmma_load_matrix_A`.
    """
    m, n, _ = shape
    fragment, result, binds = _copied(
        A_shape, C_shape, out_dtype, ("wmma.accumulator", strides_from), ("shared", strides_dst)
    )

    def store(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> PrimExpr:
        return call_intrin(
            "handle", "tir.tvm_store_matrix_sync", ins[0].data, *shape, _number(ins[0], strides_from, (m, n)),
            outs[0].access_ptr("w"), strides_dst[0], "row_major",
        )  # fmt: skip

    return decl_tensor_intrin(result.op, store, "wmma_store_matrix", {fragment: binds[0], result: binds[1]})


def intrin_wmma_gemm(
    AL_gemm: Tensor, WL_gemm: Tensor, CL_compute: Tensor, strides_A: _Sizes, strides_W: _Sizes, strides_Conv: _Sizes,
    shape: tuple[int, int, int],
) -> TensorIntrin:  # fmt: skip
    """Return the product of two fragments, added to a third one.

    ``CL_compute`` is the product of the two, as ``te.compute`` describes it; strides are in elements, and ``shape`` are
    the extents ``m``, ``n`` and ``k`` of a product.
    """
    m, n, k = shape
    operands = (
        (AL_gemm, "wmma.matrix_a", strides_A, (m, k)),
        (WL_gemm, "wmma.matrix_b", strides_W, (k, n)),
        (CL_compute, "wmma.accumulator", strides_Conv, (m, n)),
    )
    binds = {tensor: _fragments(tensor, scope, strides) for tensor, scope, strides, _ in operands}

    def multiply(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
        buffers = (*(binds[tensor] for tensor in (AL_gemm, WL_gemm)), outs[0])
        a, b, c = (
            (buffer.data, _number(buffer, strides, tile))
            for buffer, (_, _, strides, tile) in zip(buffers, operands, strict=True)
        )
        update = call_intrin("handle", "tir.tvm_mma_sync", *c, *a, *b, *c)
        reset = call_intrin("handle", "tir.tvm_fill_fragment", c[0], *shape, c[1], 0.0)
        return update, reset, update

    return decl_tensor_intrin(CL_compute.op, multiply, "wmma_gemm", binds)


def _load(
    scope: str, tile: tuple[int, int], strides_dst: _Sizes, strides_from: _Sizes, shape: tuple[int, int, int],
    layout: str, source_shape: _Sizes, fragment_shape: _Sizes, dtype: str,
) -> TensorIntrin:  # fmt: skip
    source, fragment, binds = _copied(
        source_shape, fragment_shape, dtype, ("shared", strides_from), (scope, strides_dst)
    )

    def load(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> PrimExpr:
        return call_intrin(
            "handle", "tir.tvm_load_matrix_sync", outs[0].data, *shape, _number(outs[0], strides_dst, tile),
            ins[0].access_ptr("r"), strides_from[0], layout,
        )  # fmt: skip

    return decl_tensor_intrin(fragment.op, load, "wmma_load_matrix", {source: binds[0], fragment: binds[1]})


def _copied(
    source_shape: _Sizes, target_shape: _Sizes, dtype: str, source: tuple[str, _Sizes], target: tuple[str, _Sizes]
) -> tuple[Tensor, Tensor, tuple[Buffer, Buffer]]:
    """Return a tensor, its copy, and the buffers of both, whose scopes and strides are given."""
    read = placeholder(source_shape, dtype, "A")
    written = compute(target_shape, lambda *i: read(*i), name="C")
    return read, written, (_fragments(read, *source), _fragments(written, *target))


def _fragments(tensor: Tensor, scope: str, strides: _Sizes) -> Buffer:
    return decl_buffer(
        tensor.shape, tensor.dtype, tensor.op.name, scope=scope, strides=strides, data_alignment=32, offset_factor=8
    )


def _number(buffer: Buffer, strides: _Sizes, tile: tuple[int, int]) -> PrimExpr:
    """Return which fragment of its tensor a buffer is; fragments lie in rows of ``strides[0]`` elements."""
    rows, columns = tile
    row, column = buffer.elem_offset // strides[0], buffer.elem_offset % strides[0]
    return row // rows * (strides[0] // columns) + column // columns


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.topi.cuda.tensor_intrin", __all__)
