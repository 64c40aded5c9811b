"""Code generation for statements."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

from llvmlite import ir

from compiler.arith.linear.detect_linear_equation import linear_in
from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.expr.coercion import is_const_int
from compiler.ir.expr.primexpr import (
    Add,
    Broadcast,
    Call,
    IntImm,
    IterVar,
    Max,
    Min,
    Mul,
    PrimExpr,
    StringImm,
    Var,
    const,
)
from compiler.ir.expr.scalars import int_value
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.functor import Functor, nodes_of
from compiler.ir.memory import ALIGNMENT
from compiler.ir.structural import structural_equal, structural_hash
from compiler.runtime.parallel.threads import parallel_runtime
from compiler.target.codegen.llvm.allocations import STACK_BUDGET, stack_bytes, stack_elements
from compiler.target.codegen.llvm.expressions import Expressions
from compiler.target.codegen.llvm.memory import divisor
from compiler.target.codegen.llvm.parallel import OutlinedLoop
from compiler.target.codegen.llvm.selection.matrix_products import matrix_product
from compiler.target.codegen.llvm.selection.product_groups import grouped_products
from compiler.target.codegen.llvm.selection.speculation import is_speculatable
from compiler.target.codegen.llvm.selection.sum_parts import sum_parts
from compiler.target.codegen.llvm.selection.tile_products import tile_product
from compiler.target.codegen.llvm.selection.turned_loads import TurnedLoad, columns, turned_load
from compiler.target.codegen.llvm.state import NOT_UNROLLED, UNROLLED_AS_VECTORS, FunctionState
from compiler.target.codegen.llvm.types import I32, I64, POINTER, constant, memory_type, null
from compiler.target.target import Target
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.producer_stmt import Prefetch
from compiler.tir.statements.stmt import COPROC_UOP_SCOPE, IMPORT_LLVM, RUN_ONCE, THREAD_KEYS, TILE_PRODUCT, For, Stmt

_ROW_BITS = 256
"""Rows are multiples of so many bits, which a register of 512 bits has twice."""


class Statements(Functor):
    """Generates code for statements at the end of the current function."""

    def __init__(self, state: FunctionState) -> None:
        self.state = state
        self.expressions = Expressions(state)

    def visit(self, n: Stmt, *args: object) -> None:
        """Write a statement."""
        self.expressions.locator.statement(n)
        Functor.visit(self, n)

    def visit_Node(self, n: Stmt) -> None:
        raise BuildError(f"LLVM code generation: {type(n).__name__} must be lowered before code generation")

    def visit_SeqStmt(self, n: tir.SeqStmt) -> None:
        for item, printed in grouped_products(n.seq, self.state.shared.target):
            self.expressions.locator.statement(printed)
            Functor.visit(self, item)

    def visit_Evaluate(self, n: tir.Evaluate) -> None:
        if not isinstance(n.value, (IntImm, StringImm)):
            self.expressions.visit(n.value)

    def visit_LetStmt(self, n: tir.LetStmt) -> None:
        # A value computed from loop variables alone is an index, and cannot overflow.
        if n.var.dtype in ("int32", "int64") and is_speculatable(n.value):
            self.state.wide[n.var] = self.expressions.index(n.value)
            self.state.definitions[n.var] = substitute(n.value, self.state.definitions)
        else:
            self.state.values[n.var] = self.expressions.visit(n.value)
            if n.var.dtype == "handle":
                self.state.distinct.clear()  # an alias of memory that another pointer points to
        self.state.divisors[n.var] = divisor(n.value, self.state.divisors)
        self.visit(n.body)

    def visit_DeclBuffer(self, n: tir.DeclBuffer) -> None:
        self.visit(n.body)

    def visit_Prefetch(self, n: Prefetch) -> None:
        """Ignore the hint, as the buffer has no address yet."""

    def visit_AttrStmt(self, n: tir.AttrStmt) -> None:
        if n.attr_key in THREAD_KEYS:
            axis = n.node.var.name if isinstance(n.node, IterVar) else str(n.node)
            raise BuildError(_THREADS.format(axis))
        if n.attr_key == IMPORT_LLVM and isinstance(n.value, StringImm):
            self.state.shared.imported.append(n.value.value)
        if n.attr_key == COPROC_UOP_SCOPE:
            self._once(n)
        elif n.attr_key != TILE_PRODUCT or not self._in_blocks(n.body):
            self.visit(n.body)

    def _in_blocks(self, body: Stmt) -> bool:
        memory = self.expressions.memory
        return tile_product(self.state, memory, body) or matrix_product(self.state, memory, body)

    def _once(self, n: tir.AttrStmt) -> None:
        """Generate statements that are executed by the first call only."""
        name = n.value.value if isinstance(n.value, StringImm) else str(n.value)
        if name != RUN_ONCE:
            raise BuildError(f"build: {COPROC_UOP_SCOPE} {name!r} is for a coprocessor; a CPU only has {RUN_ONCE!r}")
        state, builder = self.state, self.state.builder
        done = state.shared.variable(I32, "done")
        body, after = state.block("once"), state.block("once.end")
        before = builder.atomic_rmw("xchg", done, ir.Constant(I32, 1), "seq_cst")
        builder.cbranch(builder.icmp_signed("==", before, ir.Constant(I32, 0)), body, after)
        state.enter(body)
        self.visit(n.body)
        builder.branch(after)
        state.enter(after)

    def visit_BufferStore(self, n: tir.BufferStore) -> None:
        parts = sum_parts(n, self.state.accumulated, self.state.shared.target.vector_bits)
        for part, value in [(part, self.expressions.visit(part.value)) for part in parts]:
            self.expressions.memory.store(part.buffer, part.indices, value)
        if parts:
            return
        value = self.expressions.visit(n.value)
        mask = None if n.predicate is None else self.expressions.visit(n.predicate)
        self.expressions.memory.store(n.buffer, n.indices, value, mask)

    # control

    def visit_IfThenElse(self, n: tir.IfThenElse) -> None:
        state, builder = self.state, self.state.builder
        condition = self.expressions.visit(n.condition)
        then, after = state.block("if.then"), state.block("if.end")
        other = state.block("if.else") if n.else_case is not None else after
        builder.cbranch(condition, then, other)
        state.enter(then)
        self.visit(n.then_case)
        builder.branch(after)
        if n.else_case is not None:
            state.enter(other)
            self.visit(n.else_case)
            builder.branch(after)
        state.enter(after)

    def visit_AssertStmt(self, n: tir.AssertStmt) -> None:
        text = n.message.value if isinstance(n.message, StringImm) else str(n.message)
        self.state.require(self.expressions.visit(n.condition), self.state.shared.message(text))
        self.visit(n.body)

    def visit_While(self, n: tir.While) -> None:
        state, builder = self.state, self.state.builder
        test, body, after = state.block("while.test"), state.block("while.body"), state.block("while.end")
        builder.branch(test)
        state.enter(test)
        builder.cbranch(self.expressions.visit(n.condition), body, after)
        state.enter(body)
        self.visit(n.body)
        builder.branch(test)
        state.enter(after)

    def visit_For(self, n: For) -> None:
        if n.kind is tir.ForKind.THREAD_BINDING:
            raise BuildError(_THREADS.format(n.loop_var.name))
        if n.kind is not tir.ForKind.PARALLEL:
            self._serial(n)
        elif self.state.in_parallel:
            raise BuildError(_NESTED_PARALLEL.format(n.loop_var.name))
        elif self.state.shared.parallel:
            self._parallel(n)
        else:
            warnings.warn(parallel_runtime(), RuntimeWarning, stacklevel=2)
            self.state.in_parallel = True
            self._serial(n)
            self.state.in_parallel = False

    def _serial(self, n: For) -> None:
        begin = self.expressions.index(n.min)
        if isinstance(n.extent, IntImm) and n.extent.value == 1:
            self.state.wide[n.loop_var] = begin
            self.visit(n.body)
            return
        end = self.expressions.index(n.extent if is_const_int(n.min, 0) else n.min + n.extent)
        if (load := turned_load(n, self.state)) is not None:
            self._turned(n, load)
        elif isinstance(n.extent, IntImm):
            if n.extent.value > 0:
                self.loop(n, begin, end, may_be_empty=False)
        else:
            self.loop(n, begin, end, may_be_empty=True)

    def _turned(self, n: For, of: TurnedLoad) -> None:
        """Generate a loop that loads whole rows, and in one iteration does as many as a vector has lanes."""
        steps, rest = divmod(int_value(n.extent), of.width)
        outer = Var(n.loop_var.name, n.loop_var.dtype)

        def write(first: PrimExpr) -> None:
            rows = [self.expressions.visit(row) for row in of.rows(n.loop_var, first)]
            for at, column in enumerate(columns(self.state, rows)):
                value = Var("column", of.load.dtype)
                self.state.values[value] = column
                self.visit(substitute(of.replaced(n.body, value), {n.loop_var: first + at}))

        loop = For(outer, const(0, outer.dtype), const(steps, outer.dtype), tir.ForKind.SERIAL, n.body)
        begin, end = self.expressions.index(loop.min), self.expressions.index(loop.extent)
        self.loop(loop, begin, end, False, lambda: write(n.min + outer * of.width))
        if rest:
            write(n.min + (n.extent - of.width))

    def loop(
        self, n: For, begin: ir.Value, end: ir.Value, may_be_empty: bool, write: Callable[[], None] | None = None
    ) -> None:
        """Generate a bottom-tested loop from ``begin`` to ``end``, exclusive, whose body may be written otherwise."""
        unrolled = n.kind is tir.ForKind.UNROLLED or _is_short_sum(n)
        hint = "llvm.loop.unroll.full" if unrolled else self._other_hint(n)
        with self.state.loop(n.loop_var, begin, end, hint, may_be_empty):
            if write is None:
                self.visit(n.body)
            else:
                write()
            self.expressions.locator.statement(n)

    def _other_hint(self, n: For) -> str:
        if _chains_selects(n) or self._is_register_tile(n):
            return NOT_UNROLLED
        return UNROLLED_AS_VECTORS if _is_row_of_vectors(n, self.state.shared.target) else ""

    def _is_register_tile(self, n: For) -> bool:
        """Return whether the body of a loop multiplies elements by several vectors each, of half the registers.

        LLVM would write out a few iterations, load first the elements of all of them as vectors, and spill some.
        """
        target = self.state.shared.target
        if target.vector_bits <= 128 or not isinstance(n.extent, IntImm) or any(True for _ in nodes_of(n.body, For)):
            return False
        dtypes = [each.value.dtype for each in nodes_of(n.body, tir.BufferStore)]
        bits = sum(dt.lanes(dtype) * dt.bits(dtype) for dtype in dtypes if dt.is_vector(dtype))
        sums, registers = bits // target.vector_bits, target.vector_registers
        if sums < registers // 2:
            return False
        elements = (each.value for each in nodes_of(n.body, Broadcast))
        different = {structural_hash(each) for each in elements if any(True for _ in nodes_of(each, BufferLoad))}
        return len(different) < sums and sums + len(different) * n.extent.value > registers

    def _parallel(self, n: For) -> None:
        outlined = OutlinedLoop(self.state, n)
        inner = outlined.begin()
        writer = Statements(inner)
        writer.expressions.locator.statement(n)
        writer.loop(n, outlined.first, outlined.last, may_be_empty=True)
        outlined.finish(inner.builder)
        begin = self.expressions.index(n.min)
        extent = self.expressions.index(n.extent)
        status = outlined.call(begin, extent)
        if status is not None:
            passed = self.state.builder.icmp_signed("==", status, ir.Constant(I32, 0))
            self.state.require(passed, status)

    # allocations

    def visit_Allocate(self, n: tir.Allocate) -> None:
        state = self.state
        outer = state.values.get(n.buffer_var)
        state.alignments[n.buffer_var] = ALIGNMENT
        state.distinct.add(n.buffer_var)
        count = stack_elements(n)
        if count is not None and state.stack_bytes + stack_bytes(n) <= STACK_BUDGET:
            state.stack_bytes += stack_bytes(n)
            typ = ir.ArrayType(memory_type(dt.element(n.dtype)), count * dt.lanes(n.dtype))
            state.values[n.buffer_var] = state.alloca(typ, ALIGNMENT, n.buffer_var.name)
            self.visit(n.body)
        else:
            pointer = state.values[n.buffer_var] = self._malloc(n)
            state.cleanups.append(pointer)
            self.visit(n.body)
            state.free(state.cleanups.pop())
        if outer is not None:
            state.values[n.buffer_var] = outer

    def visit_AllocateConst(self, n: tir.AllocateConst) -> None:
        state = self.state
        if n.data is None:
            raise BuildError(f"LLVM code generation: the contents of {n.buffer_var.name} are constants of its module")
        outer = state.values.get(n.buffer_var)
        state.alignments[n.buffer_var] = ALIGNMENT
        state.values[n.buffer_var] = state.shared.constant_bytes(n.data.view().tobytes(), n.buffer_var.name, ALIGNMENT)
        self.visit(n.body)
        if outer is not None:
            state.values[n.buffer_var] = outer

    def _malloc(self, n: tir.Allocate) -> ir.Value:
        state, builder = self.state, self.state.builder
        size: ir.Value = ir.Constant(I64, dt.storage_bytes(n.dtype))
        for extent in n.extents:
            value = self.expressions.index(extent)
            size = builder.mul(size, builder.sext(value, I64), flags=("nsw",))
        padded = builder.and_(builder.add(size, constant(I64, ALIGNMENT - 1)), constant(I64, -ALIGNMENT))
        allocate = state.shared.declare("aligned_alloc", POINTER, [I64, I64])
        pointer = builder.call(allocate, [constant(I64, ALIGNMENT), padded], name=n.buffer_var.name)
        enough = builder.icmp_unsigned("!=", pointer, null())
        self.state.require(enough, state.shared.message(f"not enough memory for {n.buffer_var.name}"))
        return pointer


_THREADS = (
    "build: the loop over {} is bound to a thread axis, and a CPU has none; "
    "bind is for GPU targets, on a CPU use parallel or vectorize"
)

_NESTED_PARALLEL = (
    "build: Nested parallel loop is not supported: the loop over {} runs inside of another one whose iterations the "
    "threads share already; fuse the two, or let one of them be serial"
)


MAX_CHAIN = 8
"""The maximum extent of a running maximum that LLVM may unroll into a chain of dependent selects."""


MAX_SHORT_SUM = 128
"""The maximum extent of a sum that is written out."""


def _chains_selects(n: For) -> bool:
    """Whether a loop, including inner ones, computes a running maximum or minimum of floats over many iterations.

    Unrolled, it is a chain of selects, whose analysis takes LLVM time exponential in its length.
    """
    loops: list[For] = []
    body: Stmt = n
    while isinstance(body, For):
        loops.append(body)
        body = body.body
    if not isinstance(body, tir.BufferStore) or not _is_running_choice(body):
        return False
    carried = [loop for loop in loops if not uses_var(body.indices, loop.loop_var)]
    if n not in carried:
        return False  # each iteration updates an element of its own
    extents = [loop.extent.value if isinstance(loop.extent, IntImm) else MAX_CHAIN + 1 for loop in carried]
    return math.prod(extents) > MAX_CHAIN


def _is_row_of_vectors(n: For, target: Target) -> bool:
    """Whether the iterations of a loop compute neighbours in memory that fill one to two vectors, elementwise.

    LLVM would write the elements out, and then make vectors of several rows, by shuffles of each row's elements.
    """
    if target.vector_bits < _ROW_BITS or not isinstance(n.extent, IntImm):
        return False
    store, values = n.body, dict[Var, PrimExpr]()
    while isinstance(store, (tir.LetStmt, tir.DeclBuffer)):
        if isinstance(store, tir.LetStmt):
            values[store.var] = substitute(store.value, values)
        store = store.body
    if not isinstance(store, tir.BufferStore) or dt.is_vector(store.value.dtype):
        return False
    bits = n.extent.value * dt.bits(store.value.dtype)
    if bits % _ROW_BITS or not target.vector_bits <= bits <= 2 * target.vector_bits:
        return False
    if any(load.buffer is store.buffer for load in nodes_of(store.value, BufferLoad)):
        return False
    place = linear_in(substitute(store.indices[-1], values), n.loop_var)
    return place is not None and is_const_int(place[0], 1) and not any(True for _ in nodes_of(store.value, Call))


def _is_short_sum(n: For) -> bool:
    """Whether a loop adds a few floats, one after the other, into one element: it has no vectors.

    Once it is written out, which LLVM does up to about fifty iterations, the loop around it can be vectorised.  A sum
    of vectors gains nothing, and LLVM then keeps in memory what it moves out of the loop around.
    """
    store, changing = n.body, {n.loop_var}
    while isinstance(store, (tir.LetStmt, tir.DeclBuffer)):
        if isinstance(store, tir.LetStmt) and uses_var(store.value, changing.__contains__):
            changing.add(store.var)
        store = store.body
    if not isinstance(n.extent, IntImm) or n.extent.value > MAX_SHORT_SUM or not isinstance(store, tir.BufferStore):
        return False
    value = store.value
    if not isinstance(value, Add) or not dt.is_float(value.dtype) or dt.lanes(value.dtype) > 1:
        return False
    if uses_var(store.indices, changing.__contains__):
        return False
    return isinstance(value.a, BufferLoad) and value.a.buffer is store.buffer and isinstance(value.b, BufferLoad | Mul)


def _is_running_choice(store: tir.BufferStore) -> bool:
    """Whether a statement replaces a float element by its maximum or minimum with another value."""
    value = store.value
    if not isinstance(value, Max | Min) or not dt.is_float(value.dtype):
        return False
    return any(
        isinstance(side, BufferLoad) and side.buffer is store.buffer and structural_equal(side.indices, store.indices)
        for side in (value.a, value.b)
    )
