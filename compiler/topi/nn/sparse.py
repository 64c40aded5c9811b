"""Products and sums with sparse matrices in CSR and BSR format.

A matrix is its data, the column of each element (or block), and where each row begins and the last one ends: compressed
sparse rows (CSR), or blocks of rows (BSR) where the data has three dimensions.
"""

from __future__ import annotations

from compiler import tir
from compiler.ir.error import ArgumentError, expected
from compiler.ir.expr.primexpr import PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.arrays.transform import expand_dims, reshape, transpose
from compiler.topi.compute import by_loops, compute
from compiler.topi.nn.pad import pad
from compiler.topi.operands import Extent, dims, product
from compiler.topi.tag import Tag

__all__ = [
    "sparse_add", "sparse_conv2d", "sparse_dense", "sparse_dense_sp_lhs", "sparse_dense_sp_rhs", "sparse_transpose",
]  # fmt: skip


def block_shape(data: Tensor) -> tuple[Extent, Extent]:
    """Return the rows and columns of one block of a sparse matrix: 1 and 1 of single elements."""
    shape = dims(data)
    if len(shape) not in (1, 3):
        raise ArgumentError(f"a sparse matrix has elements (a vector) or blocks (three dimensions), got {data.shape}")
    return (shape[1], shape[2]) if len(shape) == 3 else (1, 1)


def sparse_dense(
    dense_data: Tensor, sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor, sparse_lhs: bool = False
) -> Tensor:
    """Return the product of a dense matrix ``(rows, K)`` and the transpose of a sparse one, ``(N, K)``.

    The sparse one has ``(elements,)``, or ``(blocks, rows, columns)``, the column of each element or block, and where
    each row of them begins and the last one ends. If ``sparse_lhs``, the result is transposed: ``sparse @ dense.T``.
    """
    block = block_shape(sparse_data)
    rows, lines = dims(dense_data)[0], dims(sparse_indptr)[0] - 1
    zero = tir.const(0, dense_data.dtype)

    def loops(
        ib: IRBuilder, dense: BufferVar, values: BufferVar, columns: BufferVar, begins: BufferVar, out: BufferVar
    ) -> None:
        with (
            ib.for_range(0, rows, "i", kind="parallel") as i,
            ib.for_range(0, lines, "line") as line,
            ib.for_range(0, block[0], "r") as r,
        ):
            at = (line * block[0] + r, i) if sparse_lhs else (i, line * block[0] + r)
            out[at] = zero
            first = begins[line]
            with ib.for_range(0, begins[line + 1] - first, "e") as e, ib.for_range(0, block[1], "c") as c:
                element = first + e
                value = values[element] if len(sparse_data.shape) == 1 else values[element, r, c]
                out[at] = out[at] + value * dense[i, columns[element] * block[1] + c]

    count = lines * block[0]
    shape = (count, rows) if sparse_lhs else (rows, count)
    inputs = [dense_data, sparse_data, sparse_indices, sparse_indptr]
    return by_loops(inputs, [(shape, dense_data.dtype)], loops, "sparse_dense", "sparse_dense")[0]


def sparse_dense_sp_rhs(data: Tensor, weight_data: Tensor, weight_indices: Tensor, weight_indptr: Tensor) -> Tensor:
    """Return the product of a dense matrix and a transposed sparse one, whose parts are as of :func:`sparse_dense`."""
    return sparse_dense(data, weight_data, weight_indices, weight_indptr)


def sparse_dense_sp_lhs(data_data: Tensor, data_indices: Tensor, data_indptr: Tensor, weight: Tensor) -> Tensor:
    """Return the product of a sparse matrix, whose parts are as of :func:`sparse_dense`, and a transposed dense one."""
    return sparse_dense(weight, data_data, data_indices, data_indptr, sparse_lhs=True)


def sparse_conv2d(
    dense_data: Tensor,
    sparse_data: Tensor,
    sparse_indices: Tensor,
    sparse_indptr: Tensor,
    layout: str = "NHWC",
    kernel_size: int = 1,
) -> Tensor:
    """Return a convolution by a sparse weight, with results of the extents of the data.

    The parts of the weight are as of :func:`sparse_dense`: ``(O, H * W * I)`` in the layout NHWC, ``(O, I * H * W)`` in
    NCHW; data of two dimensions are blocks of one column. The extent of the window is odd, so that it is centred on
    each pixel; beyond the borders are zeros.
    """
    if layout not in ("NHWC", "NCHW"):
        expected("sparse_conv2d", "layout", "'NHWC' or 'NCHW'", layout)
    if kernel_size % 2 != 1:
        expected("sparse_conv2d", "kernel_size", "an odd number", kernel_size)
    pixels = dense_data if layout == "NHWC" else transpose(dense_data, (0, 2, 3, 1))
    places = dims(pixels)[:-1]
    blocks = expand_dims(sparse_data, 2) if len(sparse_data.shape) == 2 else sparse_data
    result = sparse_dense(_windows(pixels, kernel_size, layout), blocks, sparse_indices, sparse_indptr)
    images = reshape(result, (*places, dims(result)[1]))
    return images if layout == "NHWC" else transpose(images, (0, 3, 1, 2))


def _windows(pixels: Tensor, size: int, layout: str) -> Tensor:
    """Return the window around each pixel as a row, its elements in the order of a weight's columns."""
    *places, channels = dims(pixels)
    if size == 1:
        return reshape(pixels, (product(places), channels))
    _, height, width = places
    padded = pad(pixels, (0, size // 2, size // 2, 0))

    def element(row: PrimExpr, column: PrimExpr) -> PrimExpr:
        channel, window = column % channels, column // channels
        if layout == "NCHW":
            channel, window = column // (size * size), column % (size * size)
        image, pixel = row // (height * width), row % (height * width)
        return padded(image, pixel // width + window // size, pixel % width + window % size, channel)

    return compute((product(places), size * size * channels), element, "windows", Tag.INJECTIVE)


def sparse_add(dense_data: Tensor, sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor) -> Tensor:
    """Return the sum of a dense matrix and a sparse one, whose parts are as of :func:`sparse_dense`."""
    rows, columns = dims(dense_data)

    def loops(
        ib: IRBuilder, dense: BufferVar, values: BufferVar, places: BufferVar, begins: BufferVar, out: BufferVar
    ) -> None:
        with ib.for_range(0, rows, "i", kind="parallel") as i:
            with ib.for_range(0, columns, "j") as j:
                out[i, j] = dense[i, j]
            first = begins[i]
            with ib.for_range(0, begins[i + 1] - first, "e") as e:
                out[i, places[first + e]] = out[i, places[first + e]] + values[first + e]

    inputs = [dense_data, sparse_data, sparse_indices, sparse_indptr]
    return by_loops(inputs, [((rows, columns), dense_data.dtype)], loops, "sparse_add")[0]


def sparse_transpose(sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor) -> list[Tensor]:
    """Return the parts, as of :func:`sparse_dense`, of the transpose of a square sparse matrix."""
    elements, lines = dims(sparse_data)[0], dims(sparse_indptr)[0] - 1
    index = sparse_indices.dtype

    def loops(ib: IRBuilder, *memory: BufferVar) -> None:
        """Count the elements of each column, add the counts up, and put every element behind those before it."""
        values, columns, begins, out_values, out_columns, out_begins = memory
        one, zero = tir.const(1, index), tir.const(0, index)
        with ib.for_range(0, lines + 1, "i") as i:
            out_begins[i] = zero
        with ib.for_range(0, elements, "e") as e:
            out_begins[columns[e] + 1] = out_begins[columns[e] + 1] + one
        with ib.for_range(0, lines, "i") as i:
            out_begins[i + 1] = out_begins[i + 1] + out_begins[i]
        with ib.for_range(0, lines, "row") as row:
            first = begins[row]
            with ib.for_range(0, begins[row + 1] - first, "e") as e:
                column = columns[first + e]
                out_values[out_begins[column]] = values[first + e]
                out_columns[out_begins[column]] = row.astype(index)
                out_begins[column] = out_begins[column] + one
        with ib.for_range(0, lines, "i") as i:  # every entry has become the next row's
            out_begins[lines - i] = out_begins[lines - i - 1]
        out_begins[0] = zero

    parts = [sparse_data, sparse_indices, sparse_indptr]
    results = [((elements,), sparse_data.dtype), ((elements,), index), ((lines + 1,), sparse_indptr.dtype)]
    return by_loops(parts, results, loops, "sparse_transpose")
