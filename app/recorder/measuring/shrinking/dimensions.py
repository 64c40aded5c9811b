"""Which axes and dimensions of a computation share an extent, and which extents are fixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir.expr.primexpr import CmpOp, IntImm, PrimExpr, ProducerLoad, Reduce, Var
from compiler.ir.expr.substitute import free_vars
from compiler.ir.functor import Visitor
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Operation

Dimension: TypeAlias = Var | tuple[Operation, int]
"""The variable of an axis, or a dimension of the outputs of an operation."""


@dataclass(frozen=True, slots=True)
class AffineRead:
    """A read at a sum of axes, as a convolution's: the dimension must be long enough for its largest index."""

    dimension: tuple[Operation, int]
    coefficients: dict[Var, int]
    base: int

    def extent(self, sizes: Mapping[Var, int]) -> int:
        """Return how long the dimension must be."""
        return 1 + self.base + sum(c * (sizes[v] - 1) for v, c in self.coefficients.items() if c > 0)


@dataclass
class Dimensions:
    """Classes of axes and dimensions that have one extent: a union-find.

    Fixed ones must keep their extents, because a condition or a division depends on them.
    """

    fixed: set[Dimension] = field(default_factory=set)
    affine: list[AffineRead] = field(default_factory=list)
    _parents: dict[Dimension, Dimension] = field(default_factory=dict)

    def class_of(self, member: Dimension) -> Dimension:
        """Return what represents the class of an axis or a dimension."""
        while (parent := self._parents.get(member, member)) != member:
            member = parent
        return member

    def join(self, a: Dimension, b: Dimension) -> None:
        """Say that two have the same extent."""
        self._parents[self.class_of(a)] = self.class_of(b)

    def is_fixed(self, member: Dimension) -> bool:
        """Return whether the extent of a class must stay."""
        mine = self.class_of(member)
        return any(self.class_of(other) == mine for other in self.fixed)

    def read(self, operations: Iterable[Operation]) -> None:
        """Learn from the definitions of operations."""
        for op in operations:
            if isinstance(op, ComputeOp):
                for position, axis in enumerate(op.axis):
                    self.join(axis.var, (op, position))
                reader = _BodyReader(self, [axis.var for axis in op.root_iter_vars])
                for body in op.body:
                    reader.visit(body)


class _BodyReader(Visitor):
    """Finds how the axes of an operation index what it reads."""

    def __init__(self, dimensions: Dimensions, axes: list[Var]) -> None:
        self._dimensions = dimensions
        self._axes = axes

    def visit_ProducerLoad(self, n: ProducerLoad) -> None:
        for position, index in enumerate(n.indices):
            self._index((n.producer.op, position), index)

    def _index(self, dimension: tuple[Operation, int], index: PrimExpr) -> None:
        if isinstance(index, Var):
            self._dimensions.join(index, dimension)
            return
        used = [axis for axis in self._axes if axis in free_vars((index,))]
        linear = detect_linear_equation(index, used) if used else []
        values = [e.value for e in linear if isinstance(e, IntImm)]
        if isinstance(index, IntImm):
            self._dimensions.affine.append(AffineRead(dimension, {}, index.value))
        elif linear and len(values) == len(linear):
            coefficients = dict(zip(used, values[:-1], strict=True))
            self._dimensions.affine.append(AffineRead(dimension, coefficients, values[-1]))
        else:
            self._fix(index)
            self._dimensions.fixed.add(dimension)

    def visit_Reduce(self, n: Reduce) -> None:
        for part in (*n.source, *n.init, n.condition):
            self.visit(part)

    def visit_CmpOp(self, n: CmpOp) -> None:
        self._fix(n)
        self.visit_Node(n)

    def _fix(self, e: PrimExpr) -> None:
        self._dimensions.fixed.update(axis for axis in self._axes if axis in free_vars((e,)))

    visit_FloorDiv = visit_FloorMod = _fix
