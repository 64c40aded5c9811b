"""The preferred layout of ``nn.conv2d`` on a target: channels in blocks of the vector width."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.attrs import Attrs
from compiler.ir.expr import RelayExpr
from compiler.ir.extension import extension_point
from compiler.ir.types import Type
from compiler.relay.expr import Call
from compiler.relay.op.nn.conv_attrs import ConvAttrs
from compiler.relay.operator import call_op
from compiler.relay.ty import TensorType
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn.product_sums import NARROW, has_byte_products, has_pair_products, has_tiles, products_per_step
from compiler.topi.schedules.kit import tile_lanes

_PAIRS = {("int16", "int32"), ("bfloat16", "float32")}
"""Data types of data and of sums where pairs of products are added at once."""
_WIDENED = {("int16", "int32"), ("bfloat16", "float32"), ("float16", "float32")}
"""Those where vectors of the data are widened as they are loaded, each for several products."""
_FOUR = 4
"""Bytes whose products are added at once."""
_NARROW = 4
"""Channels that a block must have for vectors to be worth it."""


_MAX_VECTORS = 6
"""Vectors of a block: a tile of as many has columns enough for the loads of its weights."""
_CROSSING = 1.15
"""How much longer vectors take, many of which cross a line of the cache."""


def _block(channels: int, width: int, most: int = 1) -> int:
    """Return how many channels make a block: a vector, part of one, or what divides the channels.

    With ``most`` it may be as many vectors, the last of which is partial, where less of them is then left empty.
    """
    if most > 1:
        sizes = [d for d in range(1, most * width + 1) if channels % d == 0]
        half = width // 2
        return min(sizes, key=lambda d: (-(-d // width) / d * (_CROSSING if d > half and d % half else 1), d % 4, d))
    halves = [width >> i for i in range(width.bit_length()) if width >> i >= _NARROW]
    return next((b for b in halves if channels % b == 0), next(d for d in range(width, 0, -1) if channels % d == 0))


def alter_conv2d_layout(call: Call, types: Sequence[TensorType], target: Target) -> Call | None:
    """Return a convolution with its channels in blocks as wide as the target's vectors, or None.

    The arguments are left as they are: the attributes say what layouts they have to be brought into.
    """
    attrs = ConvAttrs.of(call)
    plain = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW") == ("NCHW", "OIHW", "NCHW")
    depthwise = attrs.groups == types[0].dims[1] == types[1].dims[0] and attrs.groups > 1
    known = _WIDENED if depthwise else _PAIRS
    bytewise = attrs.out_dtype == "int32" and has_byte_products(target, types[0].dtype, types[1].dtype)
    in_half = types[0].dtype == types[1].dtype == "float16" == (attrs.out_dtype or "float16")
    fast = types[0].dtype == "float32" or in_half or bytewise or (types[0].dtype, attrs.out_dtype) in known
    channels = types[0].dims[1]
    if not plain or target.kind != "llvm" or not fast or not types[1].is_static or not isinstance(channels, int):
        return None
    outputs = types[1].concrete_shape[0]
    if channels != types[1].concrete_shape[1] * attrs.groups:
        return None  # several kernels for each channel
    width = tile_lanes(target, "float16" if in_half else "float32") * _vectors_of_a_row(types[0].dtype, target)
    groups = 1 if depthwise else attrs.groups
    most = _MAX_VECTORS if types[0].dtype == "float32" and width > _NARROW else 1
    inner, outer = (_block(number // groups, width, most) for number in (channels, outputs))
    taps = _FOUR if bytewise and not depthwise and channels % _FOUR and types[1].concrete_shape[3] % _FOUR == 0 else 1
    inner = inner if taps == 1 else 1
    if outer < (_NARROW if groups == 1 else tile_lanes(target)):
        return None  # narrow groups are faster with vectors along rows
    names = {"data_layout": f"NCHW{inner}c", "out_layout": f"NCHW{outer}c"}
    if depthwise:
        names["kernel_layout"] = f"OIHW1i{outer}o"
    elif taps > 1:
        names["kernel_layout"] = f"OIHW1i{outer}o{taps}w"
    elif (step := _step(inner, types, target)) > 1:
        names["kernel_layout"] = f"OIHW{inner // step}i{outer}o{step}i"
    else:
        names["kernel_layout"] = f"OIHW{inner}i{outer}o"
    packed = "nn.contrib_depthwise_conv2d_NCHWc" if depthwise else "nn.contrib_conv2d_NCHWc"
    return call_op(packed, *call.args, **{**attrs, **names})


def _vectors_of_a_row(dtype: str, target: Target) -> int:
    """Return of how many vectors of float32 a row of a tile register has the channels, if a target has such."""
    if dtype == "bfloat16":
        return 2 if has_tiles(target, dtype) else 1
    return 4 if dtype in NARROW and has_tiles(target, "int8") else 1


def _step(channels: int, types: Sequence[TensorType], target: Target) -> int:
    """Return how many products of a block of channels are added at once, for which they stand side by side."""
    dtypes = [t.dtype for t in types[:2]]
    if dtypes[0] == "int16":
        return 2 if channels % 2 == 0 and has_pair_products(target) else 1
    with target:
        return products_per_step(channels, dtypes, "float32" if dtypes[0] == "bfloat16" else "int32")


def conv2d_alter_layout(
    attrs: Attrs, inputs: Sequence[RelayExpr], tinfos: Sequence[Tensor], out_type: Type
) -> Call | None:
    """Return a convolution in the layout that the current target likes, as ``FTVMAlterOpLayout`` takes it, or None."""
    types = [TensorType(t.shape, t.dtype) for t in tinfos]
    return alter_conv2d_layout(call_op("nn.conv2d", *inputs, **attrs), types, Target.target_or_current(None))


extension_point("tvm.topi.nn").add("conv2d_alter_layout", lambda: conv2d_alter_layout)
