"""Padding of matrix products to tensor core tiles: ``topi.nn.dense_legalize``, …

A GPU multiplies tiles of fixed extents at once.  A product that is not made of whole tiles is computed with zeros at
its ends, where that is not too many of them, and cut to its shape again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from compiler.ir.attrs import Attrs
from compiler.ir.expr import RelayExpr
from compiler.ir.extension import extension_point
from compiler.ir.types import Type
from compiler.relay.expr import Call
from compiler.relay.operator import call_op
from compiler.relay.ty import TensorType
from compiler.target.target import Target

Tile: TypeAlias = tuple[int, int, int]
"""Rows, summands and columns of a product."""

Legalize: TypeAlias = Callable[[Attrs, Sequence[RelayExpr], Sequence[Type]], Call | None]

_WIDE: tuple[Tile, ...] = ((16, 16, 16), (32, 16, 8), (8, 16, 32))
_BYTES = ("int8", "uint8")
_NIBBLES = ("int4", "uint4")
_DOT: tuple[Tile, ...] = ((4, 4, 4),)
"""Without tensor cores, an instruction multiplies four bytes by four."""

_MATRIX_TILES = {"float16": _WIDE, **dict.fromkeys(_BYTES, _WIDE), **dict.fromkeys(_NIBBLES, ((8, 32, 8),))}
_CONV_TILES: Mapping[tuple[str, str], Mapping[str, tuple[Tile, ...]]] = {
    ("NHWC", "HWIO"): dict.fromkeys(("float16", *_BYTES, *_NIBBLES), _WIDE),
    ("HWNC", "HWOI"): {**dict.fromkeys(_BYTES, ((8, 16, 32),)), **dict.fromkeys(_NIBBLES, ((8, 32, 8),))},
    ("NCHW", "OIHW"): dict.fromkeys(_BYTES, ((1, 4, 4),)),
}
_MAX_WASTE = 2
"""Up to how many times the useful products may be computed for nothing."""


def _added(extents: Tile, tiles: Sequence[Tile], max_waste: float = _MAX_WASTE) -> Tile | None:
    """Return by how much to lengthen each extent; None if the product is made of tiles, or would be mostly zeros."""
    useful = extents[0] * extents[1] * extents[2]

    def waste(more: Tile) -> int:
        rows, summands, columns = (extent + end for extent, end in zip(extents, more, strict=True))
        return rows * summands * columns - useful

    rows, summands, columns = extents
    ends = [(-rows % m, -summands % k, -columns % n) for m, k, n in tiles]
    best = min(ends, key=waste, default=(0, 0, 0))
    return None if not any(best) or waste(best) > max_waste * useful else best


def _padded(data: RelayExpr, ends: Mapping[int, int], rank: int) -> RelayExpr:
    """Return a tensor with zeros at the ends of some of its axes."""
    if not any(ends.values()):
        return data
    return call_op("nn.pad", data, 0, pad_width=[(0, ends.get(axis, 0)) for axis in range(rank)])


def _cut(call: Call, shape: Sequence[int], changed: bool) -> Call:
    """Return the part of a result that was asked for."""
    return call_op("strided_slice", call, begin=[0] * len(shape), end=list(shape), strides=[1]) if changed else call


def _on_cuda(types: Sequence[Type]) -> tuple[TensorType, TensorType] | None:
    """Return the types of data and weight, if they are known and the current target is a GPU of NVIDIA's."""
    data, weight = types[:2]
    target = Target.target_or_current(None)
    if target.kind != "cuda" or not isinstance(data, TensorType) or not isinstance(weight, TensorType):
        return None
    return (data, weight) if data.is_static and weight.is_static and data.dtype == weight.dtype else None


def dense_legalize(attrs: Attrs, inputs: Sequence[RelayExpr], types: Sequence[Type]) -> Call | None:
    """Return a dense layer of tiles of the current target's tensor cores (``FTVMLegalize``); None if it stays."""
    known = _on_cuda(types)
    if known is None or len(known[0].dims) != 2:
        return None
    (rows, summands), (columns, _), dtype = known[0].concrete_shape, known[1].concrete_shape, known[0].dtype
    extents = (rows, summands, columns)
    fits = any(all(e % t == 0 for e, t in zip(extents, tile, strict=True)) for tile in _MATRIX_TILES.get(dtype, ()))
    more = None if fits else _added(extents, _MATRIX_TILES.get(dtype, ()))
    if more is None and not fits and dtype in _BYTES:
        more = _added(extents, _DOT)
    if more is None:
        return None
    data, weight = _padded(inputs[0], {0: more[0], 1: more[1]}, 2), _padded(inputs[1], {0: more[2], 1: more[1]}, 2)
    units = attrs["units"] if attrs["units"] is None else columns + more[2]
    made = call_op("nn.dense", data, weight, **{**attrs, "units": units})
    return _cut(made, (rows, columns), bool(more[0] or more[2]))


def matmul_legalize(attrs: Attrs, inputs: Sequence[RelayExpr], types: Sequence[Type]) -> None:
    """Leave a product of matrices as it is: no target here wants another form, as ``FTVMLegalize`` takes it."""


def batch_matmul_legalize(attrs: Attrs, inputs: Sequence[RelayExpr], types: Sequence[Type]) -> Call | None:
    """Return a product of batches made of tiles of the current target's tensor cores (``FTVMLegalize``), or None if it
    stays.
    """
    known = _on_cuda(types)
    if known is None:
        return None
    (batch, *x), (_, *y), dtype = known[0].concrete_shape, known[1].concrete_shape, known[0].dtype
    row, column = (2, 1) if attrs["transpose_a"] else (1, 2), (1, 2) if attrs["transpose_b"] else (2, 1)
    extents = (x[row[0] - 1], x[row[1] - 1], y[column[0] - 1])
    more = _added(extents, _MATRIX_TILES.get(dtype, ()))
    if more is None:
        return None
    data = _padded(inputs[0], {row[0]: more[0], row[1]: more[1]}, 3)
    weight = _padded(inputs[1], {column[0]: more[2], column[1]: more[1]}, 3)
    made = call_op("nn.batch_matmul", data, weight, **attrs)
    return _cut(made, (batch, extents[0], extents[2]), bool(more[0] or more[2]))


def conv2d_legalize(attrs: Attrs, inputs: Sequence[RelayExpr], types: Sequence[Type]) -> Call | None:
    """Return a convolution of tiles of the current target's tensor cores (``FTVMLegalize``); None if it stays."""
    known, layout, weight_layout = _on_cuda(types), attrs["data_layout"], attrs["kernel_layout"]
    tiles = _CONV_TILES.get((layout, weight_layout))
    if known is None or tiles is None or attrs["groups"] != 1 or not isinstance(types[-1], TensorType):
        return None
    batch, channels = layout.index("N"), layout.index("C")
    inner, outer = weight_layout.index("I"), weight_layout.index("O")
    columns = known[1].concrete_shape[outer]
    extents = (known[0].concrete_shape[batch], known[0].concrete_shape[channels], columns)
    limit = float("inf") if layout == "NCHW" else _MAX_WASTE
    more = _added(extents, tiles.get(known[0].dtype, ()), limit)
    if more is None:
        return None
    data = _padded(inputs[0], {batch: more[0], channels: more[1]}, 4)
    weight = _padded(_padded(inputs[1], {inner: more[1]}, 4), {outer: more[2]}, 4)
    made = call_op("nn.conv2d", data, weight, **{**attrs, "channels": columns + more[2]})
    return _cut(made, types[-1].concrete_shape, bool(more[0] or more[2]))


def conv2d_transpose_legalize(attrs: Attrs, inputs: Sequence[RelayExpr], types: Sequence[Type]) -> Call | None:
    """Return a transposed convolution in the layouts NCHW and IOHW, as ``FTVMLegalize`` takes it.

    None if the data has neither the layout NHWC nor NCHW.
    """
    layout, weight_layout = attrs["data_layout"], attrs["kernel_layout"]
    if layout not in ("NHWC", "NCHW"):
        return None
    data, weight = inputs
    if weight_layout != "IOHW":
        weight = call_op("layout_transform", weight, src_layout=weight_layout, dst_layout="IOHW")
    plain = {**attrs, "data_layout": "NCHW", "kernel_layout": "IOHW"}
    if layout == "NCHW":
        return call_op("nn.conv2d_transpose", data, weight, **plain)
    moved = call_op("transpose", data, axes=(0, 3, 1, 2))
    return call_op("transpose", call_op("nn.conv2d_transpose", moved, weight, **plain), axes=(0, 2, 3, 1))


def _publish(function: Legalize) -> None:
    extension_point("tvm.topi.nn").add(function.__name__, lambda: function)


for _function in (batch_matmul_legalize, conv2d_legalize, conv2d_transpose_legalize, dense_legalize, matmul_legalize):
    _publish(_function)
