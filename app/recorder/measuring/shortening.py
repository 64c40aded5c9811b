"""Shortened functions, which run the first iterations of their outer loops, for estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass

from compiler.ir.expr.primexpr import IntImm, const
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator

__all__ = ["FunctionExcerpt", "shortened"]

LOOPS = (ForKind.SERIAL, ForKind.PARALLEL)
"""Loops that are shortened: the iterations of others are not carried out one by one."""


@dataclass(frozen=True, slots=True)
class FunctionExcerpt:
    """A part of a function.

    Attributes
    ----------
    times : float
        How much more work the whole is, by its longest nest of loops.
    words : str
        What is left, e.g. ``4 of 1,024 iterations of i``.
    """

    module: IRModule
    times: float
    words: str


def shortened(module: IRModule, times: float, at_least: int = 1) -> FunctionExcerpt | None:
    """Return a function with about so many times less work.

    ::

        for i in range(1024):                    for i in range(8):
            for j in range(1024):        →           for j in range(1024):
                …                                        …

    Parameters
    ----------
    module : IRModule
        Lowered.
    at_least : int
        Iterations that a parallel loop keeps: one for each thread.

    Returns
    -------
    FunctionExcerpt or None
        None if its loops are too short, or not of constant length.
    """
    cut = _Shortening(times, at_least)
    functions = {
        var: func.with_body(cut.visit(func.body)) if isinstance(func, PrimFunc) else func
        for var, func in module.functions.items()
    }
    if not cut.nests:
        return None
    nest = max(cut.nests, key=lambda nest: nest.work)
    return FunctionExcerpt(IRModule(functions, module.attrs), nest.times, nest.words) if nest.times > 1 else None


@dataclass(slots=True)
class _Nest:
    """A nest of loops that was shortened: iterations of all of its loops, and how many times less they are now."""

    work: float = 1.0
    times: float = 1.0
    words: str = ""


class _Shortening(StmtMutator):
    """Shortens each nest from the outside in, until it has lost enough iterations."""

    def __init__(self, times: float, at_least: int) -> None:
        self.nests: list[_Nest] = []
        self._times = times
        self._at_least = at_least
        self._nest: _Nest | None = None

    def visit_For(self, n: For) -> Stmt:
        outermost = self._nest is None
        nest = self._nest = self._nest or _Nest()
        extent = n.extent.value if isinstance(n.extent, IntImm) else 1
        nest.work *= extent
        left = self._left(n, extent, nest)
        if left < extent:
            nest.times *= extent / left
            words = f"{left:,} of {extent:,} iterations of {n.loop_var.name}"
            nest.words = f"{nest.words} and {words}" if nest.words else words
        body = self.visit(n.body)
        if outermost:
            self.nests.append(nest)
            self._nest = None
        return rebuild(n, extent=const(left, n.extent.dtype) if left < extent else n.extent, body=body)

    def _left(self, n: For, extent: int, nest: _Nest) -> int:
        """Return how many iterations of a loop are left."""
        wanted = self._times / nest.times
        if n.kind not in LOOPS or wanted < 2 or not isinstance(n.extent, IntImm):
            return extent
        least = self._at_least if n.kind == ForKind.PARALLEL else 1
        return min(extent, max(least, math.ceil(extent / wanted)))
