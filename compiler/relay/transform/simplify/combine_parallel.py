"""CombineParallelConv2D, -Dense and -BatchMatmul: merge parallel branches with the same operator and input."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import ClassVar

from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.ir.transform import Sequential
from compiler.relay.expr import Call, GraphExpr, Tuple, TupleGetItem
from compiler.relay.op.nn.conv_attrs import ConvAttrs
from compiler.relay.op.nn.dense import BatchMatmulAttrs, DenseAttrs
from compiler.relay.operator import call_op
from compiler.relay.transform.rewriter import tensor_type
from compiler.relay.transform.simplify.parallel_branches import Branch, CombineParallel, operand_type
from compiler.relay.ty import Dim
from compiler.tir.layout.data_layout import layout


def _extents(expr: GraphExpr) -> tuple[int, ...] | None:
    t = tensor_type(expr)
    return t.concrete_shape if t is not None and t.is_static else None


def _dims(expr: GraphExpr) -> tuple[Dim, ...]:
    t = tensor_type(expr)
    return () if t is None else t.dims


def _concatenated(parts: Sequence[RelayExpr], axis: int) -> Call:
    return call_op("concatenate", Tuple(tuple(parts)), axis=axis)


def _slices(result: RelayExpr, axis: int, counts: Sequence[int]) -> list[RelayExpr]:
    """Return as many elements as each count says along an axis, one after the other."""
    begins = [0, *accumulate(counts)][:-1]
    ones, zeros, all_of = (1,) * (axis + 1), (0,) * axis, (-1,) * axis
    return [
        call_op("strided_slice", result, begin=(*zeros, at), end=(*all_of, n), strides=ones, slice_mode="size")
        for at, n in zip(begins, counts, strict=True)
    ]


def _same_but(branches: Sequence[Branch], depth: int, at: int, axis: int | None) -> bool:
    """Return whether an operand has the same type in all branches, but for its extent along an axis."""
    types = [operand_type(branch[depth], at) for branch in branches]
    if any(not t.is_static or len(t.dims) != len(types[0].dims) for t in types):
        return False
    others = {tuple(d for n, d in enumerate(t.dims) if n != axis) for t in types}
    return len(others) == 1 and len({t.dtype for t in types}) == 1


class CombineParallelConv2D(CombineParallel, name="CombineParallelConv2d", opt_level=4, required=("InferType",)):
    """Compute at least ``min_num_branches`` convolutions of the same data as one, with all output channels.

    Level 4; requires InferType.  What follows each of them elementwise is combined as well, as far as all do the same.
    Fewer than two branches are refused.

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
          %0 = nn.conv2d(%x, concatenate((%a, %b), axis=0), padding=[0, 0, 0, 0], channels=5);
          (strided_slice(%0, begin=[0, 0], end=[-1, 2], strides=[1, 1], slice_mode="size"),
           strided_slice(%0, begin=[0, 2], end=[-1, 3], strides=[1, 1], slice_mode="size"))
        }
    """

    operator: ClassVar[str] = "nn.conv2d"

    def key(self, call: Call) -> Hashable | None:
        attrs, weight = ConvAttrs.of(call), _extents(call.args[1])
        plain, data = layout(attrs.kernel_layout), layout(attrs.result_layout)
        if weight is None or attrs.groups != 1 or any(a.factor for a in (*plain.axes, *data.axes)):
            return None
        axis = plain.letters.index("O")
        others = tuple(d for at, d in enumerate(weight) if at != axis)
        return (attrs.with_values(channels=None, kernel_size=None), others)

    def combined(self, calls: Sequence[Call], data: RelayExpr, weights: Sequence[RelayExpr]) -> Call:
        attrs = ConvAttrs.of(calls[0])
        wide = _concatenated(weights, layout(attrs.kernel_layout).letters.index("O"))
        made = attrs.with_values(channels=sum(self._channels(calls)))
        return rebuild(calls[0], args=(data, wide), attrs=made)

    @staticmethod
    def _channels(calls: Sequence[Call]) -> list[int]:
        axis = layout(ConvAttrs.of(calls[0]).kernel_layout).letters.index("O")
        return [(_extents(call.args[1]) or ())[axis] for call in calls]

    @staticmethod
    def _axis(branches: Sequence[Branch], depth: int, rank: int) -> int:
        """Return where an operand of some rank has the channels of the result; negative if it has none."""
        axis = layout(ConvAttrs.of(branches[0][0]).result_layout).letters.index("C")
        return axis - len(_dims(branches[0][depth])) + rank

    def fits(self, branches: Sequence[Branch], depth: int, at: int) -> bool:
        axis = self._axis(branches, depth, len(operand_type(branches[0][depth], at).dims))
        if axis < 0 or not _same_but(branches, depth, at, axis):
            return False
        counts = self._channels([branch[0] for branch in branches])
        extents = [operand_type(branch[depth], at).dims[axis] for branch in branches]
        return extents == counts

    def joined(self, branches: Sequence[Branch], depth: int, operands: Sequence[RelayExpr]) -> RelayExpr:
        return _concatenated(operands, self._axis(branches, depth, len(_dims(operands[0]))))

    def parts(self, branches: Sequence[Branch], depth: int, result: RelayExpr) -> list[RelayExpr]:
        axis = layout(ConvAttrs.of(branches[0][0]).result_layout).letters.index("C")
        return _slices(result, axis, self._channels([branch[0] for branch in branches]))


class CombineParallelDense(CombineParallel, opt_level=4, required=("InferType",)):
    """Compute at least ``min_num_branches`` products of the same rows with several weights as one.

    Level 4; requires InferType.  With ``to_batch``, as in TVM, weights of one shape become a batch of matrices, rather
    than the rows of one matrix.  Fewer than two branches are refused.

    Examples
    --------
    ``CombineParallelDense(min_num_branches=2, to_batch=False)``::

        def @main(%x: Tensor[(2, 8), float32], %a: Tensor[(4, 8), float32], %b: Tensor[(6, 8), float32]) {
          (nn.dense(%x, %a), nn.dense(%x, %b))
        }
        ->
        def @main(%x: Tensor[(2, 8), float32], %a: Tensor[(4, 8), float32], %b: Tensor[(6, 8), float32]) {
          %0 = nn.dense(%x, concatenate((%a, %b), axis=0), units=10);
          (strided_slice(%0, begin=[0, 0], end=[-1, 4], strides=[1, 1], slice_mode="size"),
           strided_slice(%0, begin=[0, 4], end=[-1, 6], strides=[1, 1], slice_mode="size"))
        }

    ``CombineParallelDense(min_num_branches=2)``::

        def @main(%x: Tensor[(2, 8), float32], %a: Tensor[(4, 8), float32], %b: Tensor[(4, 8), float32]) {
          (nn.dense(%x, %a), nn.dense(%x, %b))
        }
        ->
        def @main(%x: Tensor[(2, 8), float32], %a: Tensor[(4, 8), float32], %b: Tensor[(4, 8), float32]) {
          %0 = stack((%x, %x), axis=0);
          %1 = split(nn.batch_matmul(%0, stack((%a, %b), axis=0), transpose_b=True), indices_or_sections=2);
          (squeeze(%1.0, axis=[0]), squeeze(%1.1, axis=[0]))
        }
    """

    operator: ClassVar[str] = "nn.dense"

    to_batch: bool = True

    def key(self, call: Call) -> Hashable | None:
        weight, data = _extents(call.args[1]), _dims(call.args[0])
        if weight is None or (self.to_batch and len(data) != 2):
            return None
        return (call.attrs, weight) if self.to_batch else (call.attrs.with_values(units=None), weight[1])

    def combined(self, calls: Sequence[Call], data: RelayExpr, weights: Sequence[RelayExpr]) -> Call:
        attrs = DenseAttrs.of(calls[0])
        if not self.to_batch:
            made = attrs.with_values(units=sum(self._units(calls)))
            return rebuild(calls[0], args=(data, _concatenated(weights, 0)), attrs=made)
        rows = call_op("stack", Tuple((data,) * len(calls)), axis=0)
        return call_op(
            "nn.batch_matmul", rows, call_op("stack", Tuple(tuple(weights)), axis=0), out_dtype=attrs.out_dtype
        )

    @staticmethod
    def _units(calls: Sequence[Call]) -> list[int]:
        return [(_extents(call.args[1]) or ())[0] for call in calls]

    def fits(self, branches: Sequence[Branch], depth: int, at: int) -> bool:
        rank = len(operand_type(branches[0][depth], at).dims)
        if self.to_batch:
            return rank <= 2 and _same_but(branches, depth, at, None)
        if not _same_but(branches, depth, at, rank - 1):
            return False
        units = self._units([branch[0] for branch in branches])
        lasts = [operand_type(branch[depth], at).dims[-1:] for branch in branches]
        return all(last in ((), (1,), (count,)) for last, count in zip(lasts, units, strict=True))

    def joined(self, branches: Sequence[Branch], depth: int, operands: Sequence[RelayExpr]) -> RelayExpr:
        dims = _dims(operands[0])
        if self.to_batch:
            missing = 2 - len(dims)
            if missing:
                operands = [call_op("expand_dims", operand, axis=0, num_newaxis=missing) for operand in operands]
            return call_op("stack", Tuple(tuple(operands)), axis=0)
        units = self._units([branch[0] for branch in branches])
        wide = [_repeated(operand, count) for operand, count in zip(operands, units, strict=True)]
        return _concatenated(wide, max(0, len(dims) - 1))

    def parts(self, branches: Sequence[Branch], depth: int, result: RelayExpr) -> list[RelayExpr]:
        count = len(branches)
        if not self.to_batch:
            return _slices(result, len(_dims(result)) - 1, self._units([branch[0] for branch in branches]))
        each = call_op("split", result, indices_or_sections=count, axis=0)
        return [call_op("squeeze", TupleGetItem(each, at), axis=(0,)) for at in range(count)]


def _repeated(operand: RelayExpr, count: int) -> RelayExpr:
    """Return an operand with as many elements along its last axis as a branch has columns."""
    dims = _dims(operand)
    if not dims:
        operand = call_op("expand_dims", operand, axis=-1)
    elif dims[-1] != 1:
        return operand
    return call_op("repeat", operand, repeats=count, axis=max(0, len(dims) - 1))


class CombineParallelBatchMatmul(CombineParallel, opt_level=4, required=("InferType",)):
    """Compute at least ``min_num_branches`` batched products of the same left sides as one, its right sides side by
    side.

    Level 4; requires InferType.  Fewer than two branches are refused.

    Examples
    --------
    ``CombineParallelBatchMatmul(min_num_branches=2)``::

        def @main(%x: Tensor[(2, 3, 8), float32], %a: Tensor[(2, 4, 8), float32], %b: Tensor[(2, 5, 8), float32]) {
          (nn.batch_matmul(%x, %a, transpose_b=True), nn.batch_matmul(%x, %b, transpose_b=True))
        }
        ->
        def @main(%x: Tensor[(2, 3, 8), float32], %a: Tensor[(2, 4, 8), float32], %b: Tensor[(2, 5, 8), float32]) {
          %0 = nn.batch_matmul(%x, concatenate((%a, %b), axis=1), transpose_b=True);
          (strided_slice(%0, begin=[0, 0, 0], end=[-1, -1, 4], strides=[1, 1, 1], slice_mode="size"),
           strided_slice(%0, begin=[0, 0, 4], end=[-1, -1, 5], strides=[1, 1, 1], slice_mode="size"))
        }
    """

    operator: ClassVar[str] = "nn.batch_matmul"

    def key(self, call: Call) -> Hashable | None:
        right = _extents(call.args[1])
        if right is None or _extents(call) is None:
            return None
        return (call.attrs, right[0], right[3 - self._axis(call)])

    @staticmethod
    def _axis(call: Call) -> int:
        """Return the axis of the columns of the right sides."""
        return 1 if BatchMatmulAttrs.of(call).transpose_b else 2

    def _columns(self, branches: Sequence[Branch]) -> list[int]:
        return [(_extents(branch[0].args[1]) or ())[self._axis(branch[0])] for branch in branches]

    def combined(self, calls: Sequence[Call], data: RelayExpr, weights: Sequence[RelayExpr]) -> Call:
        return rebuild(calls[0], args=(data, _concatenated(weights, self._axis(calls[0]))))

    def fits(self, branches: Sequence[Branch], depth: int, at: int) -> bool:
        rank = len(operand_type(branches[0][depth], at).dims)
        if not rank or not _same_but(branches, depth, at, rank - 1):
            return False
        return [operand_type(branch[depth], at).dims[-1] for branch in branches] == self._columns(branches)

    def joined(self, branches: Sequence[Branch], depth: int, operands: Sequence[RelayExpr]) -> RelayExpr:
        return _concatenated(operands, -1)

    def parts(self, branches: Sequence[Branch], depth: int, result: RelayExpr) -> list[RelayExpr]:
        return _slices(result, 2, self._columns(branches))


def BatchingOps() -> Sequential:
    """Return the passes that merge parallel branches: of convolutions, dense layers and products of matrices."""
    return Sequential([CombineParallelConv2D(), CombineParallelDense(), CombineParallelBatchMatmul()])
