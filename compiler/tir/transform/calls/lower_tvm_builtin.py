"""Lowers calls and allocations of host functions to the runtime's C interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import NE, Call, IntImm, PrimExpr, StringImm, Var, cast, const
from compiler.ir.memory import ALIGNMENT
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.runtime.arrays.c_types import DTYPE_CODES, ArgTypeCode
from compiler.runtime.device import DEVICE_TYPES
from compiler.tir.expressions.builtin import (
    CALL_PACKED,
    STACK_MAKE_ARRAY,
    STACK_MAKE_SHAPE,
    address_of,
    isnullptr,
    reinterpret,
)  # fmt: skip
from compiler.tir.expressions.device_ops import (
    ALLOC_WORKSPACE,
    CALL_CPACKED,
    CALL_CPACKED_LOWERED,
    CALL_PACKED_LOWERED,
    CALL_TRACE_PACKED_LOWERED,
    FREE_WORKSPACE,
    STRUCT_GET,
    STRUCT_SET,
    THROW_LAST_ERROR,
)  # fmt: skip
from compiler.tir.expressions.struct_fields import Field
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Stmt, seq
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.trace import CALL_TRACE_PACKED
from compiler.tir.transform.calls.argument_stacks import ArgumentStacks, StackSizes, packed_arguments
from compiler.tir.transform.pass_base import FunctionRewrite

MAX_STACK_ALLOCATION = 1024
"""Allocations of so many bytes, and larger ones, are requested from the runtime."""
_LOWERED: dict[object, Op] = {
    CALL_PACKED: CALL_PACKED_LOWERED,
    CALL_CPACKED: CALL_CPACKED_LOWERED,
    CALL_TRACE_PACKED: CALL_TRACE_PACKED_LOWERED,
}
_DEVICE_ATTRIBUTES = {
    "device_type": "device_type",
    "device_context_type": "device_type",
    "device_id": "device_id",
    "device_context_id": "device_id",
}


class LowerTVMBuiltin(FunctionRewrite):
    """Put the arguments of calls onto stacks, and request memory from the runtime, in functions of the host.

    For example::

        T.call_packed("f", x, A.data)     →     stack_tcode = T.tvm_stack_alloca("arg_tcode", 3)
                                                stack_value = T.tvm_stack_alloca("arg_value", 3)
                                                T.tvm_struct_set(stack_value, 0, 12, T.Cast("int64", x))
                                                stack_tcode[0] = 0
                                                …
                                                T.tvm_call_packed_lowered("f", stack_value, stack_tcode, 0, 2)

        A = T.allocate([n], "float32")    →     A = T.TVMBackendAllocWorkspace(1, dev_id, n * 4, 2, 32)
        …                                       if T.isnullptr(A): T.tvm_throw_last_error()
                                                …
                                                if T.TVMBackendFreeWorkspace(1, dev_id, A) != 0: …

    The stacks are shared by all calls of a function; the body of a parallel loop has its own.  Allocations of a
    constant size below 1024 bytes on a CPU stay. Raises LoweringError if memory or an array is for a device whose type
    or number is not given around it, extents are used outside of a call, or the condition of a ``while`` loop calls a
    registered function.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        target: Any = func.attrs.get("target")
        if target is None or "cpu" not in target.keys:
            return func
        return rebuild(func, body=_Lower(DEVICE_TYPES["cpu"]).scope(func.body))


@dataclass(slots=True)
class _Device:
    """The device that allocations and arrays are on, as the attributes around them say."""

    device_type: PrimExpr
    device_id: PrimExpr | None = None

    def number(self) -> PrimExpr:
        if self.device_id is None:
            raise LoweringError("LowerTVMBuiltin: Unknown device id in current IR; set it with the attribute device_id")
        return cast("int32", self.device_id)


class _Lower(StmtExprMutator):
    def __init__(self, device_type: int) -> None:
        self._device = _Device(const(device_type))
        self._stacks = ArgumentStacks.of(StackSizes())
        self._before: list[Stmt] = []

    def scope(self, body: Stmt) -> Stmt:
        """Lower statements that have stacks of their own."""
        outer, self._stacks = self._stacks, ArgumentStacks.of(StackSizes.needed_by(body))
        lowered = self._stacks.around(self.visit(body))
        self._stacks = outer
        return lowered

    def visit_Stmt(self, n: Stmt) -> Stmt:
        outer, self._before = self._before, []
        lowered = self.visit_Node(n)
        before, self._before = self._before, outer
        return seq([*before, lowered]) if before else lowered

    def visit_For(self, n: tir.For) -> Stmt:
        if n.kind is not tir.ForKind.PARALLEL:
            return self.visit_Stmt(n)
        outer, self._before = self._before, []
        low, extent = self.visit(n.min), self.visit(n.extent)
        before, self._before = self._before, outer
        loop = rebuild(n, min=low, extent=extent, body=self.scope(n.body))
        return seq([*before, loop]) if before else loop

    def visit_While(self, n: tir.While) -> Stmt:
        outer, self._before = self._before, []
        condition = self.visit(n.condition)
        before, self._before = self._before, outer
        if before:
            raise LoweringError(
                f"LowerTVMBuiltin: the condition of a while loop calls a registered function: {n.condition}; "
                "call it in the body and keep what it returns in a buffer"
            )
        return rebuild(n, condition=condition, body=self.visit(n.body))

    def visit_AttrStmt(self, n: tir.AttrStmt) -> Stmt:
        name = _DEVICE_ATTRIBUTES.get(n.attr_key)
        if name is None:
            return self.visit_Stmt(n)
        outer = getattr(self._device, name)
        setattr(self._device, name, n.value)
        body = self.visit(n.body)
        setattr(self._device, name, outer)
        return body

    def visit_Allocate(self, n: tir.Allocate) -> Stmt:
        size = const(dt.storage_bytes(n.dtype), "uint64")
        for extent in n.extents:
            size = size * cast("uint64", extent)
        if self._on_stack(size):
            return self.visit_Stmt(n)
        device = (cast("int32", self._device.device_type), self._device.number())
        kind = dt.parse(n.dtype)
        hints = (const(DTYPE_CODES[kind.code]), const(kind.bits))
        memory = Call("handle", ALLOC_WORKSPACE, (*device, size, *hints))
        freed = Call("int32", FREE_WORKSPACE, (*device, n.buffer_var))
        used = _followed_by(self.visit(n.body), tir.IfThenElse(NE(freed, const(0)), _throw()))
        body = seq([tir.IfThenElse(isnullptr(n.buffer_var), _throw()), used])
        return tir.LetStmt(
            n.buffer_var, memory, tir.AttrStmt(n.buffer_var, "storage_alignment", const(ALIGNMENT), body)
        )

    def _on_stack(self, size: PrimExpr) -> bool:
        device = self._device.device_type
        on_cpu = isinstance(device, IntImm) and device.value == DEVICE_TYPES["cpu"]
        return on_cpu and isinstance(size, IntImm) and 0 < size.value < MAX_STACK_ALLOCATION

    def visit_Call(self, n: Call) -> PrimExpr:
        lowered = _LOWERED.get(n.op)
        if lowered is not None:
            return self._packed(n, lowered)
        if n.op is STACK_MAKE_SHAPE:
            return self._extents(n)
        if n.op is STACK_MAKE_ARRAY:
            return self._array(n)
        return self.visit_Node(n)

    def _packed(self, n: Call, lowered: Op) -> PrimExpr:
        """Store the arguments, and return the call that finds them on the stacks."""
        stacks, args = self._stacks, packed_arguments(n)
        with stacks.call(len(args)) as begin:
            values = [self.visit(a) for a in args]
            for position, value in enumerate(values, begin):
                self._argument(position, value)
        end = begin + len(args)
        rest: tuple[PrimExpr, ...] = (stacks.value, stacks.kinds.data, const(begin), const(end))
        if lowered is CALL_CPACKED_LOWERED:
            rest = (*rest, self.visit(n.args[-1]))
        if lowered is CALL_TRACE_PACKED_LOWERED:
            rest = (*rest, values[-1])
        return Call(n.dtype, lowered, (n.args[0], *rest))

    def _argument(self, position: int, value: PrimExpr) -> None:
        if not isinstance(value, StringImm) and value.dtype != "handle":
            value = cast(_passed_as(value.dtype), value)
        self._set(self._stacks.value, position, Field.VALUE, value)
        if isinstance(value, StringImm):
            self._kind(position, ArgTypeCode.STR)
        elif isinstance(value, Call) and value.op is STRUCT_GET:
            self._kind(position, ArgTypeCode.DLTENSOR_HANDLE)
        elif value.dtype == "handle":
            null, given = (self._stored_kind(position, k) for k in (ArgTypeCode.NULL, ArgTypeCode.HANDLE))
            self._before.append(tir.IfThenElse(isnullptr(value), null, given))
        else:
            self._kind(position, ArgTypeCode.FLOAT if dt.is_float(value.dtype) else ArgTypeCode.INT)

    def _kind(self, position: int, kind: ArgTypeCode) -> None:
        self._before.append(self._stored_kind(position, kind))

    def _stored_kind(self, position: int, kind: ArgTypeCode) -> Stmt:
        return tir.BufferStore(self._stacks.kinds, const(int(kind)), (const(position),))

    def _set(self, structure: Var, number: int, which: Field, value: PrimExpr) -> None:
        args = (structure, const(number), const(int(which)), value)
        self._before.append(tir.Evaluate(Call("int32", STRUCT_SET, args)))

    def _extents(self, n: Call) -> PrimExpr:
        """Store extents, and return where the first of them lies."""
        shape = self._stacks.shape
        values = [cast("int64", self.visit(a)) for a in n.args]
        begin = self._stacks.take_extents(len(values))
        self._before += [tir.BufferStore(shape, v, (const(begin + i),)) for i, v in enumerate(values)]
        return address_of(BufferLoad(shape, (const(begin),)))

    def _array(self, n: Call) -> PrimExpr:
        """Fill in the structure of an array, and return its address."""
        data, shape, strides, rank, kind, offset = (self.visit(a) for a in n.args)
        number = self._stacks.take_array()
        if isinstance(strides, IntImm):
            strides = reinterpret("handle", const(0, "uint64"))
        parsed = dt.parse(kind.dtype)
        fields = {
            Field.DATA: data,
            Field.SHAPE: shape,
            Field.STRIDES: strides,
            Field.NDIM: cast("int32", rank),
            Field.TYPE_CODE: const(DTYPE_CODES[parsed.code], "uint8"),
            Field.TYPE_BITS: const(parsed.bits, "uint8"),
            Field.TYPE_LANES: const(parsed.lanes, "uint16"),
            Field.BYTE_OFFSET: cast("uint64", offset * dt.storage_bytes(kind.dtype)),
            Field.DEVICE_ID: self._device.number(),
            Field.DEVICE_TYPE: cast("int32", self._device.device_type),
        }
        for which, value in fields.items():
            self._set(self._stacks.array, number, which, value)
        return Call("handle", STRUCT_GET, (self._stacks.array, const(number), const(int(Field.ADDRESS))))


def _passed_as(dtype: str) -> str:
    """Return the data type that values of ``dtype`` have among arguments."""
    if dt.lanes(dtype) > 1:
        raise LoweringError(f"LowerTVMBuiltin: registered functions cannot take vectors, got {dtype}")
    return "float64" if dt.is_float(dtype) else "int64"


def _followed_by(body: Stmt, last: Stmt) -> Stmt:
    """Return a statement with another one behind it, which sees the same buffers."""
    if isinstance(body, tir.DeclBuffer):
        return rebuild(body, body=_followed_by(body.body, last))
    return seq([body, last])


def _throw() -> Stmt:
    return tir.Evaluate(Call("int32", THROW_LAST_ERROR, ()))
