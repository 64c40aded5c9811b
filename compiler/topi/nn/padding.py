"""``tvm.topi.nn.utils``: padding arguments."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.error import ArgumentError, expected
from compiler.ir.expr.primexpr import IntImm
from compiler.te.definition.tensor import Tensor
from compiler.topi.operands import Extent, constant
from compiler.topi.utils import get_const_int

__all__ = [
    "get_pad_tuple", "get_pad_tuple1d", "get_pad_tuple3d", "get_pad_tuple_generic", "infer_pad", "infer_stride",
]  # fmt: skip

Padding = int | str | Sequence[int]
"""A number, one a dimension, all beginnings and then all ends, ``"VALID"`` or ``"SAME"``."""

Edges = tuple[tuple[int, ...], tuple[int, ...]]


def pad_edges(function: str, padding: Padding, kernel: Sequence[Extent]) -> Edges:
    """Return how many zeros are before and after the data.

    ``padding`` is one number, one a dimension, all beginnings and then all ends, ``"VALID"`` for none, or ``"SAME"``
    for as many as let a window that moves by one element leave the extents as they are.
    """
    rank = len(kernel)
    if isinstance(padding, (int, IntImm)):
        same = (int(padding),) * rank
        return same, same
    if padding == "VALID":
        return (0,) * rank, (0,) * rank
    if padding == "SAME":
        both = [constant(k, function) - 1 for k in kernel]
        before = tuple((n + 1) // 2 for n in both)
        return before, tuple(n - b for n, b in zip(both, before, strict=True))
    if not isinstance(padding, (str, float)):
        numbers = tuple(int(n) for n in padding)
        if len(numbers) == rank:
            return numbers, numbers
        if len(numbers) == 2 * rank:
            return numbers[:rank], numbers[rank:]
        raise ArgumentError(f"{function}: Size of padding can only be {rank} or {2 * rank}, got {len(numbers)} numbers")
    return expected(function, "padding", "a number, a sequence of numbers, 'VALID' or 'SAME'", padding)


def get_pad_tuple_generic(padding: Padding, kernel: Sequence[Extent]) -> Edges:
    """Return the zeros before and after each dimension.

    ``padding`` is a number, one a dimension, all beginnings and then all ends, ``"VALID"`` or ``"SAME"``; the extents
    of the window include its dilation.
    """
    return pad_edges("get_pad_tuple_generic", padding, kernel)


def _flat(function: str, padding: Padding, kernel: Sequence[Extent], rank: int) -> tuple[int, ...]:
    before, after = pad_edges(function, padding, tuple(kernel)[:rank])
    return (*before, *after)


def get_pad_tuple1d(padding: Padding, kernel: Extent | Sequence[Extent]) -> tuple[int, ...]:
    """Return :func:`get_pad_tuple_generic` on the left and on the right; the kernel's one extent may stand alone."""
    extents = kernel if isinstance(kernel, Sequence) else (kernel,)
    return _flat("get_pad_tuple1d", padding, extents, 1)


def get_pad_tuple(padding: Padding, kernel: Sequence[Extent]) -> tuple[int, ...]:
    """Return :func:`get_pad_tuple_generic` above, on the left, below and on the right."""
    return _flat("get_pad_tuple", padding, kernel, 2)


def get_pad_tuple3d(padding: Padding, kernel: Sequence[Extent]) -> tuple[int, ...]:
    """Return :func:`get_pad_tuple_generic` in front, above, on the left, behind, below and on the right."""
    return _flat("get_pad_tuple3d", padding, kernel, 3)


def _extents(tensor: Tensor) -> tuple[int, int]:
    """Return the height and the width of data, or of a kernel, ``NCHW``."""
    height, width = (get_const_int(n) for n in tensor.shape[2:4])
    return height, width


def infer_pad(data: Tensor, data_pad: Tensor | None) -> tuple[int, int]:
    """Return how many zeros are above and on the left of data NCHW, the same number being on the other side.

    ``data_pad`` is the data with its zeros; None if there are none.
    """
    if data_pad is None:
        return 0, 0
    (h, w), (padded_h, padded_w) = (_extents(t) for t in (data, data_pad))
    return (padded_h - h) // 2, (padded_w - w) // 2


def infer_stride(data: Tensor, kernel: Tensor, out: Tensor) -> tuple[int, int]:
    """Return the strides of a convolution of padded data NCHW, from the extents of its result."""
    (h, w), (kernel_h, kernel_w), (out_h, out_w) = (_extents(t) for t in (data, kernel, out))
    return (h - kernel_h) // max(out_h - 1, 1), (w - kernel_w) // max(out_w - 1, 1)
