"""TabulateBytes: long functions of single bytes, by tables of their 256 values."""

from __future__ import annotations

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, Constant, GraphExpr, array_const
from compiler.relay.function import Function
from compiler.relay.operator import OpPattern, call_op
from compiler.relay.transform.fold.fold_constant import FoldConstantExpr
from compiler.relay.transform.rewriter import (
    GraphMutator,
    RewritePass,
    dims_of,
    op_name,
    outside_kernels,
    relay_op,
    tensor_type,
)
from compiler.target.target import Target

_BYTES = ("uint8", "int8")
_LONG = frozenset({"cos", "erf", "exp", "log", "mish", "power", "sigmoid", "sin", "tan", "tanh"})
_LONG_STEPS = 20
"""Products and sums of a series, such as functions in ``_LONG`` are computed by."""
_ATTRS = frozenset({"cast", "clip", "nn.leaky_relu", "right_shift", "left_shift"})
"""Operators with attributes that do not speak of shapes."""
_STEPS_PER_LANE = 3
"""Steps of a vector in which one element of it is looked up, about as measured with vectors of 256 and 512 bits."""


class TabulateBytes(RewritePass, opt_level=3, required=("InferType",)):
    """Look functions of one byte up in tables, where that is quicker than to compute them.

    Level 3; requires InferType.  Steps on quantised numbers, such as the parts of GELU between the quantisation of a
    sum and the next product, have 256 results, which the operators' NumPy references compute.  The current target, else
    this machine, decides by the width of its vectors from how many steps on.

    Examples
    --------
    ``TabulateBytes()``, for ``llvm -mcpu=haswell``::

        def @main(%x: Tensor[(2, 8), uint8]) {
          %0 = multiply(subtract(cast(%x, dtype="float32"), 128f), 0.05f);
          add(multiply(erf(%0), 127f), tanh(%0))
        }
        ->
        def @main(%x: Tensor[(2, 8), uint8]) { take(table of 256 float32, %x, mode="fast") }
    """

    def mutator(self) -> GraphMutator:
        target = Target.current() or Target("llvm -mcpu=native")
        return _Tabulator(_STEPS_PER_LANE * target.vector_width("float32")) if target.kind == "llvm" else GraphMutator()


class _Tabulator(GraphMutator):
    """Replaces functions of one byte from ``fewest`` steps on."""

    def __init__(self, fewest: int) -> None:
        super().__init__()
        self._fewest = fewest
        self._sources: dict[GraphExpr, RelayExpr] = {}
        self._results: set[GraphExpr] = set()

    def rewrite_function(self, func: Function) -> Function:
        for part in post_order(func, outside_kernels):
            if isinstance(part, Call) and (source := self._source(part)) is not None:
                self._sources[part] = source
            known = self._sources.get(part)
            self._results.update(
                e for e in outside_kernels(part) if e in self._sources and self._sources[e] is not known
            )
        return super().rewrite_function(func)

    def visit_call(self, call: Call) -> RelayExpr:
        if call in self._results and (table := self._tabulated(call)) is not None:
            index = self.visit(self._sources[call])
            t = tensor_type(index)
            if t is not None and t.dtype != "uint8":
                index = call_op("reinterpret", index, dtype="uint8")
            return call_op("take", table, index, axis=0, mode="fast")
        return self.rebuilt_call(call)

    def _source(self, call: Call) -> RelayExpr | None:
        """Return the bytes that a call computes a function of, one by one; what their steps have in common."""
        op = relay_op(call)
        if op is None or op.stateful or op.reference is None or (call.attrs and op.name not in _ATTRS):
            return None
        if op.get_attr("TOpPattern") not in (OpPattern.ELEMWISE, OpPattern.BROADCAST):
            return None
        sources: set[RelayExpr | None] = set()
        for arg in call.args:
            t = tensor_type(arg)
            if isinstance(arg, Constant) and arg.value.size == 1:
                continue
            sources.add(self._sources.get(arg) or (arg if t is not None and t.dtype in _BYTES else None))
        source = sources.pop() if len(sources) == 1 else None
        return source if source is not None and dims_of(source) == dims_of(call) else None

    def _tabulated(self, call: Call) -> Constant | None:
        """Return the results of a call for all bytes, None if it takes few steps."""
        source = self._sources[call]
        t = tensor_type(source)
        assert t is not None, "sources are tensors"
        values = np.arange(256, dtype="uint8").view(t.dtype).reshape((1,) * (len(t.dims) - 1) + (-1,))
        parts = post_order(call, lambda e: () if e is source else outside_kernels(e))
        steps = [part for part in parts if isinstance(part, Call) and part in self._sources]
        if sum(_LONG_STEPS if op_name(step).removeprefix("fast_") in _LONG else 1 for step in steps) < self._fewest:
            return None
        results: dict[GraphExpr, Constant] = {source: array_const(values)}
        for step in steps:
            result = FoldConstantExpr(Call(step.op, tuple([results.get(arg, arg) for arg in step.args]), step.attrs))
            if not isinstance(result, Constant) or result.value.size != values.size:
                return None
            results[step] = result
        return array_const(results[call].value.reshape(-1))
