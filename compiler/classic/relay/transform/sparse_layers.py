"""DenseToSparse, Conv2dToSparse and Conv2dToSparse2: store weights as block-sparse matrices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from compiler.classic.relay.sparse_weights import block_rows, conv_matrix, sparse_enough
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.ir.types import Type
from compiler.relay.analysis.variables import free_vars
from compiler.relay.expr import Call, Constant, Var, const
from compiler.relay.function import Function
from compiler.relay.operator import call_op
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, op_name, type_of
from compiler.relay.ty import TensorType

Shapes = Sequence[Sequence[Sequence[int]]]


class DenseToSparse(FunctionPass, required=("InferType",)):
    """Replace ``nn.dense(x, weight)`` by ``nn.sparse_dense`` with new parameters, the parts of the weight.

    Level 0; requires InferType.  Of each weight in ``weight_name``, ``weight_shape`` has the shapes of its data, its
    indices, and its row pointers.  Whoever runs the program passes the parts;
    ``relay.data_dep_optimization.bsr_dense.convert`` does both.

    Examples
    --------
    ``DenseToSparse(['w'], [[(3, 2, 1), (3,), (3,)]])``::

        def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) { nn.dense(%x, %w) }
        ->
        def @main(
          %x: Tensor[(2, 3), float32],
          %w.data: Tensor[(3, 2, 1), float32],
          %w.indices: Tensor[(3), int32],
          %w.indptr: Tensor[(3), int32]
        ) { nn.sparse_dense(%x, %w.data, %w.indices, %w.indptr) }
    """

    weight_name: Sequence[str]
    weight_shape: Shapes

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return _with_parts(func, _SparseDense(self.weight_name, self.weight_shape))


class Conv2dToSparse(FunctionPass, required=("InferType",)):
    """Replace ``nn.conv2d(x, weight)`` by ``nn.sparse_conv2d`` with new parameters, the parts of the weight.

    Level 0; requires InferType.  Only convolutions in one group, of steps of one, whose results have the extents of the
    data, are replaced, for a ``layout`` of ``NHWC`` or ``NCHW`` and windows of ``kernel_size`` in both directions.  Of
    each weight in ``weight_name``, ``weight_shape`` has the shapes of its data, its indices, and its row pointers.
    ``relay.data_dep_optimization.bsr_conv2d.convert`` makes the parts too.

    Examples
    --------
    ``Conv2dToSparse(['w'], [[(3, 2, 1), (3,), (3,)]], 'NCHW', 1)``::

        def @main(%x: Tensor[(1, 3, 5, 5), float32], %w: Tensor[(4, 3, 1, 1), float32]) { nn.conv2d(%x, %w) }
        ->
        def @main(
          %x: Tensor[(1, 3, 5, 5), float32],
          %w.data: Tensor[(3, 2, 1), float32],
          %w.indices: Tensor[(3), int32],
          %w.indptr: Tensor[(3), int32]
        ) { nn.sparse_conv2d(%x, %w.data, %w.indices, %w.indptr, layout="NCHW") }
    """

    weight_name: Sequence[str]
    weight_shape: Shapes
    layout: str
    kernel_size: int

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return _with_parts(func, _SparseConv(self.weight_name, self.weight_shape, self.layout, self.kernel_size))


class Conv2dToSparse2(RewritePass, required=("InferType",)):
    """Replace ``nn.conv2d`` by a constant weight of many zeros by ``nn.sparse_conv2d``.

    Level 0; requires InferType.  Which convolutions are replaced is as in ``Conv2dToSparse``, for the same ``layout``
    and ``kernel_size``.  ``blocksize`` has the rows and columns of a block of the weight, which has a row for each
    output channel, and ``sparsity_threshold`` the least share of zeros with which a weight is stored sparsely.

    Examples
    --------
    ``Conv2dToSparse2('NCHW', 1, (1, 1), 0.5)``, with a variable weight::

        def @main(%x: Tensor[(1, 3, 5, 5), float32], %w: Tensor[(4, 3, 1, 1), float32]) { nn.conv2d(%x, %w) }
        ->
        def @main(%x: Tensor[(1, 3, 5, 5), float32], %w: Tensor[(4, 3, 1, 1), float32]) { nn.conv2d(%x, %w) }
    """

    layout: str
    kernel_size: int
    blocksize: Sequence[int]
    sparsity_threshold: float

    def mutator(self) -> GraphMutator:
        return _SparseConstants(self.layout, self.kernel_size, self.blocksize, self.sparsity_threshold)


def _with_parts(func: Function, mutator: GraphMutator) -> Function:
    """Return a function with its layers replaced: parameters that no layer reads go, their parts come last."""
    body = mutator.rewrite(func.body)
    used = free_vars(body)
    stay = [param for param in func.params if param in used]
    return rebuild(func, params=(*stay, *(var for var in used if var not in stay)), body=body)


class _SparseLayer(GraphMutator):
    """Gives layers of one operator the parts of their weights."""

    operator: ClassVar[str]

    def __init__(self, names: Sequence[str], shapes: Shapes) -> None:
        super().__init__()
        self._shapes = dict(zip(names, shapes, strict=True))
        self._parts: dict[str, list[Var]] = {}

    @abstractmethod
    def sparse(self, call: Call, weight: Sequence[RelayExpr]) -> Call | None:
        """Return a layer with a sparse weight; None if it cannot have one."""

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        weight = new.args[1] if op_name(new) == self.operator else None
        if not isinstance(weight, Var) or weight.name_hint not in self._shapes:
            return new
        return self.sparse(new, self._variables(weight.name_hint, type_of(call.args[1]))) or new

    def _variables(self, name: str, dense: Type) -> list[Var]:
        if name not in self._parts:
            assert isinstance(dense, TensorType)
            dtypes = (dense.dtype, "int32", "int32")
            parts = zip(("data", "indices", "indptr"), self._shapes[name], dtypes, strict=True)
            self._parts[name] = [Var(f"{name}.{part}", TensorType(tuple(shape), kind)) for part, shape, kind in parts]
        return self._parts[name]


class _SparseDense(_SparseLayer):
    operator = "nn.dense"

    def sparse(self, call: Call, weight: Sequence[RelayExpr]) -> Call | None:
        return call_op("nn.sparse_dense", call.args[0], *weight)


class _SparseConv(_SparseLayer):
    operator = "nn.conv2d"

    def __init__(self, names: Sequence[str], shapes: Shapes, layout: str, kernel_size: int) -> None:
        super().__init__(names, shapes)
        self._layout, self._size = layout, kernel_size

    def sparse(self, call: Call, weight: Sequence[RelayExpr]) -> Call | None:
        return _sparse_conv(call, weight, self._layout, self._size)


class _SparseConstants(GraphMutator):
    def __init__(self, layout: str, kernel_size: int, blocksize: Sequence[int], threshold: float) -> None:
        super().__init__()
        self._layout, self._size = layout, kernel_size
        self._blocksize, self._threshold = blocksize, threshold

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        weight = new.args[1] if op_name(new) == "nn.conv2d" else None
        if not isinstance(weight, Constant):
            return new
        matrix = conv_matrix(weight.data.view(), self._layout, self._size)
        if matrix is None or not sparse_enough(matrix, self._blocksize, self._threshold):
            return new
        parts = [const(part) for part in block_rows(matrix, self._blocksize)]
        return _sparse_conv(new, parts, self._layout, self._size) or new


_LAYOUTS = {"NHWC": "HWIO", "NCHW": "OIHW"}


def _sparse_conv(call: Call, weight: Sequence[RelayExpr], layout: str, size: int) -> Call | None:
    """Return a convolution by a sparse weight; None if it steps, has groups, or changes the extents of images."""
    attrs = call.attrs
    plain = attrs["data_layout"] == layout and attrs["kernel_layout"] == _LAYOUTS[layout] and not attrs["out_layout"]
    ones = set(attrs["strides"]) | set(attrs["dilation"]) | {attrs["groups"]} == {1}
    if not plain or not ones or set(attrs["padding"]) != {size // 2}:
        return None
    return call_op("nn.sparse_conv2d", call.args[0], *weight, layout=layout, kernel_size=(size, size))
