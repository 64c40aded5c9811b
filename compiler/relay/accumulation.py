"""Accumulation of float16 sums and products: which operators accumulate, and how.

An element of the result of such an operator is made of many.  Added up in half precision, with eleven bits (eight of
``bfloat16``), the four-thousandth one is lost; so is everything above 65504.  Frameworks and onnxruntime therefore
accumulate in ``float32`` and round the result once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.relay.operator import Reference

HALF_TYPES = frozenset({"float16", "bfloat16"})

_DIMENSIONS = ("1d", "2d", "3d")
ACCUMULATING = frozenset(
    {
        *("sum", "mean", "prod", "variance", "cumsum", "cumprod", "einsum", "collapse_sum_like", "collapse_sum_to"),
        *("nn.dense", "nn.matmul", "nn.batch_matmul", "nn.contrib_dense_pack", "nn.contrib_dense_strassen"),
        *("nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc", "nn.deformable_conv2d"),
        "nn.contrib_conv2d_winograd_NCHWc",
        *(f"nn.contrib_conv{d}_winograd_without_weight_transform" for d in _DIMENSIONS[1:]),
        *("nn.contrib_conv2d_gemm_without_weight_transform", "dft", "stft"),
        *(f"nn.conv{d}" for d in _DIMENSIONS),
        *(f"nn.conv{d}_transpose" for d in _DIMENSIONS),
        *(f"nn.{kind}avg_pool{d}" for d in _DIMENSIONS for kind in ("", "global_", "adaptive_")),
        *(f"nn.avg_pool{d}_grad" for d in _DIMENSIONS),
        *("nn.softmax", "nn.fast_softmax", "nn.log_softmax", "nn.cross_entropy", "nn.cross_entropy_with_logits"),
        *("nn.layer_norm", "nn.group_norm", "nn.instance_norm", "nn.l2_normalize", "nn.lrn"),
    }
)
"""Names of the operators of which each element of the result is a sum or product of many."""


def widened_attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a call whose operands are ``float32`` instead of half-precision floats."""
    return {
        name: "float32" if name in ("out_dtype", "dtype") and value in HALF_TYPES else value
        for name, value in attrs.items()
    }


def reference_in_float32(reference: Reference) -> Reference:
    """Return a NumPy reference that computes half-precision floats in ``float32``.

    It rounds the result to half precision once, unless the attributes ask for a wider type.
    """

    def run(attrs: Attrs, *values: Any) -> object:
        half = next((dtype for dtype in map(str, _dtypes(values)) if dtype in HALF_TYPES), None)
        if half is None:
            return reference(attrs, *values)
        widened = type(attrs)(**widened_attrs(attrs)) if len(attrs) else attrs
        result = reference(widened, *[_wide(value) for value in values])
        named = attrs.get("out_dtype") or attrs.get("dtype") or half
        return np.asarray(result).astype(named if named != "bfloat16" else _dtype_named(values, half))

    return run


def _dtypes(values: object) -> list[np.dtype[Any]]:
    if isinstance(values, (tuple, list)):
        return [dtype for value in values for dtype in _dtypes(value)]
    return [np.asarray(values).dtype]


def _dtype_named(values: object, name: str) -> np.dtype[Any]:
    return next(dtype for dtype in _dtypes(values) if str(dtype) == name)


def _wide(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(_wide(part) for part in value)
    array = np.asarray(value)
    return array.astype("float32") if str(array.dtype) in HALF_TYPES else array
