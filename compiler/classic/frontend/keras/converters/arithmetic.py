"""Elementwise functions and reductions of ``keras.ops``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.registry import Convert, functions
from compiler.classic.frontend.shared.angles import atan2
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops, rank_of, scalar
from compiler.relay.frontend.shared.tensors import cast

__all__ = ["operands"]


def _real(layer: Layer) -> RelayExpr:
    """Convert integers to Keras's floating-point type."""
    x = layer.x
    return x if dtype_of(x).startswith(("float", "bfloat")) else cast(x, str(layer.source.output.dtype))


def _unary(compute: Callable[[RelayExpr], RelayExpr]) -> Convert:
    return lambda layer: compute(layer.x)


def _of_reals(compute: Callable[[RelayExpr], RelayExpr]) -> Convert:
    return lambda layer: compute(_real(layer))


def _expm1(x: RelayExpr) -> RelayExpr:
    return ops.subtract(ops.exp(x), 1.0)


functions(
    {
        "Absolute": _unary(ops.abs), "Abs": _unary(ops.abs), "Negative": _unary(ops.negative),
        "Sign": _unary(ops.sign), "Square": _unary(lambda x: ops.multiply(x, x)),
        "Floor": _of_reals(ops.floor), "Ceil": _of_reals(ops.ceil), "Trunc": _of_reals(ops.trunc),
        "Exp": _of_reals(ops.exp), "Exp2": _of_reals(lambda x: ops.power(scalar(2, x), x)), "Expm1": _of_reals(_expm1),
        "Log": _of_reals(ops.log), "Log2": _of_reals(ops.log2), "Log10": _of_reals(ops.log10),
        "Log1p": _of_reals(lambda x: ops.log(ops.add(x, 1.0))),
        "Sqrt": _of_reals(ops.sqrt), "Rsqrt": _of_reals(ops.rsqrt),
        "Reciprocal": _of_reals(lambda x: ops.divide(scalar(1, x), x)),
        "Sin": _of_reals(ops.sin), "Cos": _of_reals(ops.cos), "Tan": _of_reals(ops.tan),
        "Arcsin": _of_reals(ops.asin), "Arccos": _of_reals(ops.acos), "Arctan": _of_reals(ops.atan),
        "Sinh": _of_reals(ops.sinh), "Cosh": _of_reals(ops.cosh),
        "Arcsinh": _of_reals(ops.asinh), "Arccosh": _of_reals(ops.acosh), "Arctanh": _of_reals(ops.atanh),
        "Erf": _of_reals(ops.erf), "Isnan": _of_reals(ops.isnan), "Isfinite": _of_reals(ops.isfinite),
        "Isinf": _of_reals(ops.isinf),
        "LogicalNot": _unary(lambda x: ops.logical_not(cast(x, "bool"))),
        "ZerosLike": _unary(ops.zeros_like), "OnesLike": _unary(ops.ones_like),
    }
)  # fmt: skip


def _round(layer: Layer) -> RelayExpr:
    decimals = int(layer.option("decimals", 0))
    x = _real(layer)
    return (
        ops.nearbyint(x) if not decimals else ops.divide(ops.nearbyint(ops.multiply(x, 10.0**decimals)), 10.0**decimals)
    )


functions({"Round": _round})


def operands(layer: Layer, values: Sequence[object] | None = None) -> list[RelayExpr]:
    """Return the arguments of a function as tensors of a common data type, in Keras's axis order."""
    given = list(layer.positional if values is None else values)
    kinds = [np.dtype(dtype_of(v)) for v in given if isinstance(v, RelayExpr)]
    arrays = [np.asarray(v) for v in given if not isinstance(v, RelayExpr)]
    if any(a.dtype.kind not in "biuf" for a in arrays):
        raise ModelError(f"its arguments must be tensors, numbers or arrays, got {given!r}")
    dtype = np.result_type(*kinds) if kinds else np.dtype("float32")
    if dtype.kind != "f" and (any(a.dtype.kind == "f" for a in arrays) or len({k.kind for k in kinds} | {"f"}) > 2):
        dtype = np.dtype("float32")
    elif dtype.kind == "f":
        dtype = max((k for k in kinds if k.kind == "f"), key=lambda k: k.itemsize)
    if dtype.kind == "b" and any(a.dtype.kind in "iu" for a in arrays):
        dtype = np.dtype("int32")
    return [
        cast(layer.channels_last(v), str(dtype)) if isinstance(v, RelayExpr) else constant(np.asarray(v, dtype))
        for v in given
    ]


def _binary(compute: Callable[[RelayExpr, RelayExpr], RelayExpr]) -> Convert:
    return lambda layer: layer.placed(compute(*operands(layer)))


def _as_real(x: RelayExpr) -> RelayExpr:
    return x if dtype_of(x).startswith("float") else cast(x, "float32")


def _floor_divided(a: RelayExpr, b: RelayExpr) -> RelayExpr:
    return ops.floor_divide(a, b)


def _logaddexp(a: RelayExpr, b: RelayExpr) -> RelayExpr:
    """Compute ``log(e^a + e^b)`` without overflow."""
    gap = ops.negative(ops.abs(ops.subtract(a, b)))
    return ops.add(ops.maximum(a, b), ops.log(ops.add(ops.exp(gap), 1.0)))


def _logical(compute: Callable[[RelayExpr, RelayExpr], RelayExpr]) -> Convert:
    return _binary(lambda a, b: compute(cast(a, "bool"), cast(b, "bool")))


functions(
    {
        "Add": _binary(ops.add), "Subtract": _binary(ops.subtract), "Multiply": _binary(ops.multiply),
        "Divide": _binary(lambda a, b: ops.divide(_as_real(a), _as_real(b))),
        "TrueDivide": _binary(lambda a, b: ops.divide(_as_real(a), _as_real(b))),
        "Maximum": _binary(ops.maximum), "Minimum": _binary(ops.minimum),
        "Power": _binary(ops.power), "FloorDivide": _binary(_floor_divided), "Mod": _binary(ops.floor_mod),
        "SquaredDifference": _binary(lambda a, b: ops.multiply(ops.subtract(a, b), ops.subtract(a, b))),
        "Equal": _binary(ops.equal), "NotEqual": _binary(ops.not_equal), "Less": _binary(ops.less),
        "LessEqual": _binary(ops.less_equal), "Greater": _binary(ops.greater),
        "GreaterEqual": _binary(ops.greater_equal), "Arctan2": _binary(atan2), "Logaddexp": _binary(_logaddexp),
        "LogicalAnd": _logical(ops.logical_and), "LogicalOr": _logical(ops.logical_or),
        "LogicalXor": _logical(ops.logical_xor),
    }
)  # fmt: skip


def _axes(layer: Layer, rank: int) -> list[int]:
    axis = layer.option("axis")
    if axis is None:
        return list(range(rank))
    return sorted(int(a) % rank for a in (axis if isinstance(axis, (list, tuple)) else [axis]))


def _reduction(reduce: Callable[..., RelayExpr], convert: Callable[[RelayExpr], RelayExpr] = lambda x: x) -> Convert:
    def converted(layer: Layer) -> RelayExpr:
        if layer.option("initial") is not None:
            raise ConversionError("option initial is not supported")
        x = convert(layer.channels_last(layer.x))
        result = reduce(x, axis=_axes(layer, rank_of(x)), keepdims=bool(layer.option("keepdims", False)))
        return layer.placed(result)

    return converted


def _logsumexp(x: RelayExpr, axis: Sequence[int], keepdims: bool) -> RelayExpr:
    most = ops.max(x, axis=axis, keepdims=True)
    total = ops.add(ops.log(ops.sum(ops.exp(ops.subtract(x, most)), axis=axis, keepdims=True)), most)
    return total if keepdims else ops.squeeze(total, axis=list(axis))


def _as_truth(x: RelayExpr) -> RelayExpr:
    return cast(x, "bool")


functions(
    {
        "Mean": _reduction(ops.mean, _as_real), "Sum": _reduction(ops.sum), "Prod": _reduction(ops.prod),
        "Max": _reduction(ops.max), "Amax": _reduction(ops.max), "Min": _reduction(ops.min),
        "Amin": _reduction(ops.min), "Var": _reduction(ops.variance, _as_real), "Std": _reduction(ops.std, _as_real),
        "All": _reduction(ops.all, _as_truth), "Any": _reduction(ops.any, _as_truth),
        "Logsumexp": _reduction(_logsumexp, _as_real),
    }
)  # fmt: skip


def _place(find: Callable[..., RelayExpr]) -> Convert:
    def convert(layer: Layer) -> RelayExpr:
        x = layer.channels_last(layer.x)
        axis = layer.option("axis")
        if axis is None:
            x, axis = ops.reshape(x, [-1]), 0
        keepdims = bool(layer.option("keepdims", False))
        return layer.placed(cast(find(x, axis=[int(axis) % rank_of(x)], keepdims=keepdims), "int32"))

    return convert


def _cumulative(accumulate: Callable[..., RelayExpr]) -> Convert:
    def convert(layer: Layer) -> RelayExpr:
        x = layer.channels_last(layer.x)
        axis = layer.option("axis")
        if axis is None:
            x, axis = ops.reshape(x, [-1]), 0
        return layer.placed(accumulate(x, axis=int(axis) % rank_of(x)))

    return convert


def _norm(layer: Layer) -> RelayExpr:
    x = _as_real(layer.channels_last(layer.x))
    if layer.option("ord", 2) not in (2, "euclidean", "fro"):
        raise ConversionError(f"norms of order {layer.option('ord')!r} are not supported, 2 is")
    axes = _axes(layer, rank_of(x))
    total = ops.sum(ops.multiply(x, x), axis=axes, keepdims=bool(layer.option("keepdims", False)))
    return layer.placed(ops.sqrt(total))


functions(
    {
        "Argmax": _place(ops.argmax),
        "Argmin": _place(ops.argmin),
        "Cumsum": _cumulative(ops.cumsum),
        "Cumprod": _cumulative(ops.cumprod),
        "Norm": _norm,
    }
)
