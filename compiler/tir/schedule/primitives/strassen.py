"""``strassen``: computes a product of matrices by seven products of quarters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.arith import Analyzer
from compiler.arith.minimal_filtering import Matrix, combination, select
from compiler.arith.strassen import PRODUCTS, factors
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.roles import BLOCK
from compiler.tir.schedule.primitives.fewer_products import Stages, extents_of, factors_of, region, replace_products
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.stmt import SeqStmt


@primitive("Strassen", block=BLOCK)
def strassen(state: ScheduleState, block: StmtSRef) -> None:
    """Compute a product of matrices by Strassen's seven products of sums of their quarters, instead of eight.

    Results are rounded otherwise, and infinities make NaNs::

                                         A_left: seven sums of quarters of A, halves of rows and of what is summed up
        C[i, j] +=                       B_right: those of B
            A[i, k] * B[k, j]       →    C_products[p, i, j] += A_left[p, i, k] * B_right[p, k, j]
                                         C[i + u * m / 2, j + v * n / 2] = sums of C_products[:, i, j]

    The block, which is that of the products then, is expected to add products of float32 or float64 up, from zero,
    indexed by its axes.  Of the axes of A and C alone, of B and C alone, and of those that are summed up, the largest
    is halved; others stay.  Raises ScheduleError if it is another one, or one of them is odd.
    """

    def made() -> Stages:
        matrices = _matrices(block.block)
        if matrices is None:
            refuse(
                "The block {0} must add up products of elements A[…, i, …, k, …] and B[…, k, …, j, …] of float32 or "
                "float64, whose axes have even extents",
                block,
            )
        return _Quarters(matrices, block.block)

    replace_products(state, block, "strassen", made)


def halves(block: Block) -> tuple[int, int, int] | None:
    """Return the extents of the rows, columns and sums of the quarters; None if the primitive does not take a block."""
    matrices = _matrices(block)
    if matrices is None:
        return None
    rows, columns, sums = (matrices.extents[axis] // 2 for axis in matrices.halved)
    return rows, columns, sums


@dataclass(frozen=True)
class _Matrices:
    """A sum of products ``left[…] * right[…]``, of which the axes ``halved`` are rows, columns and a reduced one."""

    out: BufferStore
    left: BufferLoad
    right: BufferLoad
    halved: tuple[Var, Var, Var]
    extents: dict[Var, int]


def _matrices(block: Block) -> _Matrices | None:
    extents, out, taken = extents_of(block), block.body, factors_of(block)
    if extents is None or taken is None or not isinstance(out, BufferStore):
        return None
    analyzer = Analyzer()  # indices of what was packed, and inlined, are those before by a rule
    for axis in block.iter_vars:
        analyzer.bind(axis.var, axis.dom)
    operands = [BufferLoad(each.buffer, tuple(map(analyzer.simplify, each.indices))) for each in taken]
    reduced = {axis.var for axis in block.iter_vars if axis.iter_type == IterVar.CommReduce}
    left, right = (set(each.indices) for each in operands)
    spatial = extents.keys() - reduced
    same = ((out, spatial), (operands[0], left & extents.keys()), (operands[1], right & extents.keys()))
    if any(len(access.indices) != len(axes) or set(access.indices) != axes for access, axes in same):
        return None
    groups = ((left - right) & spatial, (right - left) & spatial, left & right & reduced)
    halved = [_largest_even(group, extents) for group in groups]
    rows, columns, sums = halved
    if rows is None or columns is None or sums is None or left | right != extents.keys():
        return None
    return _Matrices(out, operands[0], operands[1], (rows, columns, sums), extents)


def _largest_even(axes: Collection[PrimExpr], extents: dict[Var, int]) -> Var | None:
    even = [axis for axis in extents if axis in axes and extents[axis] % 2 == 0]
    return max(even, key=lambda axis: extents[axis], default=None)


class _Quarters(Stages):
    """The blocks that compute a product of matrices by those of quarters."""

    def __init__(self, matrices: _Matrices, block: Block) -> None:
        super().__init__(block, matrices.out.buffer)
        self._m = matrices
        self._sizes = {axis: n // 2 if axis in matrices.halved else n for axis, n in matrices.extents.items()}
        left, right, result = factors()
        rows, columns, sums = matrices.halved
        a = self._summed("left", matrices.left, (rows, sums), left)
        b = self._summed("right", matrices.right, (sums, columns), right)
        self.products, made = self._multiplied(a, b)
        self._put(made, result)

    def _summed(self, name: str, taken: BufferLoad, halved: tuple[Var, Var], matrix: Matrix) -> Buffer:
        """Add the sums of quarters of a matrix: ``(7, *axes)``."""
        axes = [axis for axis in taken.indices if isinstance(axis, Var)]
        at = {axis: self.axis(axis.name) for axis in axes}
        sizes = [self._sizes[axis] for axis in axes]
        made = self.buffer(name, [PRODUCTS, *sizes], taken.buffer.name)
        quarters = [
            BufferLoad(taken.buffer, tuple([at[axis] + self._offset(axis, halved, quarter) for axis in axes]))
            for quarter in np.ndindex(2, 2)
        ]
        put = [(self.number(p), *at.values()) for p in range(PRODUCTS)]
        stores = [BufferStore(made, combination(quarters, matrix[p].ravel()), put[p]) for p in range(PRODUCTS)]
        reads = region(taken.buffer, quarters[0].indices, quarters[-1].indices)
        self.add(made.name, dict(zip(at.values(), sizes, strict=True)), SeqStmt(tuple(stores)), reads,
                 region(made, put[0], put[-1]))  # fmt: skip
        return made

    def _offset(self, axis: Var, halved: Sequence[Var], quarter: tuple[int, ...]) -> PrimExpr:
        half = quarter[halved.index(axis)] if axis in halved else 0
        return self.number(half * self._sizes[axis])

    def _multiplied(self, left: Buffer, right: Buffer) -> tuple[Block, Buffer]:
        """Multiply sum by sum: ``(7, *axes)`` of the result."""
        m, p = self._m, self.axis("p")
        at = {axis: self.axis(axis.name) for axis in m.extents}
        spatial = [axis for axis in m.extents if axis in m.out.indices]
        shape = [PRODUCTS, *(self._sizes[axis] for axis in spatial)]
        made = self.buffer("products", shape, m.out.buffer.name)
        over = {p: PRODUCTS, **{at[axis]: self._sizes[axis] for axis in spatial}}
        sums = {at[axis]: self._sizes[axis] for axis in m.extents if axis not in spatial}
        x, y = (
            BufferLoad(buffer, (p, *(at[axis] for axis in taken.indices if isinstance(axis, Var))))
            for buffer, taken in ((left, m.left), (right, m.right))
        )
        return self.multiply(made, over, sums, x, y), made

    def _put(self, products: Buffer, matrix: Matrix) -> None:
        """Add the products up, quarter by quarter of the result."""
        m = self._m
        u, v = self.axis("u"), self.axis("v")
        at = {axis: self.axis(axis.name) for axis in m.extents if axis in m.out.indices}
        taken = [BufferLoad(products, (self.number(p), *at.values())) for p in range(PRODUCTS)]
        value = select(u * 2 + v, [combination(taken, matrix[:, a, b]) for a, b in np.ndindex(2, 2)])
        offset = {axis: half * self.number(self._sizes[axis]) for axis, half in zip(m.halved, (u, v), strict=False)}
        own = tuple(
            [offset[axis] + at[axis] if axis in offset else at[axis] for axis in m.out.indices if isinstance(axis, Var)]
        )
        over = {**{at[axis]: self._sizes[axis] for axis in at}, u: 2, v: 2}
        reads = region(products, taken[0].indices, taken[-1].indices)
        self.add(f"{m.out.buffer.name}_result", over, BufferStore(m.out.buffer, value, own), reads,
                 region(m.out.buffer, own, own))  # fmt: skip
