"""Convolutions over channels in blocks: ``nn.contrib_conv2d_NCHWc``, ``nn.contrib_depthwise_conv2d_NCHWc``.

They are what ``nn.conv2d`` becomes where vectors are as wide as a block; its rule for that stands here too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.relay.expr import Call, Expr
from compiler.relay.op.nn.conv import (
    CONV2D,
    conv_attrs,
    conv_complete,
    conv_layout,
    conv_reference,
    conv_relation,
    spec_of,
)
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern
from compiler.topi.nn import conv_packed as topi
from compiler.topi.schedules.kit import tile_lanes
from compiler.topi.schedules.x86.conv import schedule_conv

_NARROW = 4
"""Channels that a block must have for vectors to be worth it."""


def _register(name: str, doc: str, compute: Callable[..., Any]) -> Any:
    return register(
        name,
        doc=doc,
        inputs=("data", "kernel"),
        attributes={
            **{n: f.given_default for n, f in CONV2D.op.attributes.items()},
            "data_layout": "NCHW16c",
            "kernel_layout": "OIHW16i16o",
        },
        relation=conv_relation,
        complete=conv_complete,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=lambda attrs, inputs, out_type: [compute(inputs[0], inputs[1], spec_of(attrs, inputs[0].dtype))],
        schedule=schedule_conv,
        reference=conv_reference,
        layout=conv_layout,
        waived={"gradient": "made by the layout pass, after differentiation"},
    )


_PACKED = _register(
    "nn.contrib_conv2d_NCHWc", "Convolution over images whose channels stand in blocks.", topi.conv2d_nchwc
)
_DEPTHWISE = _register(
    "nn.contrib_depthwise_conv2d_NCHWc",
    "Convolution of each channel with its own kernel, channels standing in blocks.",
    topi.depthwise_conv2d_nchwc,
)


def _block(channels: int, width: int) -> int:
    """Return how many channels make a block: a vector, part of one, or what divides them."""
    halves = [width >> i for i in range(width.bit_length()) if width >> i >= _NARROW]
    return next((b for b in halves if channels % b == 0), next(d for d in range(width, 0, -1) if channels % d == 0))


def pack_conv2d(call: Call, types: Sequence[Any], target: Any) -> Any:
    """Return a convolution with its channels in blocks as wide as the target's vectors, or None.

    The arguments are left as they are: the attributes say what layouts they have to be brought into.
    """
    attrs = call.attrs
    plain = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW") == ("NCHW", "OIHW", "NCHW")
    if not plain or target.kind != "llvm" or types[0].dtype != "float32" or not all(t.is_static for t in types[:2]):
        return None
    channels, outputs = types[0].dims[1], types[1].dims[0]
    width = tile_lanes(target)
    inner, outer = _block(channels, width), _block(outputs, width)
    depthwise = attrs.groups == channels == outputs and channels > 1
    if outer < _NARROW or (attrs.groups > 1 and not depthwise):
        return None
    names = {"data_layout": f"NCHW{inner}c", "out_layout": f"NCHW{outer}c"}
    names["kernel_layout"] = f"OIHW1i{outer}o" if depthwise else f"OIHW{inner}i{outer}o"
    return (_DEPTHWISE if depthwise else _PACKED).op(*call.args, **{**attrs, **names})


CONV2D.op.alter_layout = pack_conv2d


def contrib_conv2d_nchwc(
    data: Expr,
    kernel: Expr,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Any = None,
    data_layout: str = "NCHW8c",
    kernel_layout: str = "OIHW8i8o",
    out_layout: str = "",
    out_dtype: str = "",
) -> Call:
    """Return the convolution of ``(N, C / i, H, W, i)`` with ``(O / o, C / i, kh, kw, i, o)``.

    See :func:`~compiler.relay.op.nn.conv.conv2d` for the parameters.
    """
    attrs = conv_attrs(2, channels, kernel_size, strides=strides, padding=padding, dilation=dilation)
    names = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    return _PACKED(data, kernel, groups=groups, out_dtype=out_dtype, **names, **attrs)  # type: ignore[no-any-return]


def contrib_depthwise_conv2d_nchwc(
    data: Expr,
    kernel: Expr,
    strides: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Any = None,
    data_layout: str = "NCHW8c",
    kernel_layout: str = "OIHW1i8o",
    out_layout: str = "",
    out_dtype: str = "",
) -> Call:
    """Return the convolution of each channel of ``(N, C / c, H, W, c)`` with its own kernel.

    See :func:`~compiler.relay.op.nn.conv.conv2d` for the parameters.
    """
    attrs = conv_attrs(2, channels, kernel_size, strides=strides, padding=padding, dilation=dilation)
    names = {"data_layout": data_layout, "kernel_layout": kernel_layout, "out_layout": out_layout}
    return _DEPTHWISE(data, kernel, groups=groups, out_dtype=out_dtype, **names, **attrs)  # type: ignore[no-any-return]
