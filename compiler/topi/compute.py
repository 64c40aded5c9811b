"""How definitions declare tensors, with the tags and typed attributes that schedules read.

A definition writes ``attrs=RowVectors(vector=16, groups=1)``, and a schedule reads ``RowVectors.of(op)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Self

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.target.target import Target
from compiler.tir.ir_builder import IRBuilder
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import Stmt
from compiler.topi.operands import Extent
from compiler.topi.tag import Tag


@dataclass(frozen=True, slots=True)
class ComputeAttrs:
    """Base of the attributes of computations."""

    @classmethod
    def of(cls, op: te.ComputeOp) -> Self:
        """Read the attributes of an operation."""
        return cls(**op.attrs)


@dataclass(frozen=True, slots=True)
class ConvWindows(ComputeAttrs):
    """Of a convolution in any layout (``Tag.CONV``).

    ``channels`` and ``columns`` are the axes of the result that are output channels and, of the spatial ones, the last.
    """

    channels: int
    columns: int
    stride: int
    dilation: int
    groups: int


@dataclass(frozen=True, slots=True)
class RowVectors(ComputeAttrs):
    """Of a convolution with its columns last (``Tag.CONV_ROWS``, ``Tag.CONV_ROWS_DEPTHWISE``).

    ``vector`` columns, a divisor of the extent of the last axis, are computed together.
    """

    vector: int
    groups: int


@dataclass(frozen=True, slots=True)
class PanelProduct(ComputeAttrs):
    """Of a product of matrices whose columns stand in panels (``Tag.MATMUL_PANELS``).

    A panel has ``width`` columns, a divisor of the extent of the last axis. If ``is_shared``, all matrices of a batch
    are multiplied with the same panels; if ``is_cut``, the last panel has more columns than the product.
    """

    width: int
    is_shared: bool
    is_cut: bool


@dataclass(frozen=True, slots=True)
class SoftmaxAxis(ComputeAttrs):
    """Of a softmax (``Tag.SOFTMAX``): the axis whose elements sum to one."""

    axis: int


def computes_by_threads() -> bool:
    """Return whether the current target computes by threads: definitions need no axes for vectors then."""
    target = Target.current()
    return target is not None and "gpu" in target.keys


def has_schedules() -> bool:
    """Return whether there is a current target, whose schedules then choose how sums are laid out."""
    return Target.current() is not None


def compute(
    shape: Sequence[Extent],
    element: Callable[..., PrimExpr],
    name: str,
    tag: Tag,
    attrs: ComputeAttrs | None = None,
    varargs_names: Sequence[str] | None = None,
) -> te.Tensor:
    """Declare a tensor by an expression for each of its elements: ``te.compute`` of one output, with a tag.

    ``element`` takes one index variable a dimension; a reduction must be the whole of what it returns.
    """
    options = asdict(attrs) if attrs is not None else {}
    return te.compute(tuple(shape), element, name, tag, options, varargs_names)


def by_loops(
    inputs: Sequence[te.Tensor],
    results: Sequence[tuple[Sequence[Extent], str]],
    loops: Callable[..., None],
    name: str,
    tag: str = "",
) -> list[te.Tensor]:
    """Declare tensors, each by its shape and data type, that loops write.

    ``loops(builder, *memory)`` takes that of the inputs, then that of the results.
    """

    def statement(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        ib = tir.ir_builder.create()
        loops(ib, *(ib.buffer_ptr(each) for each in (*ins, *outs)))
        return ib.get()

    shapes, dtypes = [shape for shape, _ in results], [dtype for _, dtype in results]
    buffers = [decl_buffer(t.shape, t.dtype, t.name) for t in inputs]
    made = te.extern(shapes, inputs, statement, name, dtypes, buffers, tag=tag)
    return [made] if isinstance(made, te.Tensor) else made


@contextmanager
def nested(ib: IRBuilder, extents: Sequence[Extent], name: str) -> Iterator[tuple[Var, ...]]:
    """Open a loop for each extent and give their variables."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(ib.for_range(0, extent, f"{name}{d}")) for d, extent in enumerate(extents))
