"""Ranges, axes, and the reductions over axes."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from compiler.ir.error import ArgumentError, DTypeError
from compiler.ir.expr.coercion import as_exprs, cast, const, convert
from compiler.ir.expr.operators import ExprLike, ExprOperators
from compiler.ir.expr.scalars import IntImm, PrimExpr, Var
from compiler.ir.node import Node, node, older_names
from compiler.ir.origin import Span
from compiler.ir.printing.format import text_of

__all__ = ["CommReducer", "IterVar", "Range", "Reduce"]


@node
class Range(Node):
    """The integers from ``begin`` up to, but without, ``end``; ``Range(n)`` starts at 0."""

    children: ClassVar[tuple[str, ...]] = ("min", "extent")

    min: PrimExpr
    extent: PrimExpr

    def __init__(self, begin: ExprLike, end: ExprLike | None = None, span: Span | None = None) -> None:
        low, high = (const(0), convert(begin)) if end is None else (convert(begin), convert(end))
        if span is None:
            Node.__init__(self)
        else:
            Node.__init__(self, span=span)
        object.__setattr__(self, "min", cast(high.dtype, low) if isinstance(low, IntImm) else low)
        object.__setattr__(self, "extent", high - low)

    @staticmethod
    def from_fields(low: PrimExpr, extent: PrimExpr) -> Range:
        """Return the range of ``extent`` integers that starts at ``low``, two expressions of one data type."""
        r = Range.__new__(Range)
        Node.__init__(r)
        object.__setattr__(r, "min", low)
        object.__setattr__(r, "extent", extent)
        return r

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        """Return whether both are ranges with the same bounds, written the same way."""
        from compiler.ir.structural import structural_equal

        return isinstance(other, Range) and (self is other or structural_equal(self, other))

    # Tables of nodes tell them apart by identity, as they do with expressions.
    __hash__ = object.__hash__

    @staticmethod
    def from_min_extent(min_value: ExprLike, extent: ExprLike) -> Range:
        """Return the range of some integers from a first one on."""
        return Range.from_fields(convert(min_value), convert(extent))


@node
class IterVar(Node, ExprOperators):
    """An axis: a variable, its domain, and what kind of iteration it is.

    Parameters
    ----------
    dom : Range, pair of int, or None
        None if bound inference finds it out.
    var : Var or str
        A name makes a new variable.
    iter_type : int
        One of the constants of this class, e.g. ``IterVar.CommReduce`` for an axis of a reduction.
    thread_tag : str
        The axis of threads that a ``ThreadIndex`` is, e.g. ``threadIdx.x``.
    """

    DataPar: ClassVar[int] = 0
    ThreadIndex: ClassVar[int] = 1
    CommReduce: ClassVar[int] = 2
    Ordered: ClassVar[int] = 3
    DimInfo: ClassVar[int] = 4
    Opaque: ClassVar[int] = 4
    Unrolled: ClassVar[int] = 5
    Vectorized: ClassVar[int] = 6
    Parallelized: ClassVar[int] = 7
    Tensorized: ClassVar[int] = 8

    children: ClassVar[tuple[str, ...]] = ("dom", "var")
    defines: ClassVar[tuple[str, ...]] = ("var",)

    dom: Range | None
    var: Var
    iter_type: int = 0
    thread_tag: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.dom, (tuple, list)):
            object.__setattr__(self, "dom", Range(*self.dom))
        if isinstance(self.var, str):
            dtype = self.dom.extent.dtype if isinstance(self.dom, Range) else "int32"
            object.__setattr__(self, "var", Var(self.var, dtype))
        elif isinstance(self.dom, Range) and self.dom.extent.dtype != self.var.dtype:
            raise DTypeError(
                f"IterVar: {self.var.name!r} is of type {self.var.dtype}, its domain of {self.dom.extent.dtype}"
            )

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.var.name

    @property
    def dtype(self) -> str:
        """The data type of the variable."""
        return self.var.dtype

    def asobject(self) -> Var:
        """Return the variable, which is what an axis means in an expression."""
        return self.var

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__


@node
class CommReducer(Node):
    """A commutative and associative combination of values, for reductions; of several values at once for tuples.

    Parameters
    ----------
    lhs, rhs : sequence of Var
        The values so far, and those that are combined with them.
    result : sequence of PrimExpr
        The combined values, in terms of ``lhs`` and ``rhs``.
    identity_element : sequence of PrimExpr or number
        Where a reduction starts: combined with a value, they leave the value.
    """

    children: ClassVar[tuple[str, ...]] = ("result", "identity_element")
    defines: ClassVar[tuple[str, ...]] = ("lhs", "rhs")

    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[PrimExpr, ...]
    identity_element: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        for name in ("lhs", "rhs", "result", "identity_element"):
            if type(getattr(self, name)) is not tuple:
                object.__setattr__(self, name, as_exprs(getattr(self, name)))
        counts = {len(self.lhs), len(self.rhs), len(self.result), len(self.identity_element)}
        if len(counts) != 1:
            raise ArgumentError("CommReducer: there must be one lhs, rhs and identity_element for each result")

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__


@older_names(src="source", rdom="axis")
@node
class Reduce(PrimExpr):
    """One value of a reduction over axes.

    Parameters
    ----------
    source : sequence of PrimExpr or number
        What is combined, one for each value of the combiner.
    condition : PrimExpr, bool or None
        Where it is false, an iteration contributes nothing.
    value_index : int
        Which of the combiner's values this is.
    init : sequence of PrimExpr, optional
        Where the reduction starts instead of at the identity elements.
    """

    children: ClassVar[tuple[str, ...]] = ("source", "condition", "init")
    defines: ClassVar[tuple[str, ...]] = ("axis",)

    combiner: CommReducer
    source: tuple[PrimExpr, ...]
    axis: tuple[IterVar, ...]
    condition: PrimExpr
    value_index: int
    init: tuple[PrimExpr, ...] = ()
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        for name in ("source", "init"):
            if type(getattr(self, name)) is not tuple:
                object.__setattr__(self, name, as_exprs(getattr(self, name) or ()))
        if type(self.axis) is not tuple:
            object.__setattr__(self, "axis", tuple(self.axis))
        if not isinstance(self.condition, PrimExpr):
            object.__setattr__(self, "condition", const(self.condition is None or bool(self.condition), "bool"))
        object.__setattr__(self, "dtype", self.source[self.value_index].dtype)
