"""Sparse tensors in coordinate format: ``sparse_reshape`` and ``argwhere``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te, tir
from compiler.ir.expr.primexpr import ExprLike, PrimExpr, Var, as_exprs
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.compute import by_loops, compute
from compiler.topi.operands import constant, dims, product
from compiler.topi.tag import Tag

__all__ = ["argwhere", "sparse_reshape"]


def sparse_reshape(
    sparse_indices: Tensor,
    prev_shape: Tensor,
    new_shape: Tensor,
    new_sparse_indices_shape: Sequence[ExprLike] | None = None,
    new_shape_shape: Sequence[ExprLike] | None = None,
) -> list[Tensor]:
    """Return the coordinates that the elements of a sparse tensor have in another shape, and that shape without -1.

    Coordinates are ``(count, rank)``; one extent of the other shape may be -1, and follows from the others. The last
    two arguments, shapes of the results, are not read: they follow.
    """
    old_rank, new_rank = (constant(dims(t)[0], "sparse_reshape") for t in (prev_shape, new_shape))

    def extent(i: PrimExpr) -> PrimExpr:
        elements, others = tir.const(1, new_shape.dtype), tir.const(1, new_shape.dtype)
        for d in range(old_rank):
            elements = elements * prev_shape(d).astype(new_shape.dtype)
        for d in range(new_rank):
            others = tir.Select(new_shape(d) < 0, others, others * new_shape(d))
        return tir.Select(new_shape(i) < 0, elements // te.max(others, 1), new_shape(i))

    shape = compute((new_rank,), extent, name="new_shape", tag=Tag.STAGED)

    def coordinate(row: Var, column: Var) -> PrimExpr:
        flat, inner = tir.const(0, "int64"), tir.const(1, "int64")
        for d in range(old_rank):
            flat = flat * prev_shape(d).astype("int64") + sparse_indices(row, d).astype("int64")
        for d in range(new_rank):
            inner = tir.Select(column < d, inner * shape(d).astype("int64"), inner)
        there = flat // te.max(inner, 1)
        inside = there % te.max(shape(column).astype("int64"), 1)
        moved = tir.Select(column.equal(0), there, inside).astype(sparse_indices.dtype)
        if old_rank != new_rank:
            return moved
        same = te.all(*(prev_shape(d).astype(new_shape.dtype).equal(shape(d)) for d in range(old_rank)))
        return tir.Select(same, sparse_indices(row, column), moved)

    return [compute((dims(sparse_indices)[0], new_rank), coordinate, name="sparse_reshape", tag=Tag.INJECTIVE), shape]


def argwhere(output_shape: Sequence[ExprLike], condition: Tensor) -> Tensor:
    """Return the int32 coordinates of the nonzero elements, in their order, with zeros in rows that none fills.

    ``output_shape`` is ``(count, rank)``: how many rows there is room for.
    """
    shape = dims(condition)
    rank = len(shape)

    def loops(ib: IRBuilder, source: BufferVar, target: BufferVar) -> None:
        count = ib.allocate("int32", (1,), name="count", scope="local")
        count[0] = tir.const(0, "int32")
        with ib.for_range(0, target.buffer.shape[0] * rank, name="i") as i:
            target[i] = tir.const(0, "int32")
        place_loop = ib.for_range(0, product(shape), name="place")
        with place_loop as place, ib.if_scope(te.all(source[place] != 0, count[0] < target.buffer.shape[0])):
            for d in range(rank):
                target[count[0] * rank + d] = (place // product(shape[d + 1 :]) % shape[d]).astype("int32")
            count[0] = count[0] + 1

    return by_loops([condition], [(as_exprs(tuple(output_shape)), "int32")], loops, "argwhere", "argwhere")[0]
