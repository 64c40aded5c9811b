"""Specifications of convolutions from the arguments of ``tvm.topi.nn``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.error import ArgumentError, show
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.nn.convolution.conv import ConvSpec, spatial_letters
from compiler.topi.nn.padding import Padding, pad_edges
from compiler.topi.operands import dims

Numbers = int | Sequence[int]


def numbers_of(function: str, name: str, value: Numbers, count: int) -> tuple[int, ...]:
    """Expand an argument to one number per spatial dimension."""
    numbers = tuple(int(n) for n in value) if isinstance(value, Sequence) else (int(value),)
    if len(numbers) not in (1, count):
        raise ArgumentError(f"{function}: {name} must be a number or {count}, got {show(value)}")
    return numbers * count if len(numbers) == 1 else numbers


def conv_spec(
    function: str,
    kernel: Tensor,
    numbers: tuple[Numbers, Padding, Numbers],
    layouts: tuple[str, str],
    groups: int,
    out_dtype: str,
) -> ConvSpec:
    """Build the specification of a convolution from arguments in the form of ``tvm.topi.nn``."""
    spatial = spatial_letters(layouts[0])
    strides, padding, dilation = numbers
    steps = numbers_of(function, "dilation", dilation, len(spatial))
    taps = layout(layouts[1]).extents(dims(kernel))
    reach = [(taps[letter] - 1) * d + 1 for letter, d in zip(spatial, steps, strict=True)]
    before, after = pad_edges(function, padding, reach)
    return ConvSpec(
        strides=numbers_of(function, "strides", strides, len(spatial)),
        dilation=steps,
        before=before,
        after=after,
        groups=int(groups),
        data_layout=layouts[0],
        kernel_layout=layouts[1],
        out_layout=layouts[0],
        out_dtype=out_dtype,
    )
