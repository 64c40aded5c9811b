"""Sliding-window operators: convolution, pooling, padding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.registry import Convert, converter, converters
from compiler.relay.frontend.pytorch.tensors import (
    constant,
    extents,
    ops,
    rank_of,
    repeated,
    reshape,
    static_shape,
    unsqueeze,
)
from compiler.relay.frontend.pytorch.values import Ints, Scalar, Size, TorchValue
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.tensors import pad as padded
from compiler.relay.frontend.shared.tensors import static_dims
from compiler.relay.frontend.shared.windows import sum_of_windows, windows_along

_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


def _both_sides(padding: Sequence[int]) -> list[int]:
    return [*padding, *padding]


def _same(kernel: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """Return ``same`` padding; an odd element is added after."""
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    return [t // 2 for t in total] + [t - t // 2 for t in total]


def convolution(x: RelayExpr, weight: RelayExpr, bias: RelayExpr | None = None, stride: Ints = 1,
                padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1) -> RelayExpr:  # fmt: skip
    """Build a convolution, whose rank follows from that of the weight."""
    count = rank_of(weight) - 2
    if rank_of(x) == count + 1:
        return ops.squeeze(convolution(unsqueeze(x, [0]), weight, bias, stride, padding, dilation, groups), axis=[0])
    outputs, _, *kernel = static_shape(weight)
    steps, holes = repeated(stride, count), repeated(dilation, count)
    around = {"same": _same(kernel, holes), "valid": [0] * 2 * count}.get(padding) if isinstance(padding, str) else None
    letters = _LETTERS[count]
    y = ops.nn[f"conv{count}d"](
        x,
        weight,
        strides=steps,
        padding=around if isinstance(padding, str) else _both_sides(repeated(padding, count)),
        dilation=holes,
        groups=groups,
        channels=outputs,
        kernel_size=kernel,
        data_layout=f"NC{letters}",
        kernel_layout=f"OI{letters}",
    )
    return y if bias is None else ops.nn.bias_add(y, bias, axis=1)


def transposed(x: RelayExpr, weight: RelayExpr, bias: RelayExpr | None = None, stride: Ints = 1, padding: Ints = 0,
               output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1) -> RelayExpr:  # fmt: skip
    """Build a transposed convolution, whose rank follows from that of the weight."""
    count = rank_of(weight) - 2
    if rank_of(x) == count + 1:
        whole = transposed(unsqueeze(x, [0]), weight, bias, stride, padding, output_padding, groups, dilation)
        return ops.squeeze(whole, axis=[0])
    _, outputs, *kernel = static_shape(weight)
    letters = _LETTERS[count]
    y = ops.nn[f"conv{count}d_transpose"](
        x,
        weight,
        strides=repeated(stride, count),
        padding=_both_sides(repeated(padding, count)),
        dilation=repeated(dilation, count),
        groups=groups,
        channels=outputs * groups,
        kernel_size=kernel,
        data_layout=f"NC{letters}",
        kernel_layout=f"IO{letters}",
        output_padding=repeated(output_padding, count),
    )
    return y if bias is None else ops.nn.bias_add(y, bias, axis=1)


converters({"conv1d conv2d conv3d": convolution, "conv_transpose1d conv_transpose2d conv_transpose3d": transposed})


@converter("_convolution", "convolution", "convolution_overrideable")
def _convolution(x: RelayExpr, weight: RelayExpr, bias: RelayExpr, stride: Ints, padding: Ints, dilation: Ints,
                 transposed_: bool = False, output_padding: Ints = 0, groups: int = 1,
                 **flags: object) -> RelayExpr:  # fmt: skip
    if flags.get("transposed", transposed_):
        return transposed(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return convolution(x, weight, bias, stride, padding, dilation, groups)


@converter("_convolution_mode")
def _convolution_mode(
    x: RelayExpr, weight: RelayExpr, bias: RelayExpr, stride: Ints, padding: str, dilation: Ints, groups: int
) -> RelayExpr:
    return convolution(x, weight, bias, stride, padding, dilation, groups)


# pooling


def in_batches(pool: Convert, count: int) -> Convert:
    """Return a pooling converter that also accepts a single image without a batch axis."""

    def convert(x: RelayExpr, **arguments: TorchValue) -> TorchValue:
        if rank_of(x) != count + 1:
            return pool(x, count, **arguments)
        y = pool(unsqueeze(x, [0]), count, **arguments)
        parts = tuple(ops.squeeze(part, axis=[0]) for part in (y if isinstance(y, tuple) else (y,)))
        return parts if isinstance(y, tuple) else parts[0]

    return convert


def steps_of(kernel: list[int], stride: Ints | None, count: int) -> list[int]:
    return repeated(stride, count) if stride is not None and len(extents(stride)) else kernel


def max_pool(x: RelayExpr, count: int, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
             dilation: Ints = 1, ceil_mode: bool = False) -> RelayExpr:  # fmt: skip
    kernel = repeated(kernel_size, count)
    return ops.nn[f"max_pool{count}d"](
        x,
        pool_size=kernel,
        strides=steps_of(kernel, stride, count),
        dilation=repeated(dilation, count),
        padding=_both_sides(repeated(padding, count)),
        ceil_mode=ceil_mode,
    )


def _avg_pool(x: RelayExpr, count: int, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
              ceil_mode: bool = False, count_include_pad: bool = True,
              divisor_override: int | None = None) -> RelayExpr:  # fmt: skip
    kernel = repeated(kernel_size, count)
    y = ops.nn[f"avg_pool{count}d"](
        x,
        pool_size=kernel,
        strides=steps_of(kernel, stride, count),
        padding=_both_sides(repeated(padding, count)),
        ceil_mode=ceil_mode and divisor_override is None,
        count_include_pad=count_include_pad or divisor_override is not None,
    )
    if divisor_override is None:
        return y
    if ceil_mode:
        raise ConversionError("divisor_override together with ceil_mode is not supported")
    return ops.multiply(y, math.prod(kernel) / divisor_override)


def adaptive(kind: str) -> Callable[[RelayExpr, int, Ints], RelayExpr]:
    def pool(x: RelayExpr, count: int, output_size: Size | Sequence[Size | None] | None) -> RelayExpr:
        sizes = list(output_size) if isinstance(output_size, Sequence) else [output_size]
        sizes = sizes * count if len(sizes) == 1 else sizes
        target = [static_dims(x, "the input", [i + 2])[0] if s is None else s for i, s in enumerate(sizes)]
        return ops.nn[f"adaptive_{kind}_pool{count}d"](x, output_size=extents(target))

    return pool


for _count in (1, 2, 3):
    converters(
        {
            f"max_pool{_count}d": in_batches(max_pool, _count),
            f"avg_pool{_count}d": in_batches(_avg_pool, _count),
            f"adaptive_avg_pool{_count}d _adaptive_avg_pool{_count}d": in_batches(adaptive("avg"), _count),
        }
    )


# padding


def _around(pad: Ints, rank: int) -> list[tuple[int, int]]:
    """Return the padding per axis, from PyTorch's order, which starts with the last axis."""
    numbers = extents(pad)
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))[::-1]
    return [(0, 0)] * (rank - len(pairs)) + pairs


converters({"constant_pad_nd": lambda x, pad, value=0: padded(x, _around(pad, rank_of(x)), fill=value)})


_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@converter("pad")
def _pad(x: RelayExpr, pad: Ints, mode: str = "constant", value: Scalar | None = None) -> RelayExpr:
    return padded(x, _around(pad, rank_of(x)), _MODES[mode], value)


for _count in (1, 2, 3):
    for _kind, _mode in (("reflection", "reflect"), ("replication", "edge")):
        converter(f"{_kind}_pad{_count}d")(lambda x, padding, mode=_mode: padded(x, _around(padding, rank_of(x)), mode))


@converter("im2col")
def _im2col(x: RelayExpr, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> RelayExpr:
    kernel, holes, around, steps = (repeated(v, 2) for v in (kernel_size, dilation, padding, stride))
    wide = padded(x, [(0, 0), (0, 0), *((p, p) for p in around)]) if any(around) else x
    batch, channels, *sizes = static_shape(wide)
    places = [each.T for each in map(windows_along, sizes, kernel, steps, holes, (0, 0), (0, 0))]
    rows = ops.take(wide, constant(places[0], "int64"), axis=2)
    grid = ops.take(rows, constant(places[1], "int64"), axis=4)
    ordered = ops.transpose(grid, axes=[0, 1, 2, 4, 3, 5])
    return reshape(ordered, [batch, channels * math.prod(kernel), math.prod(each.shape[1] for each in places)])


@converter("col2im")
def _col2im(
    x: RelayExpr, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> RelayExpr:
    image, *rest = (repeated(v, 2) for v in (output_size, kernel_size, stride, dilation, padding, padding))
    batched = x if rank_of(x) == 3 else unsqueeze(x, [0])
    summed = sum_of_windows(batched, image, list(map(windows_along, image, *rest)))
    return summed if rank_of(x) == 3 else reshape(summed, static_shape(summed)[1:])
