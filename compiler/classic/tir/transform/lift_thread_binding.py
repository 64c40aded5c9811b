"""Lifts thread loops around everything their threads execute."""

from __future__ import annotations

from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.expr.substitute import free_vars
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.tir.analysis.features import features
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtVisitor
from compiler.tir.transform.pass_base import FunctionRewrite


class LiftThreadBinding(FunctionRewrite):
    """Let several loops over one thread axis be one, around the innermost statement that holds them all.

    For example::

        for bx in T.thread_binding(8, "blockIdx.x"):             for bx in T.thread_binding(8, "blockIdx.x"):
            for k in range(8):                                       for tx in T.thread_binding(4, "threadIdx.x"):
                for tx in T.thread_binding(4, "threadIdx.x"):   →        for k in range(8):
                    …                                                        …
            for tx in T.thread_binding(4, "threadIdx.x"):                …
                …

    :class:`UnifyThreadBinding` puts them outside of the kernel instead.  Loops of different extents stay.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if ForKind.THREAD_BINDING not in features(func).kinds:
            return func
        loops = _ThreadLoops()
        loops.visit(func.body)
        return func.with_body(_Lift(loops).visit(func.body))


class _ThreadLoops(StmtVisitor):
    """Finds out, kernel by kernel, where loops over one axis have their place together."""

    def __init__(self) -> None:
        self.lifted: dict[For, list[For]] = {}  # the loops that come right within another one, with fresh variables
        self.replaced: dict[For, For] = {}  # the loops that go, and those that stand for them
        self._around: list[For] = []
        self._kernel: dict[str, list[tuple[For, tuple[For, ...]]]] = {}
        self._inside = False

    def visit_For(self, n: For) -> None:
        bound = n.kind is ForKind.THREAD_BINDING and n.thread_binding is not None
        outermost = bound and not self._inside
        if bound and n.thread_binding is not None:
            self._inside = True
            self._kernel.setdefault(n.thread_binding.thread_tag, []).append((n, tuple(self._around)))
        self._around.append(n)
        self.visit(n.body)
        self._around.pop()
        if outermost:
            for loops in self._kernel.values():
                self._join(loops)
            self._kernel, self._inside = {}, False

    def _join(self, loops: list[tuple[For, tuple[For, ...]]]) -> None:
        """Let loops over one axis be one within the innermost loop around all of them."""
        first, place = loops[0]
        annotations: dict[str, object] = {}
        for loop, around in loops:
            same = structural_equal((loop.min, loop.extent), (first.min, first.extent))
            if not same or loop in place or first in around:
                return
            place = tuple(a for a, b in zip(place, around, strict=False) if a is b)
            annotations |= loop.annotations
        left = {loop.loop_var for _, around in loops for loop in around[len(place) :]}
        if len(loops) == 1 or not place or not left.isdisjoint(free_vars((first.min, first.extent))):
            return
        var = Var(first.loop_var.name, first.loop_var.dtype)
        one = rebuild(first, loop_var=var, annotations=annotations)
        self.lifted.setdefault(place[-1], []).append(one)
        self.replaced |= {loop: one for loop, _ in loops}


class _Lift(StmtExprMutator):
    def __init__(self, loops: _ThreadLoops) -> None:
        self._loops = loops
        self._values: dict[Var, PrimExpr] = {}

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._values.get(n, n)

    def visit_For(self, n: For) -> Stmt:
        one = self._loops.replaced.get(n)
        if one is not None:
            self._values[n.loop_var] = one.loop_var
            return self.visit(n.body)
        low, extent, body = self.visit(n.min), self.visit(n.extent), self.visit(n.body)
        for loop in reversed(self._loops.lifted.get(n, [])):
            body = rebuild(loop, body=body)
        return rebuild(n, min=low, extent=extent, body=body)
