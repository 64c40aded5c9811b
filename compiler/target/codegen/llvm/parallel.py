"""Parallel loops: the body is outlined into a function, which an OpenMP runtime calls on every thread.

Two functions are generated per loop.  ``<name>.parallel`` runs the iterations from its first to its second argument;
captured variables are its parameters, so that pointers keep their ``noalias`` attributes.  ``<name>.thread`` is called
by OpenMP: it unpacks the captured variables and runs the thread's share, in equal contiguous chunks.
"""

from __future__ import annotations

from llvmlite import ir

from compiler.ir.expr.primexpr import Call, IntImm, Var
from compiler.ir.function import GlobalVar
from compiler.ir.functor import Visitor
from compiler.ir.memory import ALIGNMENT
from compiler.ir.node import Node
from compiler.target.codegen.llvm.allocations import STACK_BUDGET, stack_bytes, stack_elements
from compiler.target.codegen.llvm.builder import Builder
from compiler.target.codegen.llvm.state import FunctionState
from compiler.target.codegen.llvm.types import I32, I64, POINTER, VOID, Literal
from compiler.tir.expressions.builtin import CALL_PACKED
from compiler.tir.expressions.device_ops import CALL_PACKED_LOWERED, TILE_CONFIGURATION
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.stmt import TILE_PRODUCT, Allocate, AssertStmt, AttrStmt, BufferStore, For
from compiler.tir.trace import CALL_TRACE_PACKED

_NOT_NEGATIVE = f"range(i64 0, {(1 << 63) - 1})"
"""An attribute of LLVM 19, which llvmlite's list lacks: quotients of a counter, of which loops that were fused have
many, need no case for negative ones then."""


class OutlinedLoop:
    """The outlined functions of a parallel loop."""

    def __init__(self, state: FunctionState, loop: For) -> None:
        self._state = state
        self._loop = loop
        self._captured = captured_variables(loop, state)
        self._fails = _may_fail(loop.body)
        self.first: ir.Argument = None
        self.last: ir.Argument = None
        self._body: ir.Function = None

    def begin(self) -> FunctionState:
        """Start the function of the iterations and return the state for generating its body."""
        state, shared = self._state, self._state.shared
        types = [_value(state, v).type for v in self._captured]
        result = I32 if self._fails else VOID
        name = shared.module.get_unique_name(f"{state.function.name}.parallel")
        body = self._body = shared.define(name, result, [I64, I64, *types])
        body.linkage = "internal"
        self.first, self.last, *values = body.args
        self.first.name, self.last.name = "first", "last"
        builder = Builder(body.append_basic_block("entry"))
        inner = FunctionState(
            shared, body, builder, definitions=dict(state.definitions), accumulated=state.accumulated, in_parallel=True
        )
        for var, value in zip(self._captured, values, strict=True):
            value.name = var.name
            (inner.wide if var in state.wide else inner.values)[var] = value
            for new, old in ((inner.alignments, state.alignments), (inner.divisors, state.divisors)):
                if var in old:
                    new[var] = old[var]
            if var in state.distinct:
                inner.distinct.add(var)
                value.add_attribute("noalias")
        if isinstance(self._loop.min, IntImm) and self._loop.min.value >= 0:
            set.add(self.first.attributes, _NOT_NEGATIVE)
        return inner

    def finish(self, builder: ir.IRBuilder) -> None:
        """Finish the function of the iterations."""
        if self._fails:
            builder.ret(ir.Constant(I32, 0))
        else:
            builder.ret_void()

    def call(self, begin: ir.Value, extent: ir.Value) -> ir.Value | None:
        """Run the loop on all threads; return the status of a failed iteration, None if none can fail."""
        state, builder = self._state, self._state.builder
        values = [begin, extent, *(_value(state, v) for v in self._captured)]
        types = [v.type for v in values] + ([I32] if self._fails else [])
        closure_type = ir.LiteralStructType(types)
        widest = ALIGNMENT if any(isinstance(t, ir.VectorType) for t in types) else 8
        closure = state.alloca(closure_type, widest, "closure")
        stored = values + ([ir.Constant(I32, 0)] if self._fails else [])
        for number, value in enumerate(stored):
            builder.store(value, _field(builder, closure, closure_type, number))
        thread = self._thread_function(closure_type)
        start = state.shared.declare("GOMP_parallel", VOID, [POINTER, POINTER, I32, I32])
        builder.call(start, [Literal(POINTER, thread.get_reference()), closure, state.threads, ir.Constant(I32, 0)])
        if not self._fails:
            return None
        return builder.load(_field(builder, closure, closure_type, len(values)), typ=I32)

    def _thread_function(self, closure_type: ir.LiteralStructType) -> ir.Function:
        shared = self._state.shared
        name = shared.module.get_unique_name(f"{self._state.function.name}.thread")
        function = shared.define(name, VOID, [POINTER])
        function.linkage = "internal"
        closure = function.args[0]
        closure.name = "closure"
        builder = Builder(function.append_basic_block("entry"))
        if shared.debug is not None:
            place = shared.debug.place(self._loop)
            builder.debug_metadata = shared.debug.location(shared.debug.subprogram(function), place)
        count = len(closure_type.elements) - (1 if self._fails else 0)
        fields = [_field(builder, closure, closure_type, i) for i in range(count)]
        begin, extent, *captured = (builder.load(f, typ=closure_type.elements[i]) for i, f in enumerate(fields))
        first, last = self._share(builder, begin, extent)
        status = builder.call(self._body, [first, last, *captured])
        if self._fails:
            failed, done = function.append_basic_block("failed"), function.append_basic_block("done")
            builder.cbranch(builder.icmp_signed("!=", status, ir.Constant(I32, 0)), failed, done)
            builder.position_at_end(failed)
            # If several threads fail, one of their codes is returned.
            builder.atomic_rmw("xchg", _field(builder, closure, closure_type, count), status, "monotonic")
            builder.branch(done)
            builder.position_at_end(done)
        builder.ret_void()
        return function

    def _share(self, builder: ir.IRBuilder, begin: ir.Value, extent: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return the bounds of this thread's iterations, distributed as evenly as possible."""
        shared, typ = self._state.shared, extent.type
        number = builder.call(shared.declare("omp_get_thread_num", I32, []), [])
        count = builder.call(shared.declare("omp_get_num_threads", I32, []), [])
        number, count = builder.sext(number, typ), builder.sext(count, typ)
        part, rest = builder.udiv(extent, count), builder.urem(extent, count)
        one_more = builder.icmp_unsigned("<", number, rest)
        start = builder.add(builder.mul(number, part), builder.select(one_more, number, rest))
        size = builder.add(part, builder.zext(one_more, typ))
        first = builder.add(begin, start, flags=("nsw",))
        return first, builder.add(first, size, flags=("nsw",))


def _value(state: FunctionState, var: Var) -> ir.Value:
    return state.wide[var] if var in state.wide else state.values[var]


def _field(builder: ir.IRBuilder, closure: ir.Value, typ: ir.Type, number: int) -> ir.Value:
    indices = [ir.Constant(I32, 0), ir.Constant(I32, number)]
    return builder.gep(closure, indices, inbounds=True, source_etype=typ)


class _Variables(Visitor):
    """Collects the variables that a statement uses and those that it defines."""

    def __init__(self) -> None:
        self.used: dict[Var, None] = {}
        self.defined: set[object] = set()

    def visit_Var(self, n: Var) -> None:
        self.used[n] = None

    def visit_Node(self, n: Node) -> None:
        for name in n.defines:
            value = getattr(n, name)
            self.defined.update(value if isinstance(value, tuple) else (value,))
        Visitor.visit_Node(self, n)

    def _buffer(self, buffer: Buffer) -> None:
        self.used[buffer.data] = None
        for e in (*buffer.strides, buffer.elem_offset, *buffer.shape):
            self.visit(e)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._buffer(n.buffer)
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._buffer(n.buffer)
        self.visit_Node(n)


def captured_variables(loop: For, state: FunctionState) -> list[Var]:
    """Return the variables that a loop's body captures."""
    variables = _Variables()
    variables.visit(loop.body)
    return [
        v
        for v in variables.used
        if (v in state.values or v in state.wide) and v not in variables.defined and v is not loop.loop_var
    ]


def _may_fail(n: Node) -> bool:
    """Return whether a statement can make the function return early."""
    failures = _Failures()
    failures.visit(n)
    return failures.may_fail


_FALLIBLE_CALLS = (CALL_PACKED, CALL_PACKED_LOWERED, CALL_TRACE_PACKED, TILE_CONFIGURATION)


class _Failures(Visitor):
    """Looks for what can fail: assertions, calls of packed functions or subroutines, heap allocations, tiles."""

    def __init__(self) -> None:
        self.may_fail = False
        self._stack = 0

    def visit_AssertStmt(self, n: AssertStmt) -> None:
        self.may_fail = True

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        self.may_fail |= n.attr_key == TILE_PRODUCT  # the system may refuse the registers
        self.visit_Node(n)

    def visit_Call(self, n: Call) -> None:
        self.may_fail |= n.op in _FALLIBLE_CALLS or isinstance(n.op, GlobalVar)
        self.visit_Node(n)

    def visit_Allocate(self, n: Allocate) -> None:
        self._stack += stack_bytes(n)
        self.may_fail |= stack_elements(n) is None or self._stack > STACK_BUDGET
        self.visit_Node(n)
