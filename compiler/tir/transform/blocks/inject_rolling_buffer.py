"""Rolling buffers: keeps what the previous iteration computed, in a circular buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.arith import Analyzer
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir.expr.primexpr import Call, FloorMod, IntImm, Or, PrimExpr, Range, Var, const
from compiler.ir.functor import nodes_of
from compiler.ir.node import rebuild
from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import likely
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize
from compiler.tir.statements.stmt import AttrStmt, BufferStore, For, ForKind, IfThenElse, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator, statements_of
from compiler.tir.transform.pass_base import FunctionRewrite

SCOPE = "rolling_buffer_scope"


class InjectRollingBuffer(FunctionRewrite):
    """Compute only what the iterations before did not, for buffers marked by ``s[B].rolling_buffer()``.

    The windows that consecutive iterations of a loop read overlap.  The buffer moves out of the outermost such loop;
    along the dimension of that loop it wraps around, and has as many elements as one iteration needs::

        for i in range(8):                           T.realize(B[0:3])
            T.realize(B[i:i + 3])                    for i in range(8):
            with T.attr(B, "rolling_buffer_scope"):      for j in range(3):
                for j in range(3):              →            if T.likely(i < 1 or j >= 2):
                    B[j + i] = A[j + i]                          B[(j + i) % 3] = A[j + i]
            C[i] = B[i] + B[i + 1] + B[i + 2]            C[i] = B[i % 3] + B[(i + 1) % 3] + B[(i + 2) % 3]

    Only serial and unrolled loops directly around each other are rolled, whose iterations follow each other.  A buffer
    without overlapping windows, or one that calls get the address of, is computed anew in each iteration.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_Inject().visit(func.body)) if SCOPE in features(func).attrs else func


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """How the bounds of one dimension follow the loops around the buffer."""

    bounds: Range
    loops: tuple[For, ...]  # the loops that the lower bound is linear in
    strides: tuple[int, ...]  # by how much an iteration of each moves it

    @property
    def overlap(self) -> int:
        """How many elements two consecutive iterations share; 0 if several loops move the window."""
        if len(self.loops) != 1 or not isinstance(self.bounds.extent, IntImm):
            return 0
        return max(self.bounds.extent.value - self.strides[0], 0)

    def over(self, loops: Sequence[For], analyzer: Analyzer) -> Range:
        """Return the bounds of all iterations of some loops together."""
        low, extent = self.bounds.min, self.bounds.extent
        for loop, stride in zip(self.loops, self.strides, strict=True):
            if loop in loops:
                low = low - loop.loop_var * stride + loop.min * stride
                extent = extent + (loop.extent - 1) * stride
        return Range.from_min_extent(analyzer.simplify(low), analyzer.simplify(extent))


@dataclass(frozen=True, slots=True, eq=False)
class _RollingBuffer:
    """A buffer that wraps around."""

    realize: BufferRealize
    windows: tuple[_Window, ...]
    loops: list[For]  # those inside of its new place, the outermost first
    dim: int

    def guards(self, indices: Sequence[PrimExpr], analyzer: Analyzer) -> list[PrimExpr]:
        """Return the conditions under which an element was not computed before, one for each loop that overlaps."""
        conditions: list[PrimExpr] = []
        for window, index in zip(self.windows, indices, strict=True):
            if window.overlap and window.loops[0] in self.loops:
                (loop,) = window.loops
                place = analyzer.simplify(index - window.bounds.min)
                first = analyzer.simplify(loop.loop_var < loop.min + 1)
                conditions.append(Or(first, place >= const(window.overlap, place.dtype)))
        return conditions

    def wrapped(self, indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        """Return where an element lies."""
        new = list(indices)
        new[self.dim] = FloorMod(new[self.dim], self.windows[self.dim].bounds.extent)
        return tuple(new)

    def outside(self, body: Stmt, analyzer: Analyzer) -> BufferRealize:
        """Return the buffer in its new place."""
        bounds = [window.over(self.loops, analyzer) for window in self.windows]
        extent = self.windows[self.dim].bounds.extent
        bounds[self.dim] = Range.from_min_extent(const(0, extent.dtype), extent)
        return rebuild(self.realize, bounds=tuple(bounds), body=body)


class _Inject(StmtExprMutator):
    def __init__(self) -> None:
        self._analyzer = Analyzer()
        self._loops: list[For] = []
        self._rolled: dict[Buffer, _RollingBuffer] = {}
        self._producing: set[Buffer] = set()

    def visit_For(self, n: For) -> Stmt:
        if n.kind not in (ForKind.SERIAL, ForKind.UNROLLED):
            return self._fresh(n)
        self._loops.append(n)
        new: Stmt = rebuild(n, body=self.visit(n.body))
        self._loops.pop()
        moved = [r for r in self._rolled.values() if r.loops[0] is n]
        for rolled in moved:
            new = rolled.outside(new, self._analyzer)
            del self._rolled[rolled.realize.buffer]
        return new

    def _fresh(self, n: Stmt) -> Stmt:
        """Visit what breaks the row of loops."""
        loops, self._loops = self._loops, []
        new: Stmt = self.visit_Node(n)
        self._loops = loops
        return new

    visit_IfThenElse = visit_LetStmt = _fresh

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key != SCOPE:
            return self._fresh(n)
        if n.node not in self._rolled:
            return self.visit(n.body)
        self._producing.add(n.node)
        body = self.visit(n.body)
        self._producing.remove(n.node)
        return body

    def visit_BufferRealize(self, n: BufferRealize) -> Stmt:
        rolled = _roll(n, self._loops) if _is_marked(n) else None
        if rolled is None:
            return self.visit_Node(n)
        self._rolled[n.buffer] = rolled
        return self.visit(n.body)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        rolled = self._rolled.get(n.buffer)
        return rebuild(n, indices=indices if rolled is None else rolled.wrapped(indices))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        rolled = self._rolled.get(n.buffer)
        if rolled is None:
            return self.visit_Node(n)
        indices = self._visit_tuple(n.indices)
        new: Stmt = rebuild(n, value=self.visit(n.value), indices=rolled.wrapped(indices))
        if n.buffer in self._producing:
            for condition in rolled.guards(indices, self._analyzer):
                new = IfThenElse(likely(condition), new)
        return new


def _is_marked(n: BufferRealize) -> bool:
    """Return whether a buffer is to roll, and is accessed by its elements alone."""
    attrs = list(statements_of(n.body, AttrStmt))
    if not any(attr.attr_key == SCOPE and attr.node is n.buffer for attr in attrs):
        return False
    bound = any(attr.attr_key == "buffer_bind_scope" and n.buffer in attr.node for attr in attrs)
    return not bound and not any(arg is n.buffer.data for call in nodes_of(n.body, Call) for arg in call.args)


def _roll(n: BufferRealize, loops: Sequence[For]) -> _RollingBuffer | None:
    """Return how a buffer rolls in the loops around it, or None if no windows overlap there."""
    windows = tuple(_window(bounds, loops) for bounds in n.bounds)
    movers = [loop for window in windows if window for loop in window.loops]
    if None in windows or len(movers) != len(set(movers)):
        return None
    described = tuple(w for w in windows if w is not None)
    for depth, loop in enumerate(loops):
        for dim, window in enumerate(described):
            if window.overlap and window.loops[0] is loop:
                return _RollingBuffer(n, described, list(loops[depth:]), dim)
    return None


def _window(bounds: Range, loops: Sequence[For]) -> _Window | None:
    """Return how bounds follow the loops, or None if not by constant steps forward."""
    variables: list[Var] = [loop.loop_var for loop in loops]
    linear = detect_linear_equation(bounds.min, variables)
    if not linear or not isinstance(bounds.extent, IntImm):
        return None
    strides = [c.value if isinstance(c, IntImm) else -1 for c in linear[:-1]]
    if min(strides, default=0) < 0:
        return None
    moving = [(loop, stride) for loop, stride in zip(loops, strides, strict=True) if stride]
    return _Window(bounds, tuple(loop for loop, _ in moving), tuple(stride for _, stride in moving))
