"""Tensor core products ``m16n8k8``: operands that several products share lie together, 32 x 8 and 8 x 32 elements.

A matrix in the scopes ``m16n8k8.matrixA``, ``matrixB`` and ``matrixC`` is a row of registers of each thread;
:class:`~compiler.tir.transform.blocks.transform_mma_buffer_layout.TransformMmaBufferLayout` gives it that form.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.tir.intrinsics.fragment_layouts import shared_16x16_to_ldmatrix_32x8_layout
from compiler.classic.tir.intrinsics.products import register_intrinsic
from compiler.classic.tir.intrinsics.program_text import (
    function_head,
    match_buffer,
    parse_function,
    root_block,
    thread_loop,
    whole,
)
from compiler.ir.expr.primexpr import ExprLike
from compiler.tir.layout.matrix_fragments import WARP
from compiler.tir.statements.function import PrimFunc

Pair = tuple[PrimFunc, PrimFunc]
_SHORT = {"float16": "f16", "float32": "f32"}


def get_index_A(elem_offset: ExprLike, stride: ExprLike) -> ExprLike:
    """Return which register of a thread the first operand, at an offset in elements of its buffer, begins in."""
    row, column = elem_offset // stride, elem_offset % stride
    return (row // 32 * (stride // 8) + column // 8) * 8 + row % 32 // 16 * 4


def get_index_B(elem_offset: ExprLike, stride: ExprLike) -> ExprLike:
    """Return which register of a thread the second operand of a product begins in."""
    row, column = elem_offset // stride, elem_offset % stride
    return (row // 8 * (stride // 32) + column // 32) * 8 + column % 32 // 8 * 2


def get_index_C(elem_offset: ExprLike, stride: ExprLike) -> ExprLike:
    """Return which pair of elements of a thread the result of a product begins at."""
    row, column = elem_offset // stride // 8, elem_offset % stride
    return row // 2 * 2 * (stride // 8) + row % 2 + column // 8 * 2


_INDICES = {"A": get_index_A, "B": get_index_B, "C": get_index_C}


def _parse(source: str) -> PrimFunc:
    return parse_function(source, {f"index_{name}": index for name, index in _INDICES.items()})


def _declared(name: str, shape: tuple[int, int], dtype: str, scope: str, strides: bool = False) -> str:
    return match_buffer(name, shape, dtype, scope, strides=strides)


def _register_of(matrix: str, buffer: str) -> str:
    return f"{buffer}.data, index_{matrix}({buffer}.elem_offset, {buffer}.strides[0])"


def _copy(source: tuple[str, tuple[int, int], str], target: str, dtype: str) -> tuple[str, str]:
    """Return the text of a copy of a matrix, and its head with any strides."""
    (scope, (rows, columns), block), head = source, function_head("src", "dst")
    root = root_block(whole("src", rows, columns), whole("dst", rows, columns))
    plain, views = (
        head
        + _declared("src", (rows, columns), dtype, scope, strides)
        + _declared("dst", (rows, columns), dtype, target, strides)
        + root
        for strides in (False, True)
    )
    loops = f"""        for i, j in T.grid({rows}, {columns}):
            with T.block("{block}"):
                vi, vj = T.axis.remap("SS", [i, j])
                dst[vi, vj] = src[vi, vj]
"""
    return plain + loops, views


def get_mma_init_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str) -> Pair:
    """Return the filling of the result of an ``m × k`` by ``k × n`` product with zeros, and what each thread does."""
    begin = (
        function_head("dst")
        + _declared("dst", (m_dim, n_dim), dtype, f"m16n8k{k_dim}.matrixC")
        + root_block("", whole("dst", m_dim, n_dim))
    )
    loops = f"""        for i, j in T.grid({m_dim}, {n_dim}):
            with T.block("init"):
                vi, vj = T.axis.remap("SS", [i, j])
                dst[vi, vj] = T.{dtype}(0)
"""
    threads = f"""            for b in range({m_dim // 8}):
                for v in T.vectorized(2):
                    dst[b * 8 + tx // 4, tx % 4 * 2 + v] = T.{dtype}(0)
"""
    return _parse(begin + loops), _parse(begin + thread_loop(WARP) + threads)


def get_mma_load_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str, shared_scope: str, is_b: bool, is_col_major: bool
) -> Pair:
    """Return the copy of ``float16`` operands from ``shared`` or ``shared.dyn`` memory to registers, and its call.

    It copies as many operands of ``m × k`` and ``k × n`` elements as a product has. Columns are next to each other in
    memory if ``is_col_major``.
    """
    rows, columns = (k_dim, n_dim) if is_b else (m_dim, k_dim)
    shape = (columns, rows) if is_col_major else (rows, columns)
    matrix, transposed = "B" if is_b else "A", is_b != is_col_major
    description, head = _copy((shared_scope, shape, "load"), f"m16n8k8.matrix{matrix}", dtype)
    row = "tx % 8 * src.strides[0] + tx // 8 * 8" if transposed else "tx * src.strides[0]"
    call = (
        f'            T.ptx_ldmatrix({transposed}, 4, ".b16", {_register_of(matrix, "dst")}, src.access_ptr("r"),'
        f' {row}, dtype="{dtype}")\n'
    )
    return _parse(description), _parse(head + thread_loop(WARP) + call)


def get_mma_sync_intrin(m_dim: int, n_dim: int, k_dim: int, in_dtype: str, out_dtype: str, b_transposed: bool) -> Pair:
    """Return the product of an ``m × k`` and a ``k × n`` operand added to a result, and the instruction for it.

    ``b_transposed`` says whether the second operand lies transposed in memory.
    """
    shapes = {"A": (m_dim, k_dim), "B": (n_dim, k_dim) if b_transposed else (k_dim, n_dim), "C": (m_dim, n_dim)}
    types = {"A": in_dtype, "B": in_dtype, "C": out_dtype}
    name = f"m{m_dim}n{n_dim}k{k_dim}"
    regions = {matrix: whole(matrix, *shape) for matrix, shape in shapes.items()}
    head = function_head(*shapes)
    block = root_block(", ".join(regions[matrix] for matrix in "CAB"), regions["C"])
    plain, views = (
        "".join(_declared(m, shape, types[m], f"{name}.matrix{m}", strides) for m, shape in shapes.items())
        for strides in (False, True)
    )
    element = "B[vj, vk]" if b_transposed else "B[vk, vj]"
    loops = f"""        for i, j, k in T.grid({m_dim}, {n_dim}, {k_dim}):
            with T.block("{name}_sync"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "{out_dtype}") * T.cast({element}, "{out_dtype}")
"""
    operands = ", ".join(_register_of(matrix, matrix) for matrix in "ABC") + " * 2"
    call = (
        f'        T.ptx_mma("{name}", "row", "col", "{in_dtype}", "{in_dtype}", "{out_dtype}", {operands}, False,'
        f' dtype="{out_dtype}")\n'
    )
    return _parse(head + plain + block + loops), _parse(head + views + block + call)


def get_mma_store_dummy_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str) -> Pair:
    """Return the copy of a result to shared memory, which needs no instruction of its own."""
    name = f"m{m_dim}n{n_dim}k{k_dim}"
    source = (f"{name}.matrixC", (m_dim, n_dim), f"{name}_store")
    func = _parse(_copy(source, "shared.dyn", dtype)[0])
    return func, func


def index_map_m16n8k8_matrixC(indices: Sequence[ExprLike]) -> list[ExprLike]:
    """Return where an element of a result lies: which rows and columns of 8, and which register of two by two."""
    i, j = indices
    return [i // 8 // 2, j // 8, i // 8 % 2, j % 8 % 2]


def index_map_shared_16x16_to_ldmatrix_32x8_layout(indices: Sequence[ExprLike]) -> list[ExprLike]:
    """Return where an element of 16 x 16 lies in the registers of a warp."""
    return list(shared_16x16_to_ldmatrix_32x8_layout(*indices))


def _register_all() -> None:
    for dtype, short in _SHORT.items():
        register_intrinsic(f"mma_init_m16n8k8_{short}", get_mma_init_intrin, 16, 8, 8, dtype)
        register_intrinsic(f"mma_sync_m16n8k8_f16f16{short}", get_mma_sync_intrin, 16, 8, 8, "float16", dtype, False)
        register_intrinsic(f"mma_store_m16n8k8_{short}_global", get_mma_store_dummy_intrin, 16, 8, 8, dtype)
    for matrix, is_b in (("A", False), ("B", True)):
        name = f"mma_load_m16n8k8_f16_{matrix}_shared_dyn"
        register_intrinsic(name, get_mma_load_intrin, 32, 32, 8, "float16", "shared.dyn", is_b, False)


_register_all()
