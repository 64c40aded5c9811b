"""Bit-serial products: low-bit numbers packed bit by bit into words, multiplied by popcount.

References
----------
M. Cowan et al., "Automatic Generation of High-Performance Quantized Machine Learning Kernels", CGO 2020, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.compute import compute
from compiler.topi.nn.convolution.conv import window_extent
from compiler.topi.nn.pad import pad
from compiler.topi.operands import Extent, Index, constant, dims
from compiler.topi.tag import Tag


@dataclass(frozen=True, slots=True)
class BitSpec:
    """How numbers are taken apart, as of :func:`compiler.classic.topi.nn.binary.bitserial_dense`."""

    data_bits: int
    weight_bits: int
    pack_dtype: str
    out_dtype: str
    unipolar: bool


def bitpack(data: Tensor, bits: int, pack_axis: int, bit_axis: int, pack_type: str, name: str = "bitpack") -> Tensor:
    """Return ``bits`` bits of numbers, from the lowest one on, packed into words, with an axis more than the data.

    Neighbours along ``pack_axis`` share a word, of which the first one has the highest bit; ``bit_axis`` of the result
    counts the bits of a number. Raises ArgumentError if the extent of ``pack_axis`` is symbolic, or no multiple of a
    word's bits.
    """
    width, old = dt.parse(pack_type).bits, list(dims(data))
    extent = constant(old[pack_axis], "bitpack")
    if extent % width:
        raise ArgumentError(f"bitpack: axis {pack_axis} must have a multiple of {width} elements, got {extent}")
    shape: list[Extent] = [*old[:pack_axis], extent // width, *old[pack_axis + 1 :]]
    shape.insert(bit_axis, bits)

    def word(*at: Var) -> PrimExpr:
        rest: list[Index] = [i for d, i in enumerate(at) if d != bit_axis]
        packed: PrimExpr = tir.const(0, pack_type)
        for k in range(width):
            here = [*rest[:pack_axis], rest[pack_axis] * width + k, *rest[pack_axis + 1 :]]
            value = data(*here)
            bit = (value >> at[bit_axis].astype(data.dtype)) & tir.const(1, data.dtype)
            packed = packed | (bit.astype(pack_type) << tir.const(width - 1 - k, pack_type))
        return packed

    return compute(shape, word, name=name, tag=Tag.STAGED)


def _counted(data: PrimExpr, weight: PrimExpr, bits: tuple[IterVar, IterVar], spec: BitSpec) -> PrimExpr:
    """Return what two words of bits add to the product."""
    common = tir.popcount(data & weight).astype(spec.out_dtype)
    if spec.unipolar:
        common = common - tir.popcount(data & ~weight).astype(spec.out_dtype)
    return common << (bits[0].var + bits[1].var).astype(spec.out_dtype)


def _bits(spec: BitSpec) -> tuple[IterVar, IterVar]:
    return te.reduce_axis((0, spec.data_bits), name="db"), te.reduce_axis((0, spec.weight_bits), name="wb")


def bitserial_dense(data: Tensor, weight: Tensor, spec: BitSpec) -> Tensor:
    """Return the product of ``(rows, K)`` and the transpose of ``(units, K)``, integers, bit by bit."""
    a = bitpack(data, spec.data_bits, 1, 2, spec.pack_dtype, "data_packed")
    b = bitpack(weight, spec.weight_bits, 1, 2, spec.pack_dtype, "weight_packed")
    k, bits = te.reduce_axis((0, dims(a)[1]), name="k"), _bits(spec)

    def element(i: Var, j: Var) -> PrimExpr:
        value = _counted(a(i, k.var, bits[0].var), b(j, k.var, bits[1].var), bits, spec)
        return te.sum(value, axis=[k, *bits])

    shape = (dims(data)[0], dims(weight)[0])
    return compute(shape, element, name="bitserial_dense", tag=Tag.COMM_REDUCE)


def bitserial_conv2d(
    data: Tensor,
    weight: Tensor,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    layouts: tuple[str, str],
    spec: BitSpec,
) -> Tensor:
    """Return a convolution of integers, bit by bit; the layouts are those of data and weight, such as NHWC and OIHW."""
    source, weights = layout(layouts[0]), layout(layouts[1])
    x, w = source.extents(dims(data)), weights.extents(dims(weight))
    around = dict(zip("HW", zip(padding[:2], padding[2:], strict=True), strict=True))
    pairs = [around.get(letter, (0, 0)) for letter in source.letters]
    padded = pad(data, [p[0] for p in pairs], [p[1] for p in pairs], name="data_pad")
    a = bitpack(padded, spec.data_bits, source.letters.index("C"), 4, spec.pack_dtype, "data_packed")
    b = bitpack(weight, spec.weight_bits, weights.letters.index("I"), 4, spec.pack_dtype, "weight_packed")
    words = dims(a)[source.letters.index("C")]
    rc, bits = te.reduce_axis((0, words), name="rc"), _bits(spec)
    window = {letter: te.reduce_axis((0, w[letter]), name=f"r{letter.lower()}") for letter in "HW"}
    extents: dict[str, Extent] = {"N": x["N"], "C": w["O"]}
    for d, letter in enumerate("HW"):
        extents[letter] = window_extent(x[letter], *around[letter], w[letter], strides[d], 1)

    def element(*at: Var) -> PrimExpr:
        here = source.point(at)
        read: dict[str, Index] = {"N": here["N"], "C": rc.var}
        read |= {letter: here[letter] * strides[d] + window[letter].var for d, letter in enumerate("HW")}
        by: dict[str, Index] = {"O": here["C"], "I": rc.var, "H": window["H"].var, "W": window["W"].var}
        words_read = a(*source.indices(read), bits[0].var), b(*weights.indices(by), bits[1].var)
        return te.sum(_counted(*words_read, bits, spec), axis=[rc, *window.values(), *bits])

    return compute(source.shape(extents), element, name="bitserial_conv2d", tag=Tag.COMM_REDUCE)
