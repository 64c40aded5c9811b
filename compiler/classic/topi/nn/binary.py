"""Binary (1-bit) dense layers and convolutions of ``tvm.topi.nn``."""

from __future__ import annotations

from collections.abc import Callable

from compiler import te, tir
from compiler.classic.topi.nn.conv_spec import Numbers, numbers_of
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.definitions import named
from compiler.topi.nn import bitserial
from compiler.topi.nn.bitserial import BitSpec, bitpack
from compiler.topi.nn.padding import Padding, get_pad_tuple
from compiler.topi.operands import axis_of, constant, dims, replaced
from compiler.topi.tag import Tag

__all__ = [
    "binarize_pack", "binary_dense", "bitpack", "bitserial_conv2d_nchw", "bitserial_conv2d_nhwc", "bitserial_dense",
]  # fmt: skip

_WORD = 32
"""Bits of a word of :func:`binarize_pack`."""


def binarize_pack(data: Tensor, axis: int | None = None, name: str = "PackedInput") -> Tensor:
    """Return the signs of numbers, 32 in a word (uint32) along an axis; the first one has the highest bit.

    Raises ArgumentError if the extent is not a multiple of 32.
    """
    at = axis_of(-1 if axis is None else axis, data.ndim, "binarize_pack")
    count = constant(dims(data)[at], "binarize_pack")
    if count % _WORD:
        raise ArgumentError(f"binarize_pack: the extent of axis {at} must be a multiple of {_WORD}, got {count}")

    def word(*i: Var) -> PrimExpr:
        bits: PrimExpr = tir.const(0, "uint32")
        for k in range(_WORD):
            sign = data(*replaced(i, at, i[at] * _WORD + k)) >= tir.const(0, data.dtype)
            bits = (bits << tir.const(1 if k else 0, "uint32")) | sign.astype("uint32")
        return bits

    return compute(replaced(dims(data), at, count // _WORD), word, name=name, tag=Tag.STAGED)


def binary_dense(data: Tensor, weight: Tensor) -> Tensor:
    """Return the product of a matrix and a transposed one, whose elements are 1 and -1, as signs in words (uint32).

    References
    ----------
    Courbariaux et al., "Binarized Neural Networks", arXiv:1602.02830, 2016, section 2.3: XNOR and the count of ones.
    """
    rows, words = dims(data)
    k = te.reduce_axis((0, words), name="k")
    shape = (rows, dims(weight)[0])
    differing = compute(
        shape,
        lambda i, j: te.sum(tir.popcount(data(i, k.var) ^ weight(j, k.var)), axis=k),
        name="differing",
        tag=Tag.COMM_REDUCE,
    )
    total = tir.const(float(constant(words, "binary_dense") * _WORD), "float32")
    return compute(
        shape,
        lambda i, j: total - tir.const(2.0, "float32") * differing(i, j).astype("float32"),
        name="binary_dense",
        tag=Tag.ELEMWISE,
    )


def bitserial_dense(
    data: Tensor, weight: Tensor, data_bits: int, weight_bits: int, pack_dtype: str = "uint32",
    out_dtype: str = "int16", unipolar: bool = True,
) -> Tensor:  # fmt: skip
    """Return the product of ``(rows, K)`` and the transpose of ``(units, K)``, integers, bit by bit.

    ``data_bits`` and ``weight_bits`` of each number count, and are packed into words of ``pack_dtype``. If
    ``unipolar``, a bit of the weight means 1 or -1, else 1 or 0.
    """
    spec = BitSpec(data_bits, weight_bits, pack_dtype, out_dtype, bool(unipolar))
    return bitserial.bitserial_dense(data, weight, spec)


def _conv2d(
    function: str,
    tensors: tuple[Tensor, Tensor],
    numbers: tuple[Numbers, Padding],
    layouts: tuple[str, str],
    spec: BitSpec,
) -> Tensor:
    data, kernel = tensors
    stride, padding = numbers
    window = [dims(kernel)[layouts[1].index(letter)] for letter in "HW"]
    around = get_pad_tuple(padding, window)
    return bitserial.bitserial_conv2d(data, kernel, numbers_of(function, "stride", stride, 2), around, layouts, spec)


def _bitserial(name: str, data_layout: str, kernel_layout: str) -> Callable[..., Tensor]:
    def build(
        data: Tensor, kernel: Tensor, stride: Numbers, padding: Padding, activation_bits: int, weight_bits: int,
        pack_dtype: str = "uint32", out_dtype: str = "int16", unipolar: bool = True,
    ) -> Tensor:  # fmt: skip
        """Return a convolution of data of layout {data} and a weight {kernel}, integers, bit by bit.

        Stride and padding are as in :func:`~compiler.classic.topi.nn.convolutions.conv`, the rest as in
        :func:`bitserial_dense`.
        """
        spec = BitSpec(activation_bits, weight_bits, pack_dtype, out_dtype, bool(unipolar))
        return _conv2d(name, (data, kernel), (stride, padding), (data_layout, kernel_layout), spec)

    return named(build, name, data=data_layout, kernel=kernel_layout)


bitserial_conv2d_nchw = _bitserial("bitserial_conv2d_nchw", "NCHW", "OIHW")
bitserial_conv2d_nhwc = _bitserial("bitserial_conv2d_nhwc", "NHWC", "HWIO")
