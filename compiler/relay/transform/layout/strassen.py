"""Strassen: products of matrices by fewer products, of sums of their quarters."""

from __future__ import annotations

import math

from compiler.arith.strassen import PRODUCTS
from compiler.ir.expr import RelayExpr
from compiler.ir.instrument import chosen_way
from compiler.relay.expr import Call, Constant, array_const
from compiler.relay.op.nn.dense import DensePackAttrs
from compiler.relay.operator import call_op
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, op_name, tensor_type
from compiler.relay.ty import TensorType
from compiler.topi.nn.strassen import weight_of_products

_WAYS = ("sums of products", "products of quarters", "products of sixteenths")
_LEAST = 32
"""Extents of the parts that are worth a try."""


class Strassen(RewritePass, opt_level=3, required=("InferType",)):
    """Multiply matrices by Strassen's fewer products, where an instrument decides so: none do by themselves.

    Level 3; requires InferType.  Those in float32 whose weight is known, and which AlterOpLayout has brought into
    panels, multiply seven sums of quarters instead of eight pairs of them, or 49 of sixteenths instead of 64.  The
    results differ by rounding: their largest error is about two and four times that of the sums of products.

    Examples
    --------
    A dense layer of 768 to 3072 units, where products of quarters are chosen::

        def @main(%x: Tensor[(128, 768), float32]) {
          nn.contrib_dense_pack(%x, w in panels, units=None)
        }
        ->
        def @main(%x: Tensor[(128, 768), float32]) {
          nn.contrib_dense_strassen(%x, w as sums of quarters)
        }
    """

    def mutator(self) -> GraphMutator:
        return _Transform()


class _Transform(GraphMutator):
    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        if op_name(new) != "nn.contrib_dense_pack":
            return new
        weight, data = new.args[1], tensor_type(call.args[0])
        if not isinstance(weight, Constant) or data is None or tensor_type(call) is None:
            return new
        most = _most_times(call, data, weight.tensor_type)
        operator = f"{op_name(call)}({data}, {weight.tensor_type})"
        times = _WAYS.index(chosen_way(operator, _WAYS[0], _WAYS[: most + 1])) if most else 0
        if not times:
            return new
        summed = array_const(weight_of_products(weight.value, PRODUCTS**times))
        return call_op("nn.contrib_dense_strassen", new.args[0], summed)


def _most_times(call: Call, data: TensorType, weight: TensorType) -> int:
    """Return how often a product can be made of those of quarters."""
    attrs = DensePackAttrs.of(call)
    if not data.is_static or {data.dtype, weight.dtype, attrs.out_dtype or data.dtype} != {"float32"}:
        return 0
    if len(weight.dims) != 3 or attrs.units is not None or any(extent != 1 for extent in data.concrete_shape[:-2]):
        return 0
    panels, depth, width = weight.concrete_shape
    sizes = (data.concrete_shape[-2], panels * width, depth)
    common = math.gcd(sizes[0], panels, depth // width if depth % width == 0 else 1)
    return max(n for n in range(len(_WAYS)) if common % 2**n == 0 and (not n or min(sizes) >> n >= _LEAST))
