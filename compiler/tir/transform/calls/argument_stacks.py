"""The argument stacks of packed calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, PrimExpr, StringImm, Var, const
from compiler.ir.functor import Visitor
from compiler.ir.types import PointerType, PrimType
from compiler.tir.expressions.builtin import CALL_PACKED, STACK_MAKE_ARRAY, STACK_MAKE_SHAPE
from compiler.tir.expressions.device_ops import CALL_CPACKED, STACK_ALLOCA
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import DeclBuffer, For, ForKind, LetStmt, Stmt
from compiler.tir.trace import CALL_TRACE_PACKED

_CALLS = (CALL_PACKED, CALL_CPACKED, CALL_TRACE_PACKED)


def packed_arguments(call: Call) -> tuple[PrimExpr, ...]:
    """Return the arguments that a call passes on the stacks.

    The last operand of a C function that is called like a registered one, the handle of resources, is passed by itself.
    """
    return call.args[1:-1] if call.op is CALL_CPACKED else call.args[1:]


@dataclass(slots=True)
class StackSizes:
    """How many elements of each stack are in use."""

    # values with their kinds, array structures, and their extents and strides
    arguments: int = 0
    arrays: int = 0
    extents: int = 0
    calls: int = 0  # the calls around, one within the other

    @classmethod
    def needed_by(cls, body: Stmt) -> StackSizes:
        """Return the most that statements use at a time, less what bodies of parallel loops use."""
        visitor = _Sizes()
        visitor.visit(body)
        return visitor.most

    def raise_to(self, other: StackSizes) -> None:
        """Let every size be at least that of another one."""
        self.arguments = max(self.arguments, other.arguments)
        self.arrays = max(self.arrays, other.arrays)
        self.extents = max(self.extents, other.extents)

    @contextmanager
    def call(self, arguments: int) -> Iterator[int]:
        """Make room for the arguments of a call and for its result, until it is done."""
        begin, arrays, extents = self.arguments, self.arrays, self.extents
        self.arguments += arguments + 1
        self.calls += 1
        yield begin
        self.arguments, self.arrays, self.extents = begin, arrays, extents
        self.calls -= 1


class _Sizes(Visitor):
    def __init__(self) -> None:
        self.most = StackSizes()
        self._now = StackSizes()

    def visit_For(self, n: For) -> None:
        self.visit(n.min)
        self.visit(n.extent)
        if n.kind is not ForKind.PARALLEL:
            self.visit(n.body)

    def visit_Call(self, n: Call) -> None:
        if n.op in _CALLS:
            with self._now.call(len(packed_arguments(n))):
                self.visit_Node(n)
                self.most.raise_to(self._now)
            return
        self.visit_Node(n)
        if n.op is STACK_MAKE_SHAPE:
            self._now.extents += len(n.args)
        elif n.op is STACK_MAKE_ARRAY:
            self._now.arrays += 1


@dataclass(slots=True)
class ArgumentStacks:
    """The stacks of a function, or of the body of a parallel loop, and what is in use of them."""

    sizes: StackSizes
    # pointers to the values of arguments and to the structures of arrays
    value: Var
    array: Var
    # the kinds of arguments, and the extents and strides of arrays
    kinds: Buffer
    shape: Buffer
    _now: StackSizes = field(default_factory=StackSizes)

    @classmethod
    def of(cls, sizes: StackSizes) -> ArgumentStacks:
        """Return stacks of some sizes, with nothing on them."""
        kinds = _row("stack_tcode", "int32", sizes.arguments, "uint64")
        shape = _row("stack_shape", "int64", sizes.extents, "int64")
        return cls(sizes, Var("stack_value", "handle"), Var("stack_array", "handle"), kinds, shape)

    @contextmanager
    def call(self, arguments: int) -> Iterator[int]:
        """Make room for the arguments of a call until it is done."""
        with self._now.call(arguments) as begin:
            yield begin

    def take_array(self) -> int:
        """Take room for an array; return its number.

        Raises LoweringError if this is outside of a call.
        """
        self._require_call("tvm_stack_make_array")
        self._now.arrays += 1
        return self._now.arrays - 1

    def take_extents(self, count: int) -> int:
        """Take room for some extents; return the position of the first.

        Raises LoweringError if this is outside of a call.
        """
        self._require_call("tvm_stack_make_shape")
        self._now.extents += count
        return self._now.extents - count

    def _require_call(self, name: str) -> None:
        if not self._now.calls:
            raise LoweringError(f"LowerTVMBuiltin: Expect no {name} outside of CallNodes: it is for their arguments")

    def around(self, body: Stmt) -> Stmt:
        """Return statements with the stacks that they use."""
        if not self.sizes.arguments:
            return body
        rows: list[tuple[Var, str, int, Buffer | None]] = [
            (self.kinds.data, "arg_tcode", self.sizes.arguments, self.kinds),
            (self.value, "arg_value", self.sizes.arguments, None),
        ]
        if self.sizes.arrays:
            rows.append((self.array, "array", self.sizes.arrays, None))
        if self.sizes.extents:
            rows.append((self.shape.data, "shape", self.sizes.extents, self.shape))
        for var, kind, size, declared in reversed(rows):
            body = body if declared is None else DeclBuffer(declared, body)
            body = LetStmt(var, Call("handle", STACK_ALLOCA, (StringImm(kind), const(size))), body)
        return body


def _row(name: str, dtype: str, size: int, index_dtype: str) -> Buffer:
    data = Var(name, "handle", PointerType(PrimType(dtype)))
    return decl_buffer((const(max(size, 1), index_dtype),), dtype, name, data=data)
