"""``tvm.topi.x86.tensor_intrin``: products in x86's tile registers (AMX), for ``Stage.tensorize``.

Each intrinsic makes the tiles that it needs, and releases them.  TVM's pair keeps the sums in tiles from the initial
values, which make them, to the copy of the sums to memory, which releases them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.classic.tir.tile_product_intrin import TileProductIntrin
from compiler.ir.extension import public_module
from compiler.te import compute, decl_tensor_intrin, placeholder, reduce_axis
from compiler.te import sum as sum_over
from compiler.te.definition.tensor import Tensor
from compiler.te.definition.tensor_intrin import TensorIntrin
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import Stmt, seq

__all__ = ["acc_32x32_int32_sapphirerapids", "amx_product", "dot_32x128x32_u8s8s32_sapphirerapids"]


def amx_product(
    rows: int, columns: int, depth: int, left_dtype: str = "uint8", right_dtype: str = "int8"
) -> TensorIntrin:
    """Return the product of ``rows`` by ``depth`` and ``depth`` by ``columns`` numbers, in tile registers.

    The numbers are ``int8`` or ``uint8``, of either sign on both sides, and the sums ``int32``; or they are
    ``bfloat16``, and the sums ``float32``. The second operand is packed: ``B[j // 16, k // g, j % 16, k % g]``, where
    ``g`` numbers have four bytes. With loops of the reduction outside, the sums are loaded and stored each time.
    Raises ArgumentError for data types, extents or numbers of registers that AMX does not have: 32 x 32 sums fit.
    """
    product = TileProductIntrin(rows, columns, depth, left_dtype, right_dtype)
    c, binds = _declared(product, product.buffers())

    def implemented(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> tuple[Stmt, Stmt, Stmt]:
        whole, update = (product.multiplied(ins[0], ins[1], outs[0], adds=adds) for adds in (False, True))
        return whole, product.cleared(outs[0]), update

    return decl_tensor_intrin(c.op, implemented, product.name, binds)


_TVM = TileProductIntrin(32, 32, 128, "uint8", "int8")


def dot_32x128x32_u8s8s32_sapphirerapids(LDA: int) -> TensorIntrin:
    """Return the product of 32 by 128 ``uint8`` and 128 by 32 ``int8``, whose sums stay in tile registers.

    ``LDA`` is the number of columns of the first operand; the second one is packed, as in :func:`amx_product`.  The
    sums, of the scope ``amx.tmm``, are 32 by 32, so that the stage is computed where
    :func:`acc_32x32_int32_sapphirerapids` copies them.
    """
    a, b, _ = _TVM.buffers()
    a = decl_buffer(a.shape, a.dtype, "A", strides=[LDA, 1], offset_factor=1)
    result, binds = _declared(_TVM, (a, b, _sums()))

    def implemented(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> tuple[Stmt, Stmt, Stmt]:
        init, update = seq([_TVM.configuration(), _TVM.zeros()]), _TVM.steps(*ins)
        return seq([init, update]), init, update

    return decl_tensor_intrin(result.op, implemented, "dot_32x128x32_u8s8s32", binds)


def acc_32x32_int32_sapphirerapids(LDC: int) -> TensorIntrin:
    """Return the copy of 32 by 32 sums from tile registers to memory with ``LDC`` columns."""
    sums = placeholder((32, 32), "int32", "A")
    stored = compute((32, 32), lambda i, j: sums[i, j], name="C")
    memory = decl_buffer((32, 32), "int32", "C", strides=[LDC, 1], offset_factor=1)
    binds = {sums: _sums(), stored: memory}
    return decl_tensor_intrin(stored.op, lambda _, outs: _TVM.stored(outs[0]), "acc_32x32_int32", binds)


def _sums() -> Buffer:
    """Return the only sums that there are: nothing says in which registers others would be."""
    return decl_buffer((32, 32), "int32", "sums", strides=[32, 1], elem_offset=0, scope="amx.tmm")


def _declared(
    product: TileProductIntrin, buffers: tuple[Buffer, Buffer, Buffer]
) -> tuple[Tensor, dict[Tensor, Buffer]]:
    """Return what a product computes, and the buffers that stand for its operands and the result."""
    a = placeholder((product.rows, product.depth), product.left, "A")
    b = placeholder(product.packed, product.right, "B")
    k = reduce_axis((0, product.depth), "k")
    lanes, group = product.packed[2:]
    c = compute(
        (product.rows, product.columns),
        lambda i, j: sum_over(
            a[i, k].astype(product.result) * b[j // lanes, k // group, j % lanes, k % group].astype(product.result),
            axis=k,
        ),
        name="C",
    )
    return c, dict(zip((a, b, c), buffers, strict=True))


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.topi.x86.tensor_intrin", __all__)
