"""CombineParallelConv2D, -Dense and -BatchMatmul: merge parallel branches with the same operator and input."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence, Set
from itertools import accumulate
from typing import ClassVar

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.ir.transform import PassContext, Sequential
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, GraphExpr, Tuple, TupleGetItem
from compiler.relay.function import Function
from compiler.relay.op.nn.conv_attrs import ConvAttrs
from compiler.relay.op.nn.dense import BatchMatmulAttrs, DenseAttrs
from compiler.relay.operator import OpPattern, RelationError, call_op
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import (
    GraphMutator,
    op_name,
    outside_kernels,
    relay_op,
    tensor_type,
    type_of,
    users_of,
)
from compiler.relay.ty import Dim, TensorType, same_dim
from compiler.tir.layout.data_layout import layout

# Finds parallel branches with the same operator and input, and combines them into one call.
#
# A branch is a call and the elementwise or broadcasting calls that follow it, each the only user of the one before,
# that leave its shape as it is.  What follows is combined as well, as far as all branches do the same there, their
# further operands can be joined, and the wide result keeps its shape too.

Branch = list[Call]


class CombineParallel(FunctionPass, abstract=True):
    """A pass that computes several calls of an operator on the same data as one."""

    method: ClassVar[str] = "key"
    operator: ClassVar[str]
    """The operator whose calls are combined."""

    min_num_branches: int = 3

    def __post_init__(self) -> None:
        if not isinstance(self.min_num_branches, int) or self.min_num_branches < 2:
            least = show(self.min_num_branches)
            raise ArgumentError(f"{self.info.name}: min_num_branches must be an int of at least 2, got {least}")
        super().__post_init__()

    @abstractmethod
    def key(self, call: Call) -> Hashable | None:
        """Return what calls of the same data must agree in to be combined; None if this one cannot be."""

    @abstractmethod
    def combined(self, calls: Sequence[Call], data: RelayExpr, weights: Sequence[RelayExpr]) -> Call:
        """Return one call in place of several of the old graph."""

    @abstractmethod
    def fits(self, branches: Sequence[Branch], depth: int, at: int) -> bool:
        """Return whether an operand of the calls that stand ``depth`` behind the beginnings of their branches can be
        joined.
        """

    @abstractmethod
    def joined(self, branches: Sequence[Branch], depth: int, operands: Sequence[RelayExpr]) -> RelayExpr:
        """Return the operands of what follows as one, given one of each branch in the new graph."""

    @abstractmethod
    def parts(self, branches: Sequence[Branch], depth: int, result: RelayExpr) -> list[RelayExpr]:
        """Return the result of each branch, of which ``depth`` calls have been combined."""

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        groups = [g for g in _groups(func, self) if len(g) >= self.min_num_branches]
        dependent = _dependent(func, [branch[0] for group in groups for branch in group])
        groups = [g for g in groups if not any(branch[0].args[1] in dependent for branch in g)]
        return _Combiner(groups, dependent, self).rewrite_function(func) if groups else func


def operand_type(call: Call, at: int) -> TensorType:
    """Return the type of an operand that is known to be a tensor."""
    t = tensor_type(call.args[at])
    assert t is not None
    return t


def _groups(func: Function, rules: CombineParallel) -> list[list[Branch]]:
    users: dict[GraphExpr, list[Call]] = {}
    uses = users_of(func)
    order = post_order(func, outside_kernels)
    for expr in order:
        if isinstance(expr, Call):
            for arg in expr.args:
                users.setdefault(arg, []).append(expr)
    groups: dict[Hashable, list[Branch]] = {}
    for expr in order:
        if isinstance(expr, Call) and op_name(expr) == rules.operator and (key := rules.key(expr)) is not None:
            groups.setdefault((expr.args[0], key), []).append(_branch(expr, users, uses))
    return list(groups.values())


def _branch(call: Call, users: dict[GraphExpr, list[Call]], uses: dict[GraphExpr, int]) -> Branch:
    branch = [call]
    while uses[branch[-1]] == 1 and len(users.get(branch[-1], ())) == 1:
        (user,) = users[branch[-1]]
        op = relay_op(user)
        if op is None or op.pattern > OpPattern.BROADCAST or not _same_shape(tensor_type(user), tensor_type(call)):
            break
        branch.append(user)
    return branch


def _same_shape(a: TensorType | None, b: TensorType | None) -> bool:
    if a is None or b is None or len(a.dims) != len(b.dims):
        return False
    return all(map(same_dim, a.dims, b.dims))


def _typed(call: Call) -> TensorType | None:
    """Return the type of a call whose operands fit together; None if they do not, or it is no tensor."""
    op = relay_op(call)
    try:
        t = None if op is None or op.relation is None else op.relation(tuple(map(type_of, call.args)), call.attrs)
    except RelationError:
        return None
    return t if isinstance(t, TensorType) else None


def _dependent(func: Function, calls: Sequence[Call]) -> set[GraphExpr]:
    """Return what is computed from some calls: weights and further operands have to exist before all of them."""
    dependent: set[GraphExpr] = set(calls)
    for expr in post_order(func, outside_kernels):
        if any(operand in dependent for operand in outside_kernels(expr)):
            dependent.add(expr)
    return dependent


class _Combiner(GraphMutator):
    def __init__(self, groups: Sequence[Sequence[Branch]], dependent: Set[GraphExpr], rules: CombineParallel) -> None:
        super().__init__()
        self._rules = rules
        self._plans: dict[GraphExpr, tuple[Sequence[Branch], int]] = {}
        for group in groups:
            depth = self._depth(group, dependent)
            self._plans.update({branch[depth - 1]: (group, depth) for branch in group})

    def _depth(self, group: Sequence[Branch], dependent: Set[GraphExpr]) -> int:
        """Return how many calls of each branch can be combined, by what the combined ones are in the old graph."""
        heads = [branch[0] for branch in group]
        wide = self._rules.combined(heads, heads[0].args[0], [call.args[1] for call in heads])
        shape = tensor_type(wide)
        for depth in range(1, min(len(branch) for branch in group)):
            if not self._same_level(group, depth, dependent):
                return depth
            wide = self._level(group, depth, wide, lambda expr: expr)
            if not _same_shape(_typed(wide), shape):
                return depth
        return min(len(branch) for branch in group)

    def _same_level(self, group: Sequence[Branch], depth: int, dependent: Set[GraphExpr]) -> bool:
        first = group[0][depth]
        place = _place_of(group[0], depth)
        for branch in group:
            call = branch[depth]
            if call.op is not first.op or call.attrs != first.attrs or _place_of(branch, depth) != place:
                return False
            if any(arg in dependent for at, arg in enumerate(call.args) if at != place):
                return False
        others = [at for at in range(len(first.args)) if at != place]
        return all(self._rules.fits(group, depth, at) for at in others)

    def visit_call(self, call: Call) -> RelayExpr:
        if call not in self._plans:
            return super().visit_call(call)
        group, depth = self._plans[call]
        with derived_from(frozenset().union(*[c.span for branch in group for c in branch[:depth]])):
            parts = self._rules.parts(group, depth, self._combined(group, depth))
        self.memo_map.update(zip([branch[depth - 1] for branch in group], parts, strict=True))
        return self.memo_map[call]

    def _combined(self, group: Sequence[Branch], depth: int) -> RelayExpr:
        heads = [branch[0] for branch in group]
        data, weights = self._new(heads[0].args[0]), [self._new(call.args[1]) for call in heads]
        result: RelayExpr = self._rules.combined(heads, data, weights)
        for level in range(1, depth):
            result = self._level(group, level, result, self._new)
        return result

    def _level(
        self, group: Sequence[Branch], level: int, result: RelayExpr, new: Callable[[RelayExpr], RelayExpr]
    ) -> Call:
        """Return what follows of all branches at one level as one call; ``new`` returns operands of the old graph."""
        place = _place_of(group[0], level)
        args: list[RelayExpr] = []
        for at in range(len(group[0][level].args)):
            operands = [] if at == place else [new(branch[level].args[at]) for branch in group]
            args.append(self._rules.joined(group, level, operands) if operands else result)
        return rebuild(group[0][level], args=tuple(args))

    def _new(self, expr: GraphExpr) -> RelayExpr:
        """Return an operand in the new graph, which may not have been reached yet."""
        for part in post_order(expr, lambda e: () if e in self.memo_map else outside_kernels(e)):
            self.visit(part)
        return self.memo_map[expr]


def _place_of(branch: Branch, depth: int) -> int:
    """Return which operand of a call comes from the call before it."""
    return next(at for at, arg in enumerate(branch[depth].args) if arg is branch[depth - 1])


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
