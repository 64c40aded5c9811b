"""Products of matrices in x86's tile registers (AMX), for blocks."""

from __future__ import annotations

from itertools import product

from compiler.classic.tir.intrinsics.products import register_intrinsic
from compiler.classic.tir.intrinsics.program_text import function_head, parse_function, root_block
from compiler.classic.tir.tile_product_intrin import SIGNS, TileProductIntrin
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Range, Var, const
from compiler.target.codegen.llvm.selection.tile_products import LANES, ROW_BYTES
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import BufferRegion
from compiler.tir.statements.function import PrimFunc

__all__ = ["AMX_INTRINSICS", "get_amx_intrin"]


def get_amx_intrin(rows: int, columns: int, depth: int, left_dtype: str = "uint8", right_dtype: str = "int8") -> str:
    """Register a product in tile registers for ``Schedule.tensorize``, and return its name.

    It adds the product of ``rows`` by ``depth`` and ``depth`` by ``columns`` numbers to a matrix; the second operand
    is packed, its shape is ``(columns // 16, depth // g, 16, g)``, where ``g`` numbers have four bytes.  Raises
    ArgumentError for data types, extents or numbers of registers that AMX does not have.
    """
    shape = TileProductIntrin(rows, columns, depth, left_dtype, right_dtype)
    return register_intrinsic(shape.name, _functions, shape)


def _functions(shape: TileProductIntrin) -> tuple[PrimFunc, PrimFunc]:
    """Return the loops that the product stands for, and the function that computes it by instructions."""
    a, b, c = shape.buffers()
    handles = {Var(f"{buffer.name}_handle", "handle"): buffer for buffer in (a, b, c)}
    of_a, of_b, of_c = (BufferRegion(x, tuple(Range(0, extent) for extent in x.shape)) for x in (a, b, c))
    block = Block((), (of_c, of_a, of_b), (of_c,), "root", shape.multiplied(a, b, c, adds=True))
    return _loops(shape), PrimFunc(tuple(handles), BlockRealize((), const(True), block), buffer_map=handles)


def _loops(shape: TileProductIntrin) -> PrimFunc:
    sizes = {"A": (shape.rows, shape.depth), "B": shape.packed, "C": (shape.rows, shape.columns)}
    types = {"A": shape.left, "B": shape.right, "C": shape.result}
    declared = [
        f'    {name} = T.match_buffer({name.lower()}_handle, {extents}, "{types[name]}", offset_factor=1)\n'
        for name, extents in sizes.items()
    ]
    a, b, c = (f"{name}[{', '.join(f'0:{extent}' for extent in extents)}]" for name, extents in sizes.items())
    column, number = f"vj // {LANES}, vk // {shape.group}", f"vj % {LANES}, vk % {shape.group}"
    return parse_function(
        function_head("A", "B", "C")
        + "".join(declared)
        + root_block(f"{c}, {a}, {b}", c)
        + f"""        for i, j, k in T.grid({shape.rows}, {shape.columns}, {shape.depth}):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "{shape.result}") * T.cast(
                    B[{column}, {number}], "{shape.result}"
                )
"""
    )


AMX_INTRINSICS = {
    (left, right): get_amx_intrin(LANES, LANES, ROW_BYTES // dt.storage_bytes(left), left, right)
    for left, right in [*product(SIGNS, SIGNS), ("bfloat16", "bfloat16")]
}
"""The names of products of two tiles, by the data types of their operands."""
