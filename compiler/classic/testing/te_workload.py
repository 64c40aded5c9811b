"""Common operators as tensor expressions, for tests of schedules: ``tvm.meta_schedule.testing.te_workload``."""

from __future__ import annotations

from compiler import te
from compiler.ir.expr.primexpr import ExprLike, PrimExpr, Var, cast
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn.elementwise import relu
from compiler.topi.nn.pad import pad


def matmul(
    n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the operands and the product of an ``n × k`` and a ``k × m`` matrix."""
    a = te.placeholder((n, k), name="A", dtype=in_dtype)
    b = te.placeholder((k, m), name="B", dtype=in_dtype)
    at = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (n, m), lambda i, j: te.sum(_as(a[i, at], out_dtype) * _as(b[at, j], out_dtype), axis=[at]), name="C"
    )
    return a, b, c


def matmul_relu(
    n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the operands of a product of matrices, and its elements with zeros for the negative ones."""
    a, b, c = matmul(n, m, k, in_dtype, out_dtype)
    return a, b, relu(c)


def batch_matmul_nkkm(
    B: int, N: int, M: int, K: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the operands and the products of ``B`` pairs of an ``N × K`` and a ``K × M`` matrix."""
    x = te.placeholder((B, N, K), name="X", dtype=in_dtype)
    y = te.placeholder((B, K, M), name="Y", dtype=in_dtype)
    k = te.reduce_axis((0, K), name="k")
    z = te.compute(
        (B, N, M), lambda b, i, j: te.sum(_as(x[b, i, k], out_dtype) * _as(y[b, k, j], out_dtype), axis=[k]), name="Z"
    )
    return x, y, z


def conv1d_nlc(
    N: int,
    L: int,
    CI: int,
    CO: int,
    kernel_size: int,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> tuple[Tensor, Tensor, Tensor]:
    """Return data, weights and result of a convolution along one dimension, channels last."""
    data = te.placeholder((N, L, CI), name="inputs", dtype=in_dtype)
    weight = te.placeholder((kernel_size, CI // groups, CO), name="weight", dtype=in_dtype)
    length = _length(L, kernel_size, stride, padding, dilation)
    rl, rc = te.reduce_axis((0, kernel_size), name="rl"), te.reduce_axis((0, CI // groups), name="rc")
    padded = pad(data, [0, padding, 0], name="PadInput")

    def element(n: Var, at: Var, co: Var) -> PrimExpr:
        channel = co // (CO // groups) * (CI // groups) + rc
        value = padded[n, at * stride + rl * dilation, channel]
        return te.sum(_as(value, out_dtype) * _as(weight[rl, rc, co], out_dtype), axis=[rl, rc])

    return data, weight, te.compute((N, length, CO), element, name="conv1d_nlc")


def conv2d_nhwc(
    N: int,
    H: int,
    W: int,
    CI: int,
    CO: int,
    kernel_size: int,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> tuple[Tensor, Tensor, Tensor]:
    """Return data, weights and result of a convolution of images, from ``CI`` to ``CO`` channels, which are last."""
    data = te.placeholder((N, H, W, CI), name="inputs", dtype=in_dtype)
    weight = te.placeholder((kernel_size, kernel_size, CI // groups, CO), name="weight", dtype=in_dtype)
    rows, columns = (_length(size, kernel_size, stride, padding, dilation) for size in (H, W))
    rh, rw = te.reduce_axis((0, kernel_size), name="rh"), te.reduce_axis((0, kernel_size), name="rw")
    rc = te.reduce_axis((0, CI // groups), name="rc")
    padded = pad(data, [0, padding, padding, 0], name="PadInput")

    def element(n: Var, h: Var, w: Var, co: Var) -> PrimExpr:
        channel = co // (CO // groups) * (CI // groups) + rc
        value = padded[n, h * stride + rh * dilation, w * stride + rw * dilation, channel]
        return te.sum(_as(value, out_dtype) * _as(weight[rh, rw, rc, co], out_dtype), axis=[rh, rw, rc])

    return data, weight, te.compute((N, rows, columns, CO), element, name="conv2d_nhwc")


def norm_bmn(B: int, M: int, N: int) -> tuple[Tensor, Tensor]:
    """Return matrices, and the square root of the sum of squares of each."""
    a = te.placeholder((B, M, N), name="A")
    i, j = te.reduce_axis((0, M), name="i"), te.reduce_axis((0, N), name="j")
    c = te.compute((B,), lambda b: te.sum(a[b, i, j] * a[b, i, j], axis=[i, j]), name="C")
    return a, te.compute((B,), lambda b: te.sqrt(c[b]), name="D")


def _as(value: ExprLike, dtype: str) -> PrimExpr:
    return cast(dtype, value)


def _length(size: int, kernel_size: int, stride: int, padding: int, dilation: int) -> int:
    return (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1
