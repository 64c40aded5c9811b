"""Thread-to-element layouts of the operands and results of matrix instructions.

References
----------
NVIDIA, "Parallel Thread Execution ISA", section "Warp Level Matrix Multiply-Accumulate Instructions".
AMD, "AMD Instinct MI200 Instruction Set Architecture", chapter "Matrix Arithmetic Instructions".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from compiler.ir.expr.primexpr import PrimExpr
from compiler.tir.layout.matrix_fragments import Number, fragment_element, fragment_place

_TILE = 16
"""Rows and columns of a product."""

Layout = TypeVar("Layout", bound=Callable[..., Any])


def _layout_of(matrix: str, elements: int) -> Callable[[Layout], Layout]:
    """Document a function that says where the elements of a matrix lie, of which a thread has ``elements``."""

    def document(layout: Layout) -> Layout:
        layout.__doc__ = f"""Return where an element of {matrix} lies.

        Parameters
        ----------
        i, j : int or PrimExpr
            Its row and column.

        Returns
        -------
        tuple of int or PrimExpr
            The thread of the warp, and which one of the thread's elements it is, below {elements}.
        """
        return layout

    return document


@_layout_of("16 x 16 numbers of 16 bits, or of an accumulator of tensor cores,", elements=8)
def shared_16x16_to_ldmatrix_32x8_layout(i: Number, j: Number) -> tuple[Number, Number]:
    return fragment_place(i, j, _TILE, 2)


@_layout_of("16 x 32 numbers of 8 bits", elements=16)
def shared_16x32_to_ldmatrix_32x16_layout(i: Number, j: Number) -> tuple[Number, Number]:
    return fragment_place(i, j, _TILE, 4)


@_layout_of("32 x 16 numbers of 8 bits, a second operand for two products of 8 columns,", elements=16)
def shared_32x16_to_ldmatrix_32x16_layout(i: Number, j: Number) -> tuple[Number, Number]:
    return i % 16 // 4 + 4 * (j % 8), 8 * (j // 8) + i // 16 * 4 + i % 4


def ldmatrix_32x8_to_shared_16x16_layout(thread_id: Number, local_id: Number) -> tuple[Number, Number]:
    """Return which element of 16 x 16 a thread has: the inverse of ``shared_16x16_to_ldmatrix_32x8_layout``."""
    return fragment_element(thread_id, local_id, _TILE, 2)


@_layout_of("a first operand of 16 x 16 of matrix cores", elements=4)
def shared_16x16_to_local_64x4_layout_A(i: Number, j: Number) -> tuple[Number, Number]:
    return i + 16 * (j // 4), j % 4


@_layout_of("a second operand of 16 x 16, or of a result, of matrix cores", elements=4)
def shared_16x16_to_local_64x4_layout_B(i: Number, j: Number) -> tuple[Number, Number]:
    return j + i // 4 * 16, i % 4


shared_16x16_to_local_64x4_layout_C = shared_16x16_to_local_64x4_layout_B


@_layout_of("a first operand of 16 x 4 of matrix cores", elements=1)
def shared_16x4_to_local_64x1_layout_A(i: Number, j: Number) -> tuple[Number, int]:
    return j * 16 + i, 0


@_layout_of("a second operand of 4 x 16 of matrix cores", elements=1)
def shared_4x16_to_local_64x1_layout_B(i: Number, j: Number) -> tuple[Number, int]:
    return i * 16 + j, 0


def _inverse_of(layout: Callable[..., object]) -> Callable[[Layout], Layout]:
    """Document the function that says which element a thread has, where ``layout`` says which thread has an element."""

    def document(inverse: Layout) -> Layout:
        inverse.__doc__ = f"""Return which element a thread has: the inverse of ``{layout.__name__}``.

        Parameters
        ----------
        thread_id : int or PrimExpr
            The thread of the wavefront.
        local_id : int or PrimExpr
            Which one of its elements.

        Returns
        -------
        tuple of int or PrimExpr
            The row and the column.
        """
        return inverse

    return document


@_inverse_of(shared_16x4_to_local_64x1_layout_A)
def thread_id_shared_access_64x1_to_16x4_layout_A(thread_id: Number, local_id: Number) -> tuple[Number, Number]:
    return thread_id % 16, thread_id // 16 + local_id


@_inverse_of(shared_4x16_to_local_64x1_layout_B)
def thread_id_shared_access_64x1_to_4x16_layout_B(thread_id: Number, local_id: Number) -> tuple[Number, Number]:
    return thread_id // 16, thread_id % 16 + local_id


@_inverse_of(shared_16x16_to_local_64x4_layout_A)
def thread_id_shared_access_64x4_to_16x16_layout_A(thread_id: Number, local_id: Number) -> tuple[Number, Number]:
    return thread_id % 16, thread_id // 16 * 4 + local_id


@_inverse_of(shared_16x16_to_local_64x4_layout_B)
def thread_id_shared_access_64x4_to_16x16_layout_B(thread_id: Number, local_id: Number) -> tuple[Number, Number]:
    return local_id + thread_id // 16 * 4, thread_id % 16


thread_id_shared_access_64x4_to_16x16_layout_C = thread_id_shared_access_64x4_to_16x16_layout_B


def fragment_number(offset: PrimExpr, stride: PrimExpr, rows: int, columns: int) -> PrimExpr:
    """Return the number of the matrix that begins at an element of a buffer that is divided into matrices."""
    return offset // stride // rows * (stride // columns) + offset % stride // columns


def _by_name(*layouts: Callable[..., object]) -> dict[str, Callable[..., object]]:
    return {layout.__name__: layout for layout in layouts}


MMA_LAYOUTS = _by_name(
    shared_16x16_to_ldmatrix_32x8_layout,
    shared_16x32_to_ldmatrix_32x16_layout,
    shared_32x16_to_ldmatrix_32x16_layout,
    ldmatrix_32x8_to_shared_16x16_layout,
)
"""The layouts of NVIDIA's tensor cores, by the names under which the programs of intrinsics call them."""
MFMA_LAYOUTS = _by_name(
    shared_16x16_to_local_64x4_layout_A,
    shared_16x16_to_local_64x4_layout_B,
    shared_16x4_to_local_64x1_layout_A,
    shared_4x16_to_local_64x1_layout_B,
)
"""The layouts of AMD's matrix cores."""
