"""Operators that create tensors: constants, ranges, identity matrices, triangular masks."""

from __future__ import annotations

import math

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.partial import partial_of
from compiler.relay.frontend.onnx.reader import dtype_name
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import FOLD_LIMIT, constant, dims_of, dtype_of, known, ops, scalar
from compiler.relay.frontend.shared.open_dims import told_open
from compiler.relay.frontend.shared.tensors import cast, places_along, reshape


@converter("Constant")
def _constant(node: Node) -> RelayExpr:
    attrs = node.attributes
    if "value" in attrs:
        return constant(attrs["value"])
    for name, dtype in _CONSTANTS.items():
        if name in attrs:
            return constant(np.array(attrs[name], dtype))
    raise ConversionError(f"a constant of {', '.join(attrs) or 'nothing'} is not supported")


_CONSTANTS = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}


@converter("ConstantOfShape")
def _constant_of_shape(node: Node) -> RelayExpr:
    fill = node.attr("value", np.zeros(1, np.float32)).reshape(-1)
    wanted = partial_of(node.inputs[0])
    plain = wanted is not None and all(isinstance(w, int) for w in wanted)
    return ops.full(constant(fill[0]), wanted if plain else node.inputs[0], dtype=str(fill.dtype))


@converter("Range")
def _range(node: Node) -> RelayExpr:
    start, limit, delta = (known(x) for x in node.inputs)
    if start is None or limit is None or delta is None:
        first, stop, step = (reshape(x, []) for x in node.inputs)
        places = ops.arange(first, stop, step, dtype=dtype_of(first))
        is_counted = known(first) == 0 and known(step) == 1
        return told_open(places, 0, (partial_of(node.inputs[1]) or [None])[0]) if is_counted else places
    count = max(math.ceil((limit.item() - start.item()) / delta.item()), 0)
    if count * start.itemsize > FOLD_LIMIT:
        raise ConversionError(f"a range of {count:,} numbers is too long")
    return constant((start + np.arange(count).astype(start.dtype) * delta).astype(start.dtype).reshape(-1))


@converter("EyeLike")
def _eye_like(node: Node) -> RelayExpr:
    x = node.inputs[0]
    dtype = dtype_name(node.attributes["dtype"], "attribute 'dtype'") if "dtype" in node.attributes else None
    return cast(ops.equal(_diagonals(x), node.attr("k", 0)), dtype or dtype_of(x))


def _diagonals(x: RelayExpr) -> RelayExpr:
    """Return for each element of matrices which diagonal it is on."""
    return ops.subtract(places_along(x, -1, 2), places_along(x, -2, 2))


@converter("Trilu")
def _trilu(node: Node) -> RelayExpr:
    x = node.inputs[0]
    k = constant(0, "int64") if node.input(1) is None else reshape(node.inputs[1], [])
    if 0 in dims_of(x):
        return x
    diagonals = _diagonals(x)
    kept = ops.greater_equal(diagonals, k) if node.attr("upper", 1) else ops.less_equal(diagonals, k)
    if dtype_of(x) == "bool":
        return ops.logical_and(x, kept)
    return ops.where(kept, x, scalar(0, x))
