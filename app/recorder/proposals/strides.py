"""Strides of the accesses of a lowered function with respect to its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Ramp, Var
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import Visitor
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, LetStmt


@dataclass(frozen=True, slots=True)
class Stride:
    """An access inside of a loop.

    Attributes
    ----------
    buffer : str
        Name of the buffer.
    dtype : str
        Of its elements.
    write : bool
        Whether it is written.
    elements : int or None
        Elements between two iterations; None if that is not a constant.
    """

    buffer: str
    dtype: str
    write: bool
    elements: int | None


def strides(func: PrimFunc, variable: Var) -> list[Stride]:
    """Return the accesses in the loops over a variable, each kind once.

    Parameters
    ----------
    func : PrimFunc
        Lowered: with flat buffers.
    variable : Var
        Of the loop; a copy of it with its name will do.

    Returns
    -------
    list of Stride
        Empty if there is no such loop.
    """
    reader = _Reader(variable.name)
    reader.visit(func.body)
    return list(dict.fromkeys(reader.strides))


class _Reader(Visitor):
    def __init__(self, name: str) -> None:
        self.strides: list[Stride] = []
        self._name = name
        self._inside: Var | None = None
        self._lets: dict[Var, PrimExpr] = {}

    def visit_For(self, n: For) -> None:
        outer = self._inside
        if n.loop_var.name == self._name:
            self._inside = n.loop_var
        self.visit_Node(n)
        self._inside = outer

    def visit_LetStmt(self, n: LetStmt) -> None:
        self.visit(n.value)
        self._lets[n.var] = substitute(n.value, self._lets)
        self.visit(n.body)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._access(n.buffer, n.indices, False)
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._access(n.buffer, n.indices, True)
        self.visit_Node(n)

    def _access(self, buffer: Buffer, indices: Sequence[PrimExpr], write: bool) -> None:
        if self._inside is None or len(indices) != 1:
            return
        index = substitute(indices[0], self._lets)
        linear = detect_linear_equation(index.base if isinstance(index, Ramp) else index, [self._inside])
        step = linear[0] if linear else None
        elements = step.value if isinstance(step, IntImm) else None
        self.strides.append(Stride(buffer.name, buffer.dtype, write, elements))
