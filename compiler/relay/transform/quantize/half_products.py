"""MultiplyHalves: products of float16 and bfloat16 as they are, where that is no slower than in float32."""

from __future__ import annotations

import math

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.accumulation import HALF_TYPES
from compiler.relay.expr import Call, Constant, array_const
from compiler.relay.op.nn.conv_alter_layout import alter_conv2d_layout
from compiler.relay.operator import Array, call_op
from compiler.relay.transform.quantize.byte_products import in_panels
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, call_of, op_name, tensor_type
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.target.cpu.processor_features import used_features
from compiler.target.target import Target
from compiler.topi.nn.product_sums import has_tiles, products_per_step

_FEW_ROWS = 8
"""Up to so many rows, the memory that a weight is read from decides how long a product takes, as measured with vectors
of 256 and 512 bits."""
_GROUPS, _TILES = 8, 32
"""Inputs that make the smallest tile, and a full one."""
_PRODUCTS = ("nn.dense", "nn.batch_matmul", "nn.conv2d")


class MultiplyHalves(RewritePass, opt_level=3, required=("InferType",)):
    """Give products of float16 and bfloat16, which ``WidenHalfPrecision`` has put into float32, what was widened.

    Level 3; requires InferType.  The sums stay float32.  The current target, else this machine, decides: products of
    bfloat16 are those of its instructions that add pairs of them to a sum, for which known weights stand in panels with
    two inputs of a unit side by side.  With a few rows, known weights of both types stay half as wide in memory where
    an x86 CPU has F16C, and the kernel widens them, as does a depthwise convolution among layers that are multiplied in
    tiles.  All other products are left as they are.

    Examples
    --------
    ``MultiplyHalves()``, for ``llvm -mcpu=sapphirerapids``::

        def @main(%x: Tensor[(8, 32), bfloat16]) { nn.dense(cast(%x, dtype="float32"), w, out_dtype="float32") }
        ->
        def @main(%x: Tensor[(8, 32), bfloat16]) {
          nn.contrib_dense_pack(%x, w in panels, weight_layout="NC16n2c", out_dtype="float32")
        }
    """

    def mutator(self) -> GraphMutator:
        target = Target.current() or Target("llvm -mcpu=native")
        return _Multiplier(target) if target.kind == "llvm" else GraphMutator()


class _Multiplier(GraphMutator):
    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target
        # Elsewhere it takes functions of a library or, on AArch64, more than twice as long as a load.
        self._widens_vectors = "f16c" in used_features(target.triple, target.cpu, target.llvm_features)

    def visit_call(self, call: Call) -> RelayExpr:
        new, t = self.rebuilt_call(call), tensor_type(call)
        if op_name(new) not in _PRODUCTS or t is None or t.dtype != "float32":
            return new
        left = _half(new.args[0])
        data = None if left is None else tensor_type(left)
        right = None if data is None else _half_weight(new.args[1], data.dtype)
        if left is None or data is None or right is None:
            return new
        if op_name(new) == "nn.dense":
            return self._dense(new, left, right)
        narrow = _narrowed(new, left, right)
        if op_name(new) == "nn.conv2d":
            return narrow if self._is_in_blocks(narrow, data, right) else new
        depth = data.dims[1 if new.attrs["transpose_a"] else 2]
        return narrow if self._adds_pairs(depth, data.dtype) else new

    def _adds_pairs(self, depth: object, dtype: str) -> bool:
        with self._target:
            return isinstance(depth, int) and products_per_step(depth, (dtype, dtype), "float32") == 2

    def _is_in_blocks(self, conv: Call, data: TensorType, right: RelayExpr) -> bool:
        """Return whether a convolution has blocks of channels that are multiplied in pairs, or each with its own."""
        weight = tensor_type(right)
        altered = None if weight is None else alter_conv2d_layout(conv, [data, weight], self._target)
        if altered is None:
            return False
        if op_name(altered) == "nn.contrib_depthwise_conv2d_NCHWc":
            return has_tiles(self._target, data.dtype)
        return altered.attrs.get_str("kernel_layout").endswith("o2i")

    def _dense(self, call: Call, left: RelayExpr, right: RelayExpr) -> RelayExpr:
        data, weight = tensor_type(left), tensor_type(right)
        assert data is not None, "operands of products are tensors"
        assert weight is not None, "operands of products are tensors"
        depth, dtype, is_known = weight.dims[1], data.dtype, isinstance(right, Constant)
        if isinstance(right, Constant) and isinstance(depth, int) and len(data.dims) > 1:
            # Of zeros, a few for a group or tile, many for long sums that no tile divides.
            missing = (depth % 2, -depth % _GROUPS, -depth % _TILES)
            filled = next((n for n in missing if self._adds_pairs(depth + n, dtype)), None)
            if filled is not None:
                return in_panels(left, right.value, 2, out_dtype="float32", missing=filled)
        rows = math.prod(d if isinstance(d, int) else _FEW_ROWS + 1 for d in data.dims[:-1])
        is_short = rows <= _FEW_ROWS and is_known and self._widens_vectors
        return _narrowed(call, left, right) if is_short or self._adds_pairs(depth, dtype) else call


def _narrowed(call: Call, left: RelayExpr, right: RelayExpr) -> Call:
    """Return a product of halves, summed in float32."""
    return call_op(op_name(call), left, right, **{**call.attrs, "out_dtype": "float32"})


def _half(expr: RelayExpr) -> RelayExpr | None:
    """Return what was widened from a half to float32, as it was before."""
    if (moved := call_of(expr, "reshape")) is not None:
        source, t = _half(moved.args[0]), tensor_type(expr)
        return None if source is None or t is None else call_op("reshape", source, newshape=t.dims)
    if (widened := call_of(expr, "cast")) is None:
        return None
    t, before = tensor_type(widened), tensor_type(widened.args[0])
    is_half = before is not None and before.dtype in HALF_TYPES
    return widened.args[0] if is_half and t is not None and t.dtype == "float32" else None


def _half_weight(expr: RelayExpr, dtype: str) -> RelayExpr | None:
    """Return a factor in a half type: a value before it was widened, or a constant that loses nothing."""
    if not isinstance(expr, Constant):
        half = _half(expr)
        t = None if half is None else tensor_type(half)
        return half if t is not None and t.dtype == dtype else None
    with np.errstate(over="ignore"):
        narrow: Array = expr.value.astype(numpy_dtype(dtype))
    is_same = expr.value.dtype == np.float32 and np.array_equal(narrow.astype(np.float32), expr.value, equal_nan=True)
    return array_const(narrow) if is_same else None
