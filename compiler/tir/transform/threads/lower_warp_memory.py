"""Lowers warp memory to the registers of its threads."""

from __future__ import annotations

from math import prod

from compiler.arith.analyzer import Analyzer
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import Call, FloorMod, IntImm, PrimExpr, Ramp, Range, Var, const, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.origin import user_place
from compiler.ir.structural import structural_equal
from compiler.ir.types import PointerType, PrimType
from compiler.tir.analysis.side_effect import reads_memory
from compiler.tir.analysis.thread_axes import ThreadAxis, launch_of
from compiler.tir.expressions.device_ops import WARP_ACTIVEMASK, WARP_SHUFFLE
from compiler.tir.expressions.tensor_core_ops import REGISTER_OPERANDS
from compiler.tir.layout.matrix_fragments import WARP
from compiler.tir.statements.allocations import element_count, pointer_scope
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, DeclBuffer, For, LetStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtExprVisitor
from compiler.tir.transform.calls.device_targets import function_target
from compiler.tir.transform.pass_base import FunctionRewrite


class LowerWarpMemory(FunctionRewrite):
    """Let each thread of a warp have its part of the warp's memory, and get the others' by shuffles.

    For example, in a function for ``cuda``::

        W = T.allocate([64], "float32", "warp")          W = T.allocate([2], "float32", "local")
        W[a * 32 + tx] = A[…]                      →     W[a] = A[…]
        B[…] = W[b * 32 + (tx + 1) % 32]                 B[…] = T.tvm_warp_shuffle(T.tvm_warp_activemask(),
                                                                                   W[b], (tx + 1) % 32, 32, 32)

    A thread may store only to its own part, which is ``m`` neighbouring elements of every ``m * width``, and access it
    by vectors.  Instructions of tensor cores are given the registers of their thread. Raises LoweringError if the
    function has no target, ``threadIdx.x`` does not fit warps, or the part of a thread cannot be found out.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        warp_size = int(getattr(function_target(func, "LowerWarpMemory"), "thread_warp_size", 1))
        return func.with_body(_Lower(warp_size).visit(func.body))


class _Lower(StmtExprMutator):
    """Finds the allocations, and the threads that they are for."""

    def __init__(self, warp_size: int) -> None:
        self._warp_size = warp_size
        self._launches: list[AttrStmt | For | LetStmt] = []

    def _within(self, n: AttrStmt | For | LetStmt) -> Stmt:
        self._launches.append(n)
        new = self.visit_Node(n)
        self._launches.pop()
        return new

    visit_AttrStmt = visit_For = visit_LetStmt = _within

    def visit_Allocate(self, n: Allocate) -> Stmt:
        if pointer_scope(n.buffer_var) != "warp":
            return self.visit_Node(n)
        visitor = _Accesses(n.buffer_var)
        for around in self._launches:
            visitor.note(around)
        visitor.visit(n.body)
        return self.visit_Node(_Rewrite(n, visitor, self._warp_size).rewritten())


class _Accesses(StmtExprVisitor):
    """Collects the stores to a pointer, ``threadIdx.x``, and the ranges of loops."""

    def __init__(self, pointer: Var) -> None:
        self._pointer = pointer
        self.stores: list[PrimExpr] = []
        self.parts: set[int] = set()  # how many elements instructions take a thread to have
        self.thread: ThreadAxis | None = None
        self.ranges: dict[Var, Range] = {}
        self.values: dict[Var, PrimExpr] = {}

    def note(self, n: AttrStmt | For | LetStmt) -> None:
        """Note what a statement around accesses launches, repeats or gives a name."""
        if isinstance(n, LetStmt):
            if not reads_memory(n.value):
                self.values[n.var] = substitute(n.value, self.values)
            return
        launch = launch_of(n)
        if launch is not None:
            for var in launch.variables:
                self.ranges[var] = Range.from_min_extent(const(0, var.dtype), launch.extent)
            if launch.tag == "threadIdx.x":
                self.thread = self.thread or ThreadAxis(launch.tag, launch.extent, n, [])
                self.thread.variables += launch.variables
        elif isinstance(n, For):
            self.ranges[n.loop_var] = Range.from_min_extent(n.min, n.extent)

    def visit_AttrStmt(self, n: AttrStmt | For | LetStmt) -> None:
        self.note(n)
        self.visit_Node(n)

    visit_For = visit_LetStmt = visit_AttrStmt

    def visit_BufferStore(self, n: BufferStore) -> None:
        if n.buffer.data is self._pointer:
            self.stores.append(n.indices[0])
        self.visit_Node(n)

    def visit_Call(self, n: Call) -> None:
        for pointer, first in _register_operands(n):
            if n.args[pointer] is self._pointer:
                part = _elements_of_thread(n)
                if part is None:
                    self.stores.append(n.args[first])
                else:
                    self.parts.add(part)
        self.visit_Node(n)


def _register_operands(n: Call) -> tuple[tuple[int, int], ...]:
    return REGISTER_OPERANDS.get(n.op.name, ()) if isinstance(n.op, Op) else ()


def _elements_of_thread(n: Call) -> int | None:
    """Return how many elements of an accumulator a thread has; None of another operand, which begins with them."""
    extents = {"tir.mma_fill": n.args[:1], "tir.mma_store": n.args[:2]}.get(n.op.name if isinstance(n.op, Op) else "")
    if extents is None:
        return None
    sizes = [extent.value for extent in extents if isinstance(extent, IntImm)]
    return sizes[0] if len(sizes) == 1 else prod(sizes) // WARP


class _Rewrite(StmtExprMutator):
    """Replaces the accesses of one allocation."""

    def __init__(self, n: Allocate, accesses: _Accesses, warp_size: int) -> None:
        self._allocation = n
        self._analyzer = Analyzer()
        self._warp_size = warp_size
        if accesses.thread is None or not isinstance(accesses.thread.extent, IntImm):
            raise self._error("there must be a threadIdx.x of a constant extent")
        self._thread = self._here = accesses.thread.variables[0]
        same = dict.fromkeys(accesses.thread.variables[1:], self._thread)
        self._same = same | {var: substitute(value, same) for var, value in accesses.values.items()}
        self._width = self._threads_of_a_warp(accesses.thread.extent.value)
        self._whole = accesses.thread.extent.value <= warp_size
        self._lane = self._thread if self._whole else Var("lane", self._thread.dtype)
        for var, extent in accesses.ranges.items():
            self._analyzer.bind(var, extent)
        if not self._whole:
            self._analyzer.bind(self._lane, Range.from_min_extent(const(0), const(self._width)))
        self._part = self._elements_of_a_part(accesses)
        data = n.buffer_var
        self._data = Var(data.name, data.dtype, PointerType(PrimType(n.dtype), "local"))
        self._buffers: dict[Buffer, Buffer] = {}

    def _error(self, what: str) -> LoweringError:
        n = self._allocation
        return LoweringError(f"LowerWarpMemory: memory {n.buffer_var.name}{user_place(n.span)}: {what}")

    def _threads_of_a_warp(self, extent: int) -> int:
        if extent > self._warp_size and extent % self._warp_size == 0:
            return self._warp_size
        if extent <= self._warp_size and self._warp_size % extent == 0:
            return extent
        raise self._error(
            f"threadIdx.x has {extent} threads, which neither divide the {self._warp_size} of a warp nor are full warps"
        )

    def _elements_of_a_part(self, accesses: _Accesses) -> int:
        """Return how many neighbouring elements belong to one thread: the coefficient of its lane in stores."""
        coefficients = set(accesses.parts)
        for index in accesses.stores:
            first = index.base if isinstance(index, Ramp) else index
            linear = detect_linear_equation(self._in_lanes(first), [self._lane])
            if not linear or not isinstance(linear[0], IntImm) or linear[0].value <= 0:
                raise self._error(f"a store to element {show(index)} must be linear in threadIdx.x")
            coefficients.add(linear[0].value)
        if len(coefficients) != 1:
            raise self._error("all stores must have the same coefficient of threadIdx.x")
        return coefficients.pop()

    def _in_lanes(self, e: PrimExpr) -> PrimExpr:
        """Return an expression in terms of the thread's place in its warp."""
        e = substitute(e, self._same) if self._same else e
        return e if self._whole else _Lanes(self._thread, self._width, self._lane).visit(e)

    def _in_threads(self, e: PrimExpr) -> PrimExpr:
        """Return an expression in terms of the variable of the threads that are launched here."""
        lane = {} if self._whole else {self._lane: self._here % self._width}
        return substitute(e, {self._thread: self._here, **lane})

    def rewritten(self) -> Stmt:
        """Return the allocation of a thread's part, with the accesses in terms of it."""
        n = self._allocation
        elements = self._analyzer.simplify(element_count(n.extents))
        if not isinstance(elements, IntImm) or elements.value % (self._part * self._width):
            raise self._error(f"its {show(elements)} elements must be a multiple of {self._part * self._width}")
        body = self.visit(n.body)
        return rebuild(n, buffer_var=self._data, extents=(const(elements.value // self._width),), body=body)

    def _split(self, index: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """Return the place in a thread's part, and the lane of the thread that has it; of a vector, all of it."""
        part, group, simplify = self._part, self._part * self._width, self._analyzer.simplify
        index = self._in_lanes(index)
        if isinstance(index, Ramp):
            last = index.base + index.stride * (index.lanes - 1)
            if not self._analyzer.can_prove_equal(index.base // part, last // part):
                raise self._error(f"the vector of elements {show(index)} must lie in the part of one thread")
            place, lane = self._split(index.base)
            return rebuild(index, base=place), lane
        place = simplify(index // group * part + index % part)
        return place, simplify(index % group // part)

    def _within(self, n: AttrStmt | For) -> Stmt:
        outside, launch = self._here, launch_of(n)
        if launch is not None and launch.tag == "threadIdx.x":
            self._here = launch.variables[0]
        new = self.visit_Node(n)
        self._here = outside
        return new

    visit_AttrStmt = visit_For = _within

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        if n.buffer.data is not self._allocation.buffer_var:
            return rebuild(n, value=value, indices=indices)
        place, lane = self._split(indices[0])
        if self._lane in free_vars(place) or not self._analyzer.can_prove_equal(lane, self._lane):
            raise self._error(f"a thread stores to element {show(n.indices[0])}, which is not in its part")
        return rebuild(n, buffer=self._local(n.buffer), value=value, indices=(self._in_threads(place),))

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        if n.buffer.data is not self._allocation.buffer_var:
            return rebuild(n, indices=indices)
        place, lane = self._split(indices[0])
        if self._lane in free_vars(place):
            raise self._error(
                f"element {show(n.indices[0])} is at an offset within its thread's part that differs between threads"
            )
        load = rebuild(n, buffer=self._local(n.buffer), indices=(self._in_threads(place),))
        if self._analyzer.can_prove_equal(lane, self._lane):
            return load
        if dt.lanes(n.dtype) != 1:
            raise self._error(f"elements {show(n.indices[0])} of another thread must be read one by one")
        mask = Call("uint32", WARP_ACTIVEMASK, ())
        width, warp = const(self._width), const(self._warp_size)
        return Call(n.dtype, WARP_SHUFFLE, (mask, load, self._in_threads(lane), width, warp))

    def visit_Call(self, n: Call) -> PrimExpr:
        args = list(self._visit_tuple(n.args))
        for pointer, first in _register_operands(n):
            if args[pointer] is self._allocation.buffer_var:
                place, lane = self._split(args[first])
                args[pointer], args[first] = self._data, self._in_threads(place)
                if _elements_of_thread(n) is None and not self._analyzer.can_prove_equal(lane, self._lane):
                    raise self._error(f"a thread passes element {show(n.args[first])}, which is not in its part")
        return rebuild(n, args=tuple(args))

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        buffer = self._local(n.buffer) if n.buffer.data is self._allocation.buffer_var else n.buffer
        return rebuild(n, buffer=buffer, body=self.visit(n.body))

    def _local(self, buffer: Buffer) -> Buffer:
        if buffer not in self._buffers:
            self._buffers[buffer] = rebuild(buffer, data=self._data)
        return self._buffers[buffer]


class _Lanes(StmtExprMutator):
    """Replaces the remainder of a thread's position by its place in the warp."""

    def __init__(self, thread: Var, width: int, lane: Var) -> None:
        self._thread, self._width, self._lane = thread, width, lane

    def visit_FloorMod(self, n: FloorMod) -> PrimExpr:
        if structural_equal(n.a, self._thread) and is_const_int(n.b, self._width):
            return self._lane
        return self.visit_Node(n)
