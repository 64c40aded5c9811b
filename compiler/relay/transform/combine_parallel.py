"""CombineParallelConv2D, -Dense and -BatchMatmul: merge branches of one operator on the same data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.ir.transform import PassContext
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, Constant, Function, GraphExpr, Tuple, TupleGetItem
from compiler.relay.op.nn.conv_attrs import ConvAttrs
from compiler.relay.op.nn.dense import BatchMatmulAttrs, DenseAttrs
from compiler.relay.operator import call_op
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import GraphMutator, op_name, outside_kernels, tensor_type
from compiler.tir.data_layout import layout

__all__ = [
    "CombineParallel",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D",
    "CombineParallelDense",
]


@dataclass(frozen=True, slots=True)
class _Branch:
    """How a call can be combined with others.

    Attributes
    ----------
    key : hashable
        Calls with the same data and the same key can be combined.
    weight_axis, result_axis : int
        Along which axes weights are joined, and results cut.
    batch : bool
        Whether weights and results are stacked along a new axis instead.
    """

    key: Hashable
    weight_axis: int
    result_axis: int
    batch: bool = False


def _extents(expr: GraphExpr) -> tuple[int, ...] | None:
    t = tensor_type(expr)
    return t.concrete_shape if t is not None and t.is_static else None


def _conv_branch(call: Call) -> _Branch | None:
    attrs, weight = ConvAttrs.of(call), _extents(call.args[1])
    plain = layout(attrs.kernel_layout)
    data = layout(attrs.result_layout)
    split = any(a.factor for a in (*plain.axes, *data.axes))
    if weight is None or attrs.groups != 1 or split:
        return None
    axis = plain.letters.index("O")
    others = tuple(d for at, d in enumerate(weight) if at != axis)
    key = (attrs.with_values(channels=None, kernel_size=None), others)
    return _Branch(key, axis, data.letters.index("C"))


def _dense_branch(call: Call) -> _Branch | None:
    weight, result = _extents(call.args[1]), _extents(call)
    if weight is None or result is None:
        return None
    return _Branch((call.attrs.with_values(units=None), weight[1]), 0, len(result) - 1)


def _dense_batch_branch(call: Call) -> _Branch | None:
    weight, result = _extents(call.args[1]), _extents(call)
    if weight is None or result is None or len(result) != 2:
        return None
    return _Branch((call.attrs, weight), 0, 0, batch=True)


def _batch_branch(call: Call) -> _Branch | None:
    right = _extents(call.args[1])
    if right is None or _extents(call) is None:
        return None
    axis = 1 if BatchMatmulAttrs.of(call).transpose_b else 2
    return _Branch((call.attrs, right[0], right[3 - axis]), axis, 2)


_Rule = Callable[[Call], _Branch | None]


class CombineParallel(FunctionPass, abstract=True):
    """A pass that computes several calls of an operator on the same data as one."""

    method: ClassVar[str] = "rule"
    operator: ClassVar[str]
    """The operator whose calls are combined."""

    min_num_branches: int = 3

    def __post_init__(self) -> None:
        if not isinstance(self.min_num_branches, int) or self.min_num_branches < 2:
            least = show(self.min_num_branches)
            raise ArgumentError(f"{self.info.name}: min_num_branches must be an int of at least 2, got {least}")
        super().__post_init__()

    @abstractmethod
    def rule(self, call: Call) -> _Branch | None:
        """Return how a call can be combined with others.

        Parameters
        ----------
        call : Call
            Of the operator that the pass combines.

        Returns
        -------
        object or None
            The axes of weights and results, and what other calls must agree in; None if it cannot be combined.
        """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        groups = [g for g in _groups(func, self.operator, self.rule) if len(g) >= self.min_num_branches]
        result: Function = _Combiner(groups, self.rule).rewrite(func) if groups else func
        return result


class CombineParallelConv2D(CombineParallel, name="CombineParallelConv2d", opt_level=4, required=("InferType",)):
    """Compute convolutions of the same data as one, with all output channels.

    Level 4; requires InferType.

    Parameters
    ----------
    min_num_branches : int
        How many convolutions there must be, at least 2.

    Raises
    ------
    ArgumentError
        If ``min_num_branches`` is less than 2.

    Examples
    --------
    ``CombineParallelConv2D(min_num_branches=2)``::

        def @main(%x: Tensor[(1, 4, 8, 8), float32], %a: Tensor[(2, 4, 3, 3), float32],
                  %b: Tensor[(3, 4, 3, 3), float32]) {
          (nn.conv2d(%x, %a, padding=[0, 0, 0, 0]), nn.conv2d(%x, %b, padding=[0, 0, 0, 0]))
        }
        ->
        def @main(%x: Tensor[(1, 4, 8, 8), float32], %a: Tensor[(2, 4, 3, 3), float32],
                  %b: Tensor[(3, 4, 3, 3), float32]) {
          %0 = nn.conv2d(%x, concatenate((%a, %b), axis=0), padding=[0, 0, 0, 0]);
          (strided_slice(%0, begin=[0], end=[2], axes=[1]), strided_slice(%0, begin=[2], end=[5], axes=[1]))
        }
    """

    operator: ClassVar[str] = "nn.conv2d"

    def rule(self, call: Call) -> _Branch | None:
        return _conv_branch(call)


class CombineParallelDense(CombineParallel, opt_level=4, required=("InferType",)):
    """Compute products of the same rows with several weights as one.

    Level 4; requires InferType.

    Parameters
    ----------
    min_num_branches : int
        How many products there must be, at least 2.
    to_batch : bool
        Whether weights of one shape become a batch of matrices, as in TVM, rather than the rows of one matrix.

    Raises
    ------
    ArgumentError
        If ``min_num_branches`` is less than 2.

    Examples
    --------
    ``CombineParallelDense(min_num_branches=2, to_batch=False)``::

        def @main(%x: Tensor[(2, 8), float32], %a: Tensor[(4, 8), float32], %b: Tensor[(6, 8), float32]) {
          (nn.dense(%x, %a), nn.dense(%x, %b))
        }
        ->
        def @main(%x: Tensor[(2, 8), float32], %a: Tensor[(4, 8), float32], %b: Tensor[(6, 8), float32]) {
          %0 = nn.dense(%x, concatenate((%a, %b), axis=0), units=None);
          (strided_slice(%0, begin=[0], end=[4], axes=[1]), strided_slice(%0, begin=[4], end=[10], axes=[1]))
        }

    ``CombineParallelDense(min_num_branches=2)``::

        def @main(%x: Tensor[(2, 8), float32], %a: Tensor[(4, 8), float32], %b: Tensor[(4, 8), float32]) {
          (nn.dense(%x, %a), nn.dense(%x, %b))
        }
        ->
        def @main(%x: Tensor[(2, 8), float32], %a: Tensor[(4, 8), float32], %b: Tensor[(4, 8), float32]) {
          %0 = broadcast_to(expand_dims(%x, axis=0), shape=[2, 2, 8]);
          %1 = split(nn.batch_matmul(%0, stack((%a, %b), axis=0), transpose_b=True), indices_or_sections=2);
          (squeeze(%1.0, axis=[0]), squeeze(%1.1, axis=[0]))
        }
    """

    operator: ClassVar[str] = "nn.dense"

    to_batch: bool = True

    def rule(self, call: Call) -> _Branch | None:
        return _dense_batch_branch(call) if self.to_batch else _dense_branch(call)


class CombineParallelBatchMatmul(CombineParallel, opt_level=4, required=("InferType",)):
    """Compute batched products of the same left sides as one, its right sides side by side.

    Level 4; requires InferType.

    Parameters
    ----------
    min_num_branches : int
        How many products there must be, at least 2.

    Raises
    ------
    ArgumentError
        If ``min_num_branches`` is less than 2.

    Examples
    --------
    ``CombineParallelBatchMatmul(min_num_branches=2)``::

        def @main(%x: Tensor[(2, 3, 8), float32], %a: Tensor[(2, 4, 8), float32], %b: Tensor[(2, 5, 8), float32]) {
          (nn.batch_matmul(%x, %a), nn.batch_matmul(%x, %b))
        }
        ->
        def @main(%x: Tensor[(2, 3, 8), float32], %a: Tensor[(2, 4, 8), float32], %b: Tensor[(2, 5, 8), float32]) {
          %0 = nn.batch_matmul(%x, concatenate((%a, %b), axis=1), transpose_b=True);
          (strided_slice(%0, begin=[0], end=[4], axes=[2]), strided_slice(%0, begin=[4], end=[9], axes=[2]))
        }
    """

    operator: ClassVar[str] = "nn.batch_matmul"

    def rule(self, call: Call) -> _Branch | None:
        return _batch_branch(call)


def _groups(func: Function, operator: str, rule: _Rule) -> list[list[Call]]:
    """Return calls that can be combined: of the same data, with weights that exist before all of them."""
    params = set(func.params)
    groups: dict[Any, list[Call]] = {}
    for expr in post_order(func, outside_kernels):
        if op_name(expr) == operator and (isinstance(expr.args[1], Constant) or expr.args[1] in params):
            branch = rule(expr)
            if branch is not None:
                groups.setdefault((expr.args[0], branch.key), []).append(expr)
    return list(groups.values())


class _Combiner(GraphMutator):
    def __init__(self, groups: list[list[Call]], rule: _Rule) -> None:
        super().__init__()
        self._group_of = {call: group for group in groups for call in group}
        self._rule = rule

    def visit_call(self, call: Call) -> Any:
        group = self._group_of.get(call)
        if group is None:
            return super().visit_call(call)
        branch = self._rule(call)
        assert branch is not None
        span = frozenset().union(*[c.span for c in group])
        with derived_from(span):
            parts = self._batch(group) if branch.batch else self._joined(group, branch)
        self.memo_map.update(zip(group, parts, strict=True))
        return self.memo_map[call]

    def _joined(self, group: list[Call], branch: _Branch) -> list[Any]:
        """Return the parts of one call with the weights side by side."""
        first = group[0]
        weights = call_op("concatenate", Tuple(tuple(self.visit(c.args[1]) for c in group)), axis=branch.weight_axis)
        changes = {name: None for name in ("channels", "kernel_size", "units") if name in first.attrs}
        args = (self.visit(first.args[0]), weights)
        wide = rebuild(first, args=args, attrs=first.attrs.with_values(**changes))
        ends = [0]
        for call in group:
            ends.append(ends[-1] + (_extents(call.args[1]) or ())[branch.weight_axis])
        return [_cut(wide, branch.result_axis, a, b) for a, b in pairwise(ends)]

    def _batch(self, group: list[Call]) -> list[Any]:
        """Return the matrices of one batched product."""
        count = len(group)
        weights = call_op("stack", Tuple(tuple(self.visit(c.args[1]) for c in group)), axis=0)
        data = call_op("expand_dims", self.visit(group[0].args[0]), axis=0)
        repeated = call_op("broadcast_to", data, shape=(count, *(_extents(group[0].args[0]) or ())))
        product = call_op("nn.batch_matmul", repeated, weights, out_dtype=DenseAttrs.of(group[0]).out_dtype)
        parts = call_op("split", product, indices_or_sections=count, axis=0)
        return [call_op("squeeze", TupleGetItem(parts, at), axis=(0,)) for at in range(count)]


def _cut(wide: RelayExpr, axis: int, begin: int, end: int) -> Any:
    return call_op("strided_slice", wide, begin=(begin,), end=(end,), strides=(1,), axes=(axis,))
