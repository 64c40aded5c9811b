"""MultiplyBytes: products of bytes less their zero points, by instructions that add four products of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, Constant, array_const
from compiler.relay.op.nn.conv_attrs import Conv2DAttrs
from compiler.relay.op.nn.dense_alter_op import PANEL, panel_layout
from compiler.relay.operator import Array, call_op
from compiler.relay.transform.fold.fold_constant import FoldConstantExpr
from compiler.relay.transform.rewriter import (
    GraphMutator,
    RewritePass,
    call_of,
    const_like,
    op_name,
    scalar_value,
    tensor_type,
)
from compiler.target.target import Target
from compiler.tir.layout.data_layout import layout
from compiler.topi.nn.product_sums import NARROW, has_byte_products, has_pair_products

_BYTES = ("uint8", "int8")
_GROUP = 4
_SIGN_STEP = 128
"""What lies between the bytes of both signednesses that differ in the highest bit only."""


class MultiplyBytes(RewritePass, opt_level=3, required=("InferType",)):
    """Multiply bytes as they are by weights that are known, and subtract what the zero point adds afterwards.

    Level 3; requires InferType.  The current target, else this machine, decides: x86 CPUs with VNNI multiply unsigned
    by signed bytes in fours, AArch64's with the dot product instructions signed ones.  Data of the other signedness
    have their highest bit flipped, and their zero point moved.  Weights stand in panels, with four inputs of a unit
    side by side; where units or inputs are no multiple of that, zeros are added.  Other targets get 16-bit integers in
    such panels.  Convolutions of images ``NCHW`` without groups, which AlterOpLayout brings into blocks, have the zero
    point around the images; those of single channels are of bytes on x86, if it is zero.  All of it wraps around like
    32-bit arithmetic, where ``sum((x - z) * w) = sum(x * w) - z * sum(w)``.

    Examples
    --------
    ``MultiplyBytes()``, for ``llvm -mcpu=cascadelake``::

        def @main(%x: Tensor[(2, 8), uint8]) {
          nn.dense(subtract(cast(%x, dtype="int16"), 3i16), w, out_dtype="int32")
        }
        ->
        def @main(%x: Tensor[(2, 8), uint8]) {
          subtract(nn.contrib_dense_pack(%x, w in panels, weight_layout="NC16n4c", out_dtype="int32"), 3 * sums of w)
        }
    """

    def mutator(self) -> GraphMutator:
        target = Target.current() or Target("llvm -mcpu=native")
        if target.kind != "llvm":
            return GraphMutator()
        data = next((dtype for dtype in _BYTES if has_byte_products(target, dtype, "int8")), None)
        return _Multiplier(data, 2 if has_pair_products(target) else 1)


@dataclass(frozen=True, slots=True)
class _Bytes:
    """Integers as bytes and what is to be subtracted from them, None for nothing."""

    values: RelayExpr
    zero: RelayExpr | None


class _Multiplier(GraphMutator):
    """Multiplies bytes, of data type ``dtype`` those that come in; if it is None, ``group`` integers of 16 bits."""

    def __init__(self, dtype: str | None, group: int) -> None:
        super().__init__()
        self._dtype = dtype
        self._group = group

    def visit_call(self, call: Call) -> RelayExpr:
        new, t = self.rebuilt_call(call), tensor_type(call)
        if op_name(new) == "nn.dense" and t is not None and t.dtype == "int32" and len(t.dims) > 1:
            return self._bytes_product(new) or self._padded_product(new) or new
        if op_name(new) == "nn.conv2d" and t is not None and t.dtype == "int32":
            return self._bytes_convolution(new) or self._bytes_depthwise(new) or new
        return new

    def _bytes_convolution(self, call: Call) -> RelayExpr | None:
        """Return a convolution of bytes for one of integers that are made of bytes; zeros fill up its channels."""
        attrs, weight, data = Conv2DAttrs.of(call), _weight(call.args[1], "int8"), _bytes(call.args[0])
        usual = attrs.groups == 1 and (attrs.data_layout, attrs.kernel_layout) == ("NCHW", "OIHW")
        if self._dtype is None or weight is None or data is None or not usual or len(weight) % _GROUP:
            return None
        data = self._as_multiplied(data)
        values, zero = data.values, data.zero
        missing, taps = _missing(weight, attrs.dilation)
        top, left, bottom, right = attrs.padding
        inside = {
            "padding": (top, left, bottom, right + taps),
            "kernel_size": (weight.shape[2], weight.shape[3] + taps),
        }
        around = inside["padding"] if zero is not None else (0,) * 4
        if missing or any(around):
            top, left, bottom, right = around
            # What surrounds the image is zero once the zero point is subtracted.
            fill = const_like(0, self._dtype) if zero is None else call_op("cast", zero, dtype=self._dtype)
            width = [(0, 0), (0, missing), (top, bottom), (left, right)]
            values = call_op("nn.pad", values, fill, pad_width=width)
        known = array_const(np.pad(weight, ((0, 0), (0, missing), (0, 0), (0, taps))))
        inside |= {"padding": (0,) * 4} if any(around) else {}
        sums = call_op("nn.conv2d", values, known, **{**attrs, **inside})
        if zero is None:
            return sums
        added = weight.sum(axis=(1, 2, 3), dtype="int32", keepdims=True)[:, :, :, 0]
        return call_op("subtract", sums, call_op("multiply", zero, array_const(added)))

    def _bytes_depthwise(self, call: Call) -> RelayExpr | None:
        """Return a depthwise convolution of bytes for one of integers that are made of bytes, less nothing.

        Zeros fill up the rows of its window.  Only x86 brings neighbours in a row side by side fast enough.
        """
        attrs, weight, data = Conv2DAttrs.of(call), _weight(call.args[1], "int8"), _bytes(call.args[0])
        is_usual = attrs.dilation[1] == 1 and (attrs.data_layout, attrs.kernel_layout) == ("NCHW", "OIHW")
        if (self._dtype, self._group) != ("uint8", 2) or weight is None or data is None or not is_usual:
            return None
        data, channels = self._as_multiplied(data), len(weight)
        is_depthwise = attrs.groups == channels and weight.shape[1] == 1 and channels % _GROUP == 0
        if not is_depthwise or (data.zero is not None and scalar_value(data.zero) != 0):
            return None
        missing = -weight.shape[3] % _GROUP
        top, left, bottom, right = attrs.padding
        known = np.pad(weight, ((0, 0), (0, 0), (0, 0), (0, missing)))
        window = {"kernel_size": known.shape[2:], "padding": (top, left, bottom, right + missing)}
        return call_op("nn.conv2d", data.values, array_const(known), **{**attrs, **window})

    def _bytes_product(self, call: Call) -> RelayExpr | None:
        """Return a product of bytes for one of integers that are made of bytes."""
        weight, data = _weight(call.args[1], "int8"), _bytes(call.args[0])
        if self._dtype is None or weight is None or data is None:
            return None
        data = self._as_multiplied(data)
        return in_panels(data.values, weight, _GROUP, data.zero)

    def _padded_product(self, call: Call) -> RelayExpr | None:
        """Return a product of narrow integers with zeros added to the weight, where that does not fill panels."""
        weight, data = _weight(call.args[1], "int16"), tensor_type(call.args[0])
        if weight is None or data is None or data.dtype not in NARROW:
            return None
        if not (weight.shape[0] % PANEL or weight.shape[1] % self._group):
            return None
        return in_panels(call.args[0], weight, self._group, None)

    def _as_multiplied(self, data: _Bytes) -> _Bytes:
        t = tensor_type(data.values)
        if t is None or t.dtype == self._dtype:
            return data
        bits = call_op("reinterpret", data.values, dtype="uint8")
        flipped = call_op("bitwise_xor", bits, const_like(_SIGN_STEP, "uint8"))
        step = const_like(_SIGN_STEP if self._dtype == "uint8" else -_SIGN_STEP, "int32")
        values = call_op("reinterpret", flipped, dtype=self._dtype)
        return _Bytes(values, step if data.zero is None else FoldConstantExpr(call_op("add", data.zero, step)))


def _missing(weight: Array, dilation: Sequence[int]) -> tuple[int, int]:
    """Return how many channels, or else columns of the window, make groups of products with those of a convolution.

    Neighbours in a row of an image stand side by side as they are, channels have to be brought there.
    """
    _, channels, _, width = weight.shape
    in_rows = dilation[1] == 1 and channels * -(-width // _GROUP) <= -(-channels // _GROUP) * width
    return (0, -width % _GROUP) if channels % _GROUP and in_rows else (-channels % _GROUP, 0)


def in_panels(
    data: RelayExpr,
    weight: Array,
    group: int,
    zero: RelayExpr | None = None,
    out_dtype: str = "int32",
    missing: int = 0,
) -> RelayExpr:
    """Return the product of data, less a zero point, with a weight ``(units, in)``, of which a few are zeros.

    Zeros fill up its panels, and the inputs to a multiple of ``group``, after ``missing`` ones.
    """
    units, depth = weight.shape
    missing += -(depth + missing) % group
    weight = np.pad(weight, ((0, -units % PANEL), (0, missing)))
    t = tensor_type(data)
    assert t is not None, "operands of products are tensors"
    if missing:
        width = [*[(0, 0)] * (len(t.dims) - 1), (0, missing)]
        data = call_op("nn.pad", data, const_like(0, t.dtype), pad_width=width)
    panels = layout(panel_layout(group))
    packed = array_const(panels.from_plain(weight, "NC"))
    product = call_op("nn.contrib_dense_pack", data, packed, weight_layout=str(panels), out_dtype=out_dtype, units=None)
    if zero is not None:
        added = call_op("multiply", zero, array_const(weight.sum(axis=1, dtype="int32")))
        product = call_op("subtract", product, added)
    if len(weight) == units:
        return product
    return call_op("strided_slice", product, begin=[0], end=[units], axes=[len(t.dims) - 1])


def _weight(expr: RelayExpr, dtype: str) -> Array | None:
    """Return a weight that is known, in a data type that holds its elements."""
    if not isinstance(expr, Constant) or expr.value.dtype.kind not in "iu" or expr.value.size == 0:
        return None
    limits = np.iinfo(dtype)
    fits = limits.min <= expr.value.min() and expr.value.max() <= limits.max
    return expr.value.astype(dtype) if fits else None


def _bytes(expr: RelayExpr) -> _Bytes | None:
    """Return what wider integers are made of: bytes, less one zero point for all if there is one."""
    if (moved := call_of(expr, "reshape")) is not None:
        source, t = _bytes(moved.args[0]), tensor_type(expr)
        if source is None or t is None:
            return None
        return _Bytes(call_op("reshape", source.values, newshape=t.dims), source.zero)
    difference = call_of(expr, "subtract")
    wide, zero = difference.args if difference is not None else (expr, None)
    values = _narrow(wide)
    point = None if zero is None else _zero_point(zero)
    return None if values is None or (zero is not None and point is None) else _Bytes(values, point)


def _narrow(wide: RelayExpr) -> RelayExpr | None:
    """Return bytes as they were before they were converted to wider integers, if they were."""
    t, source = tensor_type(wide), call_of(wide, "cast")
    if t is None or t.dtype in _BYTES:
        return None if t is None else wide
    narrow = None if source is None else tensor_type(source.args[0])
    is_narrow = narrow is not None and narrow.dtype in _BYTES and t.dtype in ("int16", "int32")
    return source.args[0] if source is not None and is_narrow else None


def _zero_point(zero: RelayExpr) -> RelayExpr | None:
    """Return one zero point as a 32-bit scalar; None for many, and where a difference from bytes might not fit."""
    t = tensor_type(zero)
    if t is None or any(d != 1 for d in t.dims):
        return None
    if isinstance(zero, Constant):
        value = int(zero.value.reshape(()))
        return const_like(value, "int32") if np.iinfo("int8").min <= value <= np.iinfo("uint8").max else None
    point = _narrow(zero)
    return None if point is None else call_op("cast", call_op("reshape", point, newshape=()), dtype="int32")
