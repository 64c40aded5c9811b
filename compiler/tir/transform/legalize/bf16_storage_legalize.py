"""Stores bfloat16 as uint16 where the type does not exist."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, Cast, FloatImm, IntImm, Let, PrimExpr, Var, cast
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import Pass, PassContext
from compiler.ir.types import PointerType, PrimType
from compiler.tir.expressions.builtin import REINTERPRET
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize
from compiler.tir.statements.stmt import Allocate, AttrStmt, BufferStore, LetStmt, Stmt
from compiler.tir.transform.legalize.bf16_bits import (
    BITS,
    bits_of_exact,
    bits_of_single,
    is_exact,
    rounded_single,
    single_of_bits,
)
from compiler.tir.transform.legalize.bf16_compute_legalize import (
    BF16,
    SINGLE,
    BF16CastElimination,
    BF16Promote,
    OtherTypes,
    pointers_to_several_types,
    retyped_pointer,
)
from compiler.tir.transform.pass_base import FunctionRewrite, PrimFuncPass


class BF16StorageLegalize(FunctionRewrite):
    """Store bfloat16 as uint16, and convert by shifting and rounding.

    What computes does so in single precision already, after ``BF16ComputeLegalize``::

        C[i] = float32(A[i])     →     C[i] = T.reinterpret("float32", T.shift_left(uint32(A[i]), 16))

    The buffers of the parameters, and pointers among them, become uint16 as well.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return lowered_types(func, StorageLegalizer())


class BF16TypeLowering(BF16StorageLegalize):
    """Store bfloat16 as uint16: :class:`BF16StorageLegalize` under the name of TVM 0.8.

    For example::

        C[i] = float32(A[i])     →     C[i] = T.reinterpret("float32", T.shift_left(uint32(A[i]), 16))
    """


class BF16Legalize(Pass):
    """Compute with bfloat16 in single precision and store it as uint16: the three passes of TVM 0.8 in order.

    For example::

        C[i] = A[i] + B[i]     →     C[i] = upper_half(round(single(A[i]) + single(B[i])))
    """

    prefix: ClassVar[str] = PrimFuncPass.prefix

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for each in (BF16Promote(), BF16CastElimination(), BF16TypeLowering()):
            mod = each(mod)
        return mod


def lowered_types(func: PrimFunc, lower: StorageLegalizer) -> PrimFunc:
    """Return a function whose narrow types are stored as bits."""
    lower.shared = pointers_to_several_types(func)
    buffer_map = {param: lower.parameter(buffer) for param, buffer in func.buffer_map.items()}
    params = tuple(param if param in func.buffer_map else lower.defined(param) for param in func.params)
    body = lower.visit(func.body)
    changed = any(buffer is not func.buffer_map[param] for param, buffer in buffer_map.items())
    return (
        rebuild(func.with_body(body), params=params, buffer_map=buffer_map)
        if changed or params != func.params
        else func.with_body(body)
    )


class StorageLegalizer(OtherTypes):
    """Stores narrow types, of which there are no values, as bits: bfloat16 as uint16."""

    bits = BITS

    def __init__(self) -> None:
        super().__init__()
        # pointers to memory that other elements lie in as well, which stay what they are
        self.shared: Collection[Var] = ()

    def stored(self, dtype: str) -> str:
        """Return the integers that take the place of a narrow type."""
        return dt.with_lanes(self.bits, dt.lanes(dtype))

    def constant(self, value: float, dtype: str) -> IntImm:
        """Return the bits of a constant."""
        bits = int(np.float32(value).view(np.uint32))
        return IntImm(BITS, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF)

    def decoded(self, bits: PrimExpr, dtype: str) -> PrimExpr:
        """Return the number that bits stand for, in single precision."""
        return single_of_bits(bits)

    def encoded(self, value: PrimExpr, dtype: str) -> PrimExpr:
        """Return the bits of a number in single precision."""
        return bits_of_single(value)

    def parameter(self, buffer: Buffer) -> Buffer:
        """Return the buffer that a parameter points to, with its pointer."""
        if self.is_narrow(buffer.dtype):
            self._variables[buffer.data] = retyped_pointer(buffer.data, self.stored(buffer.dtype))
        return self._buffer(buffer)

    def visit_FloatImm(self, n: FloatImm) -> PrimExpr:
        if not self.is_narrow(n.dtype):
            return n
        return self.constant(n.value, n.dtype)

    def short_cut(self, n: Cast) -> PrimExpr | None:
        """Return a conversion that needs fewer steps than one to or from bits; None for others."""
        inner, single = n.value, dt.with_lanes(SINGLE, dt.lanes(n.dtype))
        if dt.element(n.dtype) == BF16 and inner.dtype == single and is_exact(inner):
            return bits_of_exact(self.visit(inner))
        if isinstance(inner, Cast) and dt.element(inner.dtype) == BF16 and n.dtype == single == inner.value.dtype:
            value = self.visit(inner.value)
            return value if is_exact(inner.value) else rounded_single(value)
        return None

    def visit_Cast(self, n: Cast) -> PrimExpr:
        if (shorter := self.short_cut(n)) is not None:
            return shorter
        value, count = self.visit(n.value), dt.lanes(n.dtype)
        if n.dtype == n.value.dtype:
            return value
        if self.is_narrow(n.value.dtype):
            wide = self.decoded(value, n.value.dtype)
            return wide if dt.element(n.dtype) == SINGLE else cast(n.dtype, wide)
        if self.is_narrow(n.dtype):
            return self.encoded(cast(dt.with_lanes(SINGLE, count), value), n.dtype)
        return n if value is n.value else cast(n.dtype, value)

    def visit_Call(self, n: Call) -> PrimExpr:
        args = self._visit_tuple(n.args)
        dtype = self.stored(n.dtype) if self.is_narrow(n.dtype) else n.dtype
        if n.op is REINTERPRET and args[0].dtype == dtype:
            return args[0]
        return rebuild(n, dtype=dtype, args=args)

    def visit_Let(self, n: Let | LetStmt) -> PrimExpr | Stmt:
        return rebuild(n, value=self.visit(n.value), var=self.defined(n.var), body=self.visit(n.body))

    visit_LetStmt = visit_Let

    def defined(self, var: Var) -> Var:
        """Return a variable that is declared here as it is from now on: a value or a pointer of another type."""
        kind = var.type_annotation
        if (
            isinstance(kind, PointerType)
            and isinstance(kind.element_type, PrimType)
            and self.is_narrow(kind.element_type.dtype)
        ):
            self._variables[var] = retyped_pointer(var, self.stored(kind.element_type.dtype))
        elif self.is_narrow(var.dtype):
            self._variables[var] = Var(var.name, self.stored(var.dtype), span=var.span)
        return self._variables.get(var, var)

    def visit_Allocate(self, n: Allocate) -> Stmt:
        if not self.is_narrow(n.dtype):
            return self.visit_Node(n)
        dtype = self.stored(n.dtype)
        pointer = n.buffer_var
        if pointer not in self.shared:
            pointer = self._variables[n.buffer_var] = retyped_pointer(n.buffer_var, dtype)
        return rebuild(
            n, buffer_var=pointer, dtype=dtype, extents=self._visit_tuple(n.extents), body=self.visit(n.body)
        )

    def visit_BufferRealize(self, n: BufferRealize) -> Stmt:
        return rebuild(
            n,
            buffer=self._buffer(n.buffer),
            bounds=self._visit_tuple(n.bounds),
            condition=self.visit(n.condition),
            body=self.visit(n.body),
        )

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        subject = n.node
        if isinstance(subject, Var):
            subject = self._variables.get(subject, subject)
        elif isinstance(subject, Buffer):
            subject = self._buffer(subject)
        return rebuild(n, node=subject, value=self.visit(n.value), body=self.visit(n.body))

    def _buffer(self, buffer: Buffer) -> Buffer:
        if not self.is_narrow(buffer.dtype):
            return buffer
        if buffer not in self._buffers:
            dtype = self.stored(buffer.dtype)
            pointer = buffer.data
            if pointer not in self.shared:
                pointer = self._variables.setdefault(pointer, retyped_pointer(pointer, dtype))
            self._buffers[buffer] = rebuild(buffer, data=pointer, dtype=dtype)
        return self._buffers[buffer]

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        buffer, value = self._buffer(n.buffer), self.visit(n.value)
        indices, predicate = self._visit_tuple(n.indices), self._visit_optional(n.predicate)
        return rebuild(n, buffer=buffer, value=value, indices=indices, predicate=predicate)
