"""Tensors, and the interface of the operations that compute them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from compiler.arith.int_set import IntervalSet, IntSet
from compiler.ir.error import ArgumentError, BoundError, counted, show
from compiler.ir.expr.operators import has_own_arithmetic
from compiler.ir.expr.primexpr import EQ as Equal
from compiler.ir.expr.primexpr import NE as NotEqual
from compiler.ir.expr.primexpr import (
    DataProducer,
    ExprLike,
    ExprOperators,
    IterVar,
    PrimExpr,
    ProducerLoad,
    Range,
    as_exprs,
    binary,
)
from compiler.ir.extension import extension_point, public_module
from compiler.ir.node import Node, node
from compiler.ir.serialization.codecs import register_codec

if TYPE_CHECKING:
    from compiler.arith import Analyzer
    from compiler.ir.expr.primexpr import Var

    Region: TypeAlias = tuple["Tensor", list[IntervalSet]]

__all__ = ["BaseComputeOp", "IntrinsicCall", "Operation", "Tensor", "TensorSlice"]


@node
class Operation(Node):
    """Holds or computes tensors (``outputs``); the same operation only if it is the same object.

    Its name is that of its tensors, which have ``.v0``, ``.v1``, … added where there are several.
    """

    unique_instance: ClassVar[bool] = True

    name: str
    tag: str
    attrs: Mapping[str, Any]
    outputs: tuple[Tensor, ...] = field(init=False)

    def _set_outputs(self, forms: Sequence[tuple[tuple[PrimExpr, ...], str]]) -> None:
        """Let the operation compute a tensor of each of some shapes and data types."""
        names = [f"{self.name}.v{i}" for i in range(len(forms))] if len(forms) > 1 else [self.name]
        outputs = (Tensor(names[i], shape, dtype, self, i) for i, (shape, dtype) in enumerate(forms))
        object.__setattr__(self, "outputs", tuple(outputs))

    def output(self, index: int) -> Tensor:
        """Return one of the tensors that the operation computes."""
        return self.outputs[index]

    @property
    def num_outputs(self) -> int:
        """How many tensors it computes."""
        return len(self.outputs)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that it reads, in order of first use."""
        return ()

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """The axes of its outputs."""
        return ()

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        """The axes that it reduces over."""
        return ()

    @property
    def root_iter_vars(self) -> tuple[IterVar, ...]:
        """All axes, those of the outputs first."""
        return self.axis + self.reduce_axis

    @property
    def expressions(self) -> tuple[PrimExpr, ...]:
        """The expressions whose variables, the axes left out, must have a value where it is computed."""
        return ()

    def with_inputs(self, mapping: Mapping[Tensor, Tensor]) -> Operation:
        """Return the operation with some tensors read instead of others; the very same one if it reads none of them."""
        return self

    def regions_read(self, producer: Operation, sets: Mapping[Var, IntervalSet], analyzer: Analyzer) -> list[Region]:
        """Return the elements of another operation that this one reads while its axes run over ``sets``.

        They are, for each read, a tensor and the indices along each of its dimensions; by default all of them.
        """
        read = (t for t in self.input_tensors if t.op is producer)
        return [(t, [IntSet.from_range(Range(0, extent)) for extent in t.shape]) for t in read]

    def domains_for(self, regions: list[Region], analyzer: Analyzer) -> dict[IterVar, Range]:
        """Return the domains of the axes that provide some elements."""
        return {}

    def realized(self, index: int, domains: Mapping[IterVar, Range]) -> tuple[Range, ...]:
        """Return the elements of an output that exist while the axes run over some domains."""
        return tuple(Range(0, extent) for extent in self.outputs[index].shape)


@node
class BaseComputeOp(Operation):
    """The base of operations that compute their outputs element by element, or intrinsic by intrinsic."""


def _operator(name: str) -> Callable[[Any, ExprLike], Any]:
    """Return the method of an operator for the left operand."""
    return lambda self, other: _elementwise(name, self, other)


def _reflected(name: str) -> Callable[[Any, ExprLike], Any]:
    """Return the method of an operator for the right operand."""
    return lambda self, other: _elementwise(name, other, self)


@has_own_arithmetic
@node
class Tensor(DataProducer, ExprOperators):
    """One output of an operation; the same tensor only if it is the same object.

    ``+``, ``-``, ``*`` and ``/`` make tensors, element by element, as :mod:`compiler.topi` does: ``A + 1.0``.
    """

    children: ClassVar[tuple[str, ...]] = ()

    shape: tuple[PrimExpr, ...]
    dtype: str
    op: Operation
    value_index: int

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """The axes of the operation that computes it."""
        return self.op.axis

    def __call__(self, *indices: ExprLike) -> PrimExpr:
        """Return the element at ``indices`` as an expression."""
        if len(indices) != self.ndim:
            raise BoundError(f"{self.name}: expected {counted(self.ndim, 'index', 'indices')}, got {len(indices)}")
        return ProducerLoad(self, as_exprs(indices))

    def __getitem__(self, indices: ExprLike) -> TensorSlice:
        return TensorSlice(self, indices if isinstance(indices, tuple) else (indices,))

    def asobject(self) -> PrimExpr:
        """Return the only element of a tensor without dimensions; expressions ask for it.

        Raises ArgumentError if the tensor has dimensions.
        """
        if self.ndim:
            dims = ", ".join(show(d) for d in self.shape)
            raise ArgumentError(f"{self.name}: a tensor of shape ({dims}) is not a scalar; index it: {self.name}[i]")
        return ProducerLoad(self, ())

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _operator("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _operator("divide"), _reflected("divide")

    def __neg__(self) -> Any:
        return _elementwise("negative", self)

    def astype(self, dtype: str) -> Any:
        """Convert all elements to another data type; the tensor itself if it has the type already."""
        return self if dtype == self.dtype else _elementwise("cast", self, dtype)

    def __eq__(self, other: object) -> Any:
        return self is other if isinstance(other, Tensor) else binary(Equal, self, other)

    def __ne__(self, other: object) -> Any:
        return self is not other if isinstance(other, Tensor) else binary(NotEqual, self, other)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        dims = ", ".join(show(d) for d in self.shape)
        return f"Tensor(shape=[{dims}], op.name={self.op.name})"

    __str__ = __repr__


def _elementwise(name: str, *operands: ExprLike | str) -> object:
    """Call a function of ``topi``, a layer above this one, on whole tensors."""
    load = extension_point("tensor functions").find(name)
    assert load is not None
    function: Any = load()
    return function(*[operand.asobject() if isinstance(operand, TensorSlice) else operand for operand in operands])


class IntrinsicCall(ABC):
    """What a function of indices returns that leaves the last dimensions of a tensor to an intrinsic."""

    @abstractmethod
    def operation(
        self, name: str, tag: str, attrs: Mapping[str, object], axes: Sequence[IterVar], shape: Sequence[PrimExpr]
    ) -> Operation:
        """Return the operation that calls the intrinsic once for each value of some axes."""


register_codec(
    Tensor,
    "Tensor",
    lambda tensor: {"op": tensor.op, "value_index": tensor.value_index},
    lambda fields: fields["op"].output(fields["value_index"]),
)


class TensorSlice(ExprOperators):
    """A tensor with some of its first indices; with all of them it is an expression, as in ``A[i][j]``.

    With slices among the indices it is a region, for the call of an intrinsic.
    """

    __slots__ = ("indices", "tensor")

    def __init__(self, tensor: Tensor, indices: tuple[ExprLike, ...]) -> None:
        if len(indices) > tensor.ndim:
            raise BoundError(f"{tensor.name}: expected {counted(tensor.ndim, 'index', 'indices')}, got {len(indices)}")
        self.tensor = tensor
        self.indices = indices

    def __getitem__(self, indices: ExprLike) -> TensorSlice:
        more = indices if isinstance(indices, tuple) else (indices,)
        return TensorSlice(self.tensor, self.indices + more)

    def asobject(self) -> PrimExpr:
        """Return the element as an expression; all indices must be there.

        Raises ArgumentError if an index is a slice.
        """
        if any(isinstance(index, slice) for index in self.indices):
            raise ArgumentError(f"{self.tensor.name}: an element is read with one index per dimension, got a slice")
        return self.tensor(*self.indices)

    @property
    def dtype(self) -> str:
        """The data type of the tensor."""
        return self.tensor.dtype

    def region(self) -> tuple[Range, ...]:
        """Return the elements that the indices stand for.

        Raises BoundError if there are fewer indices than dimensions. Raises ArgumentError if a slice has a step, or
        lacks its begin or its end.
        """
        if len(self.indices) != self.tensor.ndim:
            raise BoundError(
                f"{self.tensor.name}: expected {counted(self.tensor.ndim, 'index', 'indices')}, got {len(self.indices)}"
            )
        return tuple(self._range(index) for index in self.indices)

    def _range(self, index: ExprLike) -> Range:
        if not isinstance(index, slice):
            return Range.from_min_extent(index, 1)
        if index.step is not None or index.start is None or index.stop is None:
            raise ArgumentError(f"{self.tensor.name}: a slice must be begin:end, without a step, got {index}")
        return Range(index.start, index.stop)


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.te.tensor", __all__)
