"""``tvm.topi.nn.pooling``: pooling with explicit attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.error import ArgumentError, expected
from compiler.ir.expr.primexpr import IntImm, PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.definitions import named
from compiler.topi.nn import pool
from compiler.topi.nn import pool_gradients as gradients
from compiler.topi.nn.convolution.conv import spatial_letters
from compiler.topi.operands import Extent, constant, dims

__all__ = [
    "adaptive_pool", "adaptive_pool1d", "adaptive_pool3d", "global_pool", "pool1d", "pool2d", "pool3d", "pool_grad",
]  # fmt: skip

Numbers = int | IntImm | Sequence[int | IntImm]
Pool = Callable[..., Tensor]


def _numbers(function: str, argument: str, given: Numbers, count: int) -> tuple[int, ...]:
    """Return as many ints as there are to be; a single one stands for all."""
    several = [given] * count if isinstance(given, (int, PrimExpr)) else list(given)
    if len(several) != count:
        expected(function, argument, f"{count} numbers", given)
    return tuple(constant(number, function) for number in several)


def _check_type(function: str, pool_type: str) -> None:
    if pool_type not in ("avg", "max"):
        expected(function, "pool_type", "'avg' or 'max'", pool_type)


def _windows(function: str, extent: Extent, reach: int, stride: int, ceil_mode: bool) -> Extent:
    """Return how many windows begin in a padded extent; the last one may reach over it in ``ceil_mode``."""
    room = extent - reach
    if isinstance(room, int) and room < 0:
        raise ArgumentError(f"{function}: a window spans {reach} elements, more than the {extent} of the data")
    return (room + (stride - 1 if ceil_mode else 0)) // stride + 1


def _spec(
    function: str, data: Tensor, kernel: Numbers, stride: Numbers, dilation: Numbers, padding: Numbers,
    ceil_mode: bool, name: str,
) -> pool.PoolSpec:  # fmt: skip
    letters = spatial_letters(name)
    rank, extents = len(letters), layout(name).extents(dims(data))
    kernels, strides = _numbers(function, "kernel", kernel, rank), _numbers(function, "stride", stride, rank)
    dilations, around = _numbers(function, "dilation", dilation, rank), _numbers(function, "padding", padding, 2 * rank)
    out = [
        _windows(
            function,
            extents[letter] + around[d] + around[d + rank],
            (kernels[d] - 1) * dilations[d] + 1,
            strides[d],
            ceil_mode,
        )
        for d, letter in enumerate(letters)
    ]
    return pool.PoolSpec(kernels, strides, dilations, around[:rank], around[rank:], tuple(out), name)


def _pooled(function: str, data: Tensor, spec: pool.PoolSpec, pool_type: str, count_include_pad: bool) -> Tensor:
    _check_type(function, pool_type)
    return pool.max_pool(data, spec) if pool_type == "max" else pool.avg_pool(data, spec, count_include_pad)


def _pool(name: str, default: str) -> Pool:
    def build(
        data: Tensor, kernel: Numbers, stride: Numbers, dilation: Numbers, padding: Numbers, pool_type: str,
        ceil_mode: bool = False, layout: str = default, count_include_pad: bool = True,
    ) -> Tensor:  # fmt: skip
        """Return the mean or the largest element of each window of data of a layout such as ``{layout}``.

        Raises ArgumentError if ``pool_type`` is another, or a window larger than the padded data.

        Parameters
        ----------
        kernel, stride, dilation : int or sequence of int
            The extents of a window, how far windows and the elements of one are apart.
        padding : int or sequence of int
            Elements around the data: all beginnings, then all ends.
        pool_type : str
            ``avg`` or ``max``.
        ceil_mode : bool
            Whether last windows that are not full give elements as well.
        count_include_pad : bool
            Whether elements of the padding count in a mean, as zeros.
        """
        spec = _spec(name, data, kernel, stride, dilation, padding, ceil_mode, layout)
        return _pooled(name, data, spec, pool_type, count_include_pad)

    return named(build, name, layout=default)


pool1d = _pool("pool1d", "NCW")
pool2d = _pool("pool2d", "NCHW")
pool3d = _pool("pool3d", "NCDHW")


def pool_grad(
    grads: Tensor, data: Tensor, kernel: Numbers, stride: Numbers, padding: Numbers, pool_type: str,
    ceil_mode: bool = False, count_include_pad: bool = True, layout: str = "NCHW",
) -> Tensor:  # fmt: skip
    """Return the gradient of the data of :func:`pool2d`, ``avg`` or ``max``, whose windows are not dilated."""
    _check_type("pool_grad", pool_type)
    spec = _spec("pool_grad", data, kernel, stride, 1, padding, ceil_mode, layout)
    if pool_type == "max":
        return gradients.max_pool_grad(grads, data, spec)
    return gradients.avg_pool_grad(grads, data, spec, count_include_pad)


def _kind(function: str, pool_type: str) -> str:
    _check_type(function, pool_type)
    return "mean" if pool_type == "avg" else "max"


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Return the mean (``avg``) or the largest element (``max``) of each channel, of a layout such as ``NCHW``."""
    return pool.global_pool(data, layout, _kind("global_pool", pool_type))


def _adaptive(name: str, default: str) -> Pool:
    def build(data: Tensor, output_size: Numbers, pool_type: str, layout: str = default) -> Tensor:
        """Return the mean (``avg``) or the largest element (``max``) of as many windows as there are to be elements.

        The data, of a layout such as ``{layout}``, have constant extents. Raises ArgumentError if ``pool_type`` is
        another, or the size has another number of dimensions.
        """
        out = _numbers(name, "output_size", output_size, len(spatial_letters(layout)))
        return pool.adaptive_pool(data, out, layout, _kind(name, pool_type))

    return named(build, name, layout=default)


adaptive_pool = _adaptive("adaptive_pool", "NCHW")
adaptive_pool1d = _adaptive("adaptive_pool1d", "NCW")
adaptive_pool3d = _adaptive("adaptive_pool3d", "NCDHW")
