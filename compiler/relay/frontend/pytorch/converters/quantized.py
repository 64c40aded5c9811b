"""Quantized layers."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.converters.matmul import linear
from compiler.relay.frontend.pytorch.quantization import QuantizedTensor, quantized, real, scales_of, with_scales
from compiler.relay.frontend.pytorch.registry import Convert, converter, converters, find
from compiler.relay.frontend.pytorch.tensors import constant, dims_of, number, ops, rank_of, repeated, reshape
from compiler.relay.frontend.pytorch.values import TorchValue, as_expr
from compiler.relay.frontend.pytorch.weights import PackedWeight
from compiler.relay.frontend.shared.activations import hard_swish
from compiler.relay.frontend.shared.errors import ConversionError


def _units(x: RelayExpr) -> QuantizedTensor:
    q = scales_of(x)
    if q is None:
        raise ConversionError("its input must be quantized")
    return q


def _like(q: QuantizedTensor, x: RelayExpr) -> RelayExpr:
    """Quantize a result by the parameters of an operand."""
    return quantized(x, q.scale, q.zero, q.dtype)


converters(
    {
        "quantize_per_tensor": lambda x, scale, zero_point, dtype: quantized(
            x, number(scale, "the scale"), int(number(zero_point, "the zero point")), dtype
        ),
        "dequantize": real,
        "int_repr": lambda x: x,
        "quantized::add_scalar": lambda qa, other: _like(_units(qa), ops.add(real(qa), float(other))),
        "quantized::relu6": lambda qx, inplace=False: _like(_units(qx), ops.clip(real(qx), 0.0, 6.0)),
        "quantized::hardswish": lambda input, output_scale, output_zero_point: quantized(
            hard_swish(real(input)), output_scale, output_zero_point, _units(input).dtype
        ),
        "quantized::cat": lambda qx, dim, scale, zero_point: quantized(
            ops.concatenate([real(x) for x in qx], axis=dim), scale, zero_point, _units(qx[0]).dtype
        ),
    }
)


def _requantized(
    total: RelayExpr, q: QuantizedTensor, weight: PackedWeight, scale: float, zero: int, relu: bool, axis: int
) -> RelayExpr:
    """Add a bias to accumulators, and requantize them to the scale of the result."""
    units = (np.float32(q.scale) * weight.scales).astype("float32")
    if weight.bias is not None:
        total = ops.nn.bias_add(total, constant(np.rint(weight.bias / units).astype("int32")), axis=axis)
    out = QuantizedTensor(float(scale), int(zero), q.dtype)
    given = units[0] if (units == units[0]).all() else units
    y = ops.qnn.requantize(
        total,
        constant(given),
        constant(0, "int32"),
        *out.parameters,
        axis=axis,
        out_dtype=q.dtype,
        rounding="TONEAREST",
    )
    if relu:
        y = ops.maximum(y, constant(out.zero, out.dtype))
    return with_scales(y, out)


def _convolution(count: int, relu: bool) -> Convert:
    def convert(qx: RelayExpr, packed_weight: PackedWeight, output_scale: float, output_zero_point: int) -> RelayExpr:
        q, w = _units(qx), packed_weight
        if count != 2:
            raise ConversionError("only quantized convolutions over two axes are supported")
        total = ops.qnn.conv2d(
            qx,
            w.integers(),
            constant(q.zero, "int32"),
            constant(0, "int32"),
            constant(q.scale, "float32"),
            constant(w.scales),
            kernel_size=w.shape[2:],
            channels=w.shape[0],
            strides=w.windows["stride"],
            padding=tuple(repeated(w.windows["padding"], 2) * 2),
            dilation=w.windows["dilation"],
            groups=w.windows["groups"],
            out_dtype="int32",
        )
        return _requantized(total, q, w, output_scale, output_zero_point, relu, 1)

    return convert


converters({f"quantized::conv{n}d{end}": _convolution(n, bool(end)) for n in (1, 2, 3) for end in ("", "_relu")})


def _dense(relu: bool) -> Convert:
    def convert(x: RelayExpr, W_prepack: PackedWeight, Y_scale_i: float, Y_zero_point_i: int) -> RelayExpr:
        q, w = _units(x), W_prepack
        rows = x if rank_of(x) == 2 else reshape(x, [-1, dims_of(x)[-1]])
        total = ops.qnn.dense(
            rows,
            w.integers(),
            constant(q.zero, "int32"),
            constant(0, "int32"),
            constant(q.scale, "float32"),
            constant(w.scales),
            units=w.shape[0],
            out_dtype="int32",
        )
        y = _requantized(total, q, w, Y_scale_i, Y_zero_point_i, relu, 1)
        if rank_of(x) == 2:
            return y
        return with_scales(reshape(y, [*dims_of(x)[:-1], w.shape[0]]), _units(y))

    return convert


converters({"quantized::linear": _dense(False), "quantized::linear_relu": _dense(True)})


def _dynamic(relu: bool) -> Convert:
    def convert(X: RelayExpr, W_prepack: PackedWeight, reduce_range: bool = False) -> RelayExpr:
        """Quantize the input by its range, to seven bits if ``reduce_range`` is set."""
        top = 127.0 if reduce_range else 255.0
        low, high = ops.minimum(ops.min(X), 0.0), ops.maximum(ops.max(X), 0.0)
        scale = ops.maximum(ops.divide(ops.subtract(high, low), top), float(np.finfo(np.float32).tiny))
        zero = ops.clip(ops.round(ops.divide(ops.negative(low), scale)), 0.0, top)
        codes = ops.clip(ops.add(ops.round(ops.divide(X, scale)), zero), 0.0, top)
        y = linear(ops.multiply(ops.subtract(codes, zero), scale), W_prepack.real(), W_prepack.bias_constant())
        return ops.nn.relu(y) if relu else y

    return convert


converters({"quantized::linear_dynamic": _dynamic(False), "quantized::linear_relu_dynamic": _dynamic(True)})


def _elementwise(function: str, relu: bool) -> Convert:
    def convert(qa: RelayExpr, qb: RelayExpr, scale: float, zero_point: int) -> RelayExpr:
        y = ops[function](real(qa), real(qb))
        return quantized(ops.nn.relu(y) if relu else y, scale, zero_point, _units(qa).dtype)

    return convert


converters(
    {
        f"quantized::{name}{end}": _elementwise(function, bool(end))
        for name, function in (("add", "add"), ("mul", "multiply"))
        for end in ("", "_relu")
    }
)


@converter("quantized::mul_scalar")
def _mul_scalar(qa: RelayExpr, other: float) -> RelayExpr:
    """Scale the quantization parameters, which requires a positive factor."""
    q = _units(qa)
    if other <= 0:
        raise ConversionError(f"a product with {other} is not supported, only with positive numbers")
    return with_scales(ops.copy(qa), QuantizedTensor(q.scale * other, q.zero, q.dtype))


@converter("quantized::leaky_relu")
def _leaky_relu(
    qx: RelayExpr, negative_slope: float, inplace: bool, output_scale: float, output_zero_point: int
) -> RelayExpr:
    y = ops.nn.leaky_relu(real(qx), negative_slope)
    return quantized(y, output_scale, output_zero_point, _units(qx).dtype)


def _of_reals(name: str) -> Convert:
    """Return a converter that dequantizes, applies a floating-point converter, and quantizes."""

    def convert(x: RelayExpr, output_scale: float, output_zero_point: int, **arguments: TorchValue) -> RelayExpr:
        compute = find(name)
        assert compute is not None
        return quantized(as_expr(compute(real(x), **arguments)), output_scale, output_zero_point, _units(x).dtype)

    return convert


converters(
    {f"quantized::{name}": _of_reals(f"aten::{name}") for name in ("elu", "group_norm", "instance_norm", "layer_norm")}
)


@converter("quantized::batch_norm2d", "quantized::batch_norm3d", "quantized::batch_norm")
def _batch_norm(qx: RelayExpr, weight: RelayExpr, bias: RelayExpr, mean: RelayExpr, var: RelayExpr, eps: float,
                output_scale: float, output_zero_point: int) -> RelayExpr:  # fmt: skip
    compute = find("aten::batch_norm")
    assert compute is not None
    y = compute(real(qx), weight=weight, bias=bias, running_mean=mean, running_var=var, training=False, eps=eps)
    return quantized(as_expr(y), output_scale, output_zero_point, _units(qx).dtype)
