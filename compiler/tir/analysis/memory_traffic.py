"""A model of the memory traffic of loops through a cache.

The model is that of working sets: where the lines that two iterations of a loop touch fit in the cache, the second
finds there what the first has left, so that all iterations of the outermost such loop together fetch each of their
lines once; every loop around it fetches them anew.  Conflicts of sets and prefetching are left out, and so is reuse
between loops that follow each other and do not fit together: the estimate is rather too large.

References
----------
P. J. Denning: The working set model for program behavior.  Communications of the ACM 11 (5), 1968.
M. E. Wolf, M. S. Lam: A data locality optimizing algorithm.  PLDI 1991: footprints of affine accesses.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Ramp, Var
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import Visitor
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, For, LetStmt


def memory_traffic(func: PrimFunc, capacity: int, line: int, without: Collection[str] = ()) -> float | None:
    """Estimate the bytes that a call moves into a cache and back; None if an extent or access is not known.

    Accesses of buffers named in ``without`` are left out: what they add is the difference.
    """
    reader = _Reader(without)
    try:
        reader.visit(func.body)
    except _Unknown:
        return None
    lines = _fetched(reader.root, capacity // line, line)
    return float(lines * line)


class _Unknown(Exception):
    """Something is not a constant, or not affine."""


@dataclass(frozen=True, slots=True)
class _Access:
    """A read or write at ``sum(coefficient * loop variable) + base``, of neighbouring elements."""

    buffer: Var
    size: int
    coefficients: tuple[tuple[Var, int], ...]
    base: int
    lanes: int
    write: bool


@dataclass
class _Loop:
    """A loop, or the whole function, which is one of a single iteration."""

    var: Var | None
    extent: int
    accesses: list[_Access] = field(default_factory=list)
    loops: list[_Loop] = field(default_factory=list)

    def inside(self) -> dict[Var, int]:
        """Return the extents of this loop and of all below it."""
        extents = {self.var: self.extent} if self.var is not None else {}
        for loop in self.loops:
            extents.update(loop.inside())
        return extents

    def every(self) -> Iterable[_Access]:
        """Yield the accesses of this loop and of all below it."""
        yield from self.accesses
        for loop in self.loops:
            yield from loop.every()


class _Reader(Visitor):
    """Makes the tree of loops with their accesses."""

    def __init__(self, without: Collection[str]) -> None:
        self.root = self._loop = _Loop(None, 1)
        self._without = without
        self._variables: list[Var] = []
        self._lets: dict[Var, PrimExpr] = {}

    def visit_For(self, n: For) -> None:
        if not isinstance(n.extent, IntImm):
            raise _Unknown
        outer, inner = self._loop, _Loop(n.loop_var, n.extent.value)
        outer.loops.append(inner)
        self._loop = inner
        self._variables.append(n.loop_var)
        self.visit(n.body)
        self._variables.pop()
        self._loop = outer

    def visit_LetStmt(self, n: LetStmt) -> None:
        self.visit(n.value)
        self._lets[n.var] = substitute(n.value, self._lets)
        self.visit(n.body)

    def visit_Allocate(self, n: Allocate) -> None:
        self.visit(n.body)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._access(n.buffer, n.indices, False)
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self.visit(n.value)
        self._access(n.buffer, n.indices, True)

    def _access(self, buffer: Buffer, indices: Sequence[PrimExpr], write: bool) -> None:
        if buffer.name in self._without:
            return
        if len(indices) != 1:
            raise _Unknown
        index, lanes = substitute(indices[0], self._lets), dt.lanes(buffer.dtype)
        if isinstance(index, Ramp):
            if not isinstance(index.stride, IntImm) or dt.is_scalable(index.dtype):
                raise _Unknown
            lanes *= 1 + (dt.lanes(index.dtype) - 1) * abs(index.stride.value)
            index = index.base
        used = [v for v in self._variables if v in free_vars((index,))]
        linear = detect_linear_equation(index, used) if used else [index]
        values = [e.value for e in linear if isinstance(e, IntImm)]
        if not values or len(values) != len(used) + 1:
            raise _Unknown
        size = max(1, dt.bits(buffer.dtype) // 8)
        coefficients = tuple(zip(used, values[:-1], strict=True))
        self._loop.accesses.append(_Access(buffer.data, size, coefficients, values[-1], lanes, write))


def _fetched(loop: _Loop, capacity: int, line: int) -> float:
    two = {var: extent for inner in loop.loops for var, extent in inner.inside().items()}
    if loop.var is not None:
        two[loop.var] = min(2, loop.extent)
    if _footprint(loop.every(), two, line) <= capacity or not loop.loops:
        return _footprint(loop.every(), loop.inside(), line, moved=True)
    own = _footprint(loop.accesses, {}, line, moved=True)
    return loop.extent * (own + sum(_fetched(inner, capacity, line) for inner in loop.loops))


_Family = tuple[Var, int, tuple[tuple[int, int], ...], int]
"""Accesses of one buffer whose indices take the same steps, equally often: they differ in their bases only."""


def _footprint(accesses: Iterable[_Access], extents: dict[Var, int], line: int, moved: bool = False) -> float:
    """Return how many lines accesses touch while some variables go through their values.

    With ``moved``, lines that are written count twice: they come, and they go back.
    """
    families: dict[_Family, tuple[set[int], bool]] = {}
    for access in accesses:
        steps = tuple(sorted((abs(c), extents[v]) for v, c in access.coefficients if v in extents and c))
        bases, written = families.get(key := (access.buffer, access.size, steps, access.lanes), (set(), False))
        families[key] = bases | {access.base}, written or access.write
    total = 0.0
    for (_, size, steps, lanes), (bases, written) in families.items():
        lines = _lines(list(steps), sorted(bases), lanes, size, line)
        total += lines * (2 if moved and written else 1)
    return total


def _lines(steps: list[tuple[int, int]], bases: list[int], lanes: int, size: int, line: int) -> int:
    """Return the lines of an affine access: runs of neighbouring elements, and how many of them there are."""
    run, runs = lanes, 1
    if len(bases) > 1:  # as a further loop over them, evenly spaced
        steps = [*steps, (max(1, (bases[-1] - bases[0]) // (len(bases) - 1)), len(bases))]
    for step, extent in sorted(steps):
        if runs == 1 and step * size <= max(run * size, line):
            run += step * (extent - 1)
        else:
            runs *= extent
    return runs * max(1, math.ceil(run * size / line))
