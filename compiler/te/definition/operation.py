"""Placeholder and compute operations, and the functions that declare them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from compiler.arith import Analyzer, IntSet, eval_set, union
from compiler.ir import dtype as dt
from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr.operators import ExprOperators
from compiler.ir.expr.primexpr import (
    ExprLike,
    IntImm,
    IterVar,
    PrimExpr,
    ProducerLoad,
    Range,
    Reduce,
    Var,
    cast,
    convert,
)
from compiler.ir.expr.substitute import free_vars
from compiler.ir.extension import public_module
from compiler.ir.functor import nodes_of
from compiler.ir.node import node
from compiler.ir.origin import derived_from, mint_source
from compiler.te.definition.access import OutsideRead, keep_inside
from compiler.te.definition.axis import check_name
from compiler.te.definition.compute_body import LoadMutator, map_body, reads_tensors
from compiler.te.definition.tag import current_tag
from compiler.te.definition.tensor import BaseComputeOp, IntrinsicCall, Operation, Tensor
from compiler.te.scheduling.sharing import shared_values_named

if TYPE_CHECKING:
    from compiler.arith.int_set import IntervalSet
    from compiler.te.definition.tensor import Region

__all__ = [
    "ComputeOp", "PlaceholderOp", "Shape", "compute", "domain", "has_dependent_domains", "placeholder", "same_dtype",
]  # fmt: skip

Shape: TypeAlias = ExprLike | Sequence[ExprLike]
"""The extents of a tensor, or the only one."""

_, MAX_INT32 = dt.int_range("int32")


@node
class PlaceholderOp(Operation):
    """An input tensor; made by :func:`placeholder`."""

    shape: tuple[PrimExpr, ...]
    dtype: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", (Tensor(self.name, self.shape, self.dtype, self, 0),))

    def __repr__(self) -> str:
        return f"placeholder({self.name}, {hex(id(self))})"

    __str__ = __repr__


@node
class ComputeOp(BaseComputeOp):
    """Computes each element of its outputs by an expression of the axes; made by :func:`compute`.

    Attributes
    ----------
    body : tuple of PrimExpr
        One for each output; reductions of tuples differ in their ``value_index`` only.
    outside : tuple of OutsideRead
        The reads that are certain to leave their tensors, as the user wrote the computation.
    """

    axes: tuple[IterVar, ...]
    body: tuple[PrimExpr, ...]
    inputs: tuple[Tensor, ...] = field(init=False)
    outside: tuple[OutsideRead, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "outside", ())
        shape = tuple(domain(a).extent for a in self.axes)
        self._set_outputs([(shape, e.dtype) for e in self.body])
        object.__setattr__(self, "inputs", _tensors_read(self.body))

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return self.inputs

    @property
    def axis(self) -> tuple[IterVar, ...]:
        return self.axes

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        first = self.body[0]
        return first.axis if isinstance(first, Reduce) else ()

    def with_body(self, body: tuple[PrimExpr, ...]) -> ComputeOp:
        """Return an operation with another body over the same axes, under the same name, tag, attributes and origin."""
        with derived_from(self.span):
            return ComputeOp(self.name, self.tag, self.attrs, self.axes, body)

    @property
    def expressions(self) -> tuple[PrimExpr, ...]:
        return (*self.body, *(domain(a).extent for a in self.root_iter_vars))

    def with_inputs(self, mapping: Mapping[Tensor, Tensor]) -> ComputeOp:
        def replace(tensor: Tensor, indices: tuple[PrimExpr, ...]) -> PrimExpr | None:
            new = mapping.get(tensor)
            return None if new is None else ProducerLoad(new, indices)

        return self.with_body(map_body(self.body, LoadMutator(replace).visit))

    def regions_read(self, producer: Operation, sets: Mapping[Var, IntervalSet], analyzer: Analyzer) -> list[Region]:
        def region(load: ProducerLoad) -> Region:
            # An index that is data is not known before that is computed: any element may be meant.
            values = [IntSet.everything() if reads_tensors(i) else eval_set(i, sets, analyzer) for i in load.indices]
            return load.producer, values

        return [region(n) for e in self.body for n in nodes_of(e, ProducerLoad) if n.producer.op is producer]

    def domains_for(self, regions: list[Region], analyzer: Analyzer) -> dict[IterVar, Range]:
        domains = {axis: domain(axis) for axis in self.reduce_axis}
        for d, axis in enumerate(self.axes):
            needed = union([region[d] for _, region in regions], analyzer)
            domains[axis] = same_dtype(needed.cover_range(domain(axis), analyzer), axis)
        return domains

    def realized(self, index: int, domains: Mapping[IterVar, Range]) -> tuple[Range, ...]:
        return tuple(domains[a] for a in self.axes)

    def __repr__(self) -> str:
        return (
            f"compute({self.name}, body={list(self.body)}, axis={list(self.axes)}, "
            f"reduce_axis={list(self.reduce_axis)}, tag={self.tag}, attrs={self.attrs})"
        )

    __str__ = __repr__


def same_dtype(r: Range, axis: IterVar) -> Range:
    """Return a range of the data type that an axis counts in."""
    dtype = axis.var.dtype
    if r.min.dtype == dtype and r.extent.dtype == dtype:
        return r
    return Range.from_fields(r.min.astype(dtype), r.extent.astype(dtype))


def domain(axis: IterVar) -> Range:
    """Return the domain of an axis that has one."""
    assert axis.dom is not None
    return axis.dom


def has_dependent_domains(op: Operation) -> bool:
    """Return whether the domain of a reduction depends on the element that is computed, as in a triangular sum."""
    axes = {axis.var for axis in op.axis}
    extents = [e for axis in op.reduce_axis for e in (domain(axis).min, domain(axis).extent)]
    symbolic = tuple(e for e in extents if not isinstance(e, IntImm))
    return bool(symbolic) and not axes.isdisjoint(free_vars(symbolic))


def _tensors_read(body: tuple[PrimExpr, ...]) -> tuple[Tensor, ...]:
    parts = body[:1] if isinstance(body[0], Reduce) else body
    return tuple(dict.fromkeys(n.producer for e in parts for n in nodes_of(e, ProducerLoad)))


def placeholder(shape: Shape, dtype: str | None = None, name: str = "placeholder") -> Tensor:
    """Declare an input tensor; the data type is ``float32`` by default.

    Raises DTypeError if ``dtype`` is not a data type, or an extent no integer. Raises ArgumentError if an extent is
    negative, or ``name`` no string.
    """
    kind = "float32" if dtype is None else dtype
    if not isinstance(kind, str):
        raise DTypeError(f"placeholder: dtype must be a string, got {show(kind)} (tensor {show(name)})")
    dt.parse(kind)
    check_name("placeholder", name)
    with derived_from(mint_source(f"{name} = placeholder")):
        return PlaceholderOp(name, "", {}, _shape("placeholder", shape, name), kind).output(0)


@overload
def compute(
    shape: Shape,
    fcompute: Callable[..., ExprOperators | float],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Tensor: ...
@overload
def compute(
    shape: Shape,
    fcompute: Callable[..., tuple[Any, ...] | list[Any]],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def compute(
    shape: Shape,
    fcompute: Callable[..., IntrinsicCall],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any: ...
def compute(
    shape: Shape,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """Declare a tensor by an expression for its elements.

    Raises ArgumentError if an argument is not as described. Raises DTypeError if an extent or an index is not an
    integer.

    Parameters
    ----------
    shape : int, PrimExpr or sequence of them
        Extent of each dimension, in elements.
    fcompute : callable
        Takes one index variable a dimension and returns an expression, or a tuple of them for several outputs.
        A reduction must be the whole expression.  It may take fewer and return the call of an intrinsic, which computes
        the last dimensions; see :func:`decl_tensor_intrin`.
    tag : str
        What kind of computation it is, for ``topi``'s schedules.
    varargs_names : sequence of str, optional
        Names of the axes of a ``*args`` parameter of ``fcompute``.

    Returns
    -------
    Tensor or tuple of Tensor
        A tuple if ``fcompute`` returns several expressions; each tensor has the given shape and its expression's dtype.

    Notes
    -----
    An element that is read outside of a tensor is zero.  Where that is certain to happen, there is a ``BoundsWarning``
    on this line when the computation is scheduled.

    Examples
    --------
    >>> A = te.placeholder((128, 64), name="A")
    >>> k = te.reduce_axis((0, 64), name="k")
    >>> C = te.compute((128,), lambda i: te.sum(A[i, k], axis=k), name="C")
    """
    check_name("compute", name)
    kept = DictAttrs(attrs)
    span = mint_source(f"{name} = compute")
    with derived_from(span):
        dims = _shape("compute", shape, name)
        names = _axis_names(fcompute, len(dims), name, varargs_names)
        axes = tuple(_axis(Range(0, d), n, IterVar.DataPar) for n, d in zip(names, dims, strict=False))
        result = fcompute(*[a.var for a in axes])
        if isinstance(result, IntrinsicCall):
            made = result.operation(name, current_tag("compute", tag), kept, axes, dims)
            return made.outputs if made.num_outputs > 1 else made.output(0)
        if len(axes) < len(dims):
            raise _wrong_count(len(dims), len(axes), name)
        _check_elements(result, axes, name)
        several = isinstance(result, (tuple, list))
        body = tuple(convert(e) for e in result) if several else (convert(result),)
        if not body:
            raise ArgumentError(f"compute: fcompute must return an expression, got an empty tuple (tensor {name!r})")
        _check_values(body, name)
        _check_reductions(body, name)
        body, outside = keep_inside(name, axes, map_body(body, shared_values_named))
        op = ComputeOp(name, current_tag("compute", tag), kept, axes, body)
        object.__setattr__(op, "outside", outside)
    return op.outputs if several and len(body) > 1 else op.output(0)


def _shape(operation: str, shape: Shape, name: str) -> tuple[PrimExpr, ...]:
    """Return the extents of a tensor; those of one with more elements than int32 counts are 64 bits wide."""
    values = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    # n / block is a float even where it is whole, and scripts write it.
    dims = tuple(convert(int(v) if isinstance(v, float) and v.is_integer() else v) for v in values)
    for d in dims:
        if not dt.is_integral(d.dtype):
            raise DTypeError(f"{operation}: shape must be integers, got {d.dtype} {show(d)} (tensor {name!r})")
        if isinstance(d, IntImm) and d.value < 0:
            raise ArgumentError(f"{operation}: shape must not be negative, got {d.value} (tensor {name!r})")
    elements = math.prod(d.value for d in dims if isinstance(d, IntImm))
    return dims if elements <= MAX_INT32 else tuple(cast("int64", d) if dt.bits(d.dtype) < 64 else d for d in dims)


def _axis(dom: Range, name: str, kind: int) -> IterVar:
    return IterVar(dom, Var(name, dom.extent.dtype), kind)


def _axis_names(
    fcompute: Callable[..., object], ndim: int, name: str, varargs_names: Sequence[str] | None
) -> list[str]:
    if not callable(fcompute):
        raise ArgumentError(f"compute: fcompute must be callable, got {show(fcompute)} (tensor {name!r})")
    # Tensors can be called, but what `inspect` compares with them would become an expression.
    function = fcompute.__call__ if isinstance(fcompute, Tensor) else fcompute
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        message = f"compute: fcompute must be a function of the indices, got {show(fcompute)} (tensor {name!r})"
        raise ArgumentError(message) from None
    names = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        rest = ndim - len(names)
        if varargs_names is not None and len(varargs_names) != rest:
            raise ArgumentError(f"compute: varargs_names must be {rest} names, got {list(varargs_names)}")
        names += list(varargs_names or [f"i{i}" for i in range(rest)])
    if len(names) > ndim:
        raise _wrong_count(ndim, len(names), name)
    return names


def _wrong_count(ndim: int, taken: int, name: str) -> ArgumentError:
    return ArgumentError(
        f"compute: fcompute must take {ndim} indices, one for each dimension of the shape, takes {taken} "
        f"(tensor {name!r})"
    )


def _check_elements(result: object, axes: Sequence[IterVar], name: str) -> None:
    """Reject a tensor that operators on whole tensors made of elements of this one."""
    own = {axis.var for axis in axes}
    for value in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(value, Tensor) and not own.isdisjoint(free_vars(value.op.expressions)):
            raise ArgumentError(
                f"compute: fcompute must return an expression, got {value} (tensor {name!r}): an operator on"
                f" whole tensors returns a tensor; read the element of a scalar tensor as A()"
            )


def _check_values(body: tuple[PrimExpr, ...], name: str) -> None:
    for e in body:
        if e.dtype.startswith("handle"):
            raise ArgumentError(f"compute: fcompute must return a number, got {e.dtype} {show(e)} (tensor {name!r})")


def _check_reductions(body: tuple[PrimExpr, ...], name: str) -> None:
    first = body[0]
    for e in body:
        inside = (*e.source, e.condition, *e.init) if isinstance(e, Reduce) else (e,)
        for part in inside:
            if next(nodes_of(part, Reduce), None) is not None:
                raise ArgumentError(
                    "compute: a reduction is only allowed at the top level of a compute; "
                    f"reduce into a tensor of its own and read that one (tensor {name!r})"
                )
        if isinstance(first, Reduce) != isinstance(e, Reduce):
            raise ArgumentError(f"compute: all outputs must be reductions, or none (tensor {name!r})")
    if isinstance(first, Reduce) and not _outputs_of_one_reduction(body, first):
        raise ArgumentError(
            f"compute: the outputs must be the {len(first.source)} results of one reduction, in order (tensor {name!r})"
        )


def _outputs_of_one_reduction(body: tuple[PrimExpr, ...], first: Reduce) -> bool:
    return len(body) == len(first.source) and all(
        isinstance(e, Reduce) and e.combiner is first.combiner and e.value_index == i for i, e in enumerate(body)
    )


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.te.operation", __all__)
