"""Computes bfloat16 in float32 on processors without it."""

from __future__ import annotations

from collections.abc import Collection

from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import Call, PrimExpr, Var, cast
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.types import PointerType, PrimType
from compiler.tir.expressions.builtin import REINTERPRET, TYPE_ANNOTATION, reinterpret
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, BufferStore, DeclBuffer, LetStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtExprVisitor
from compiler.tir.transform.legalize.bf16_bits import BITS, bits_of_single, single_of_bits
from compiler.tir.transform.pass_base import FunctionRewrite

BF16 = "bfloat16"
SINGLE = "float32"


def is_bf16(dtype: str) -> bool:
    """Return whether the elements of a data type are bfloat16."""
    return dt.element(dtype) == BF16


def single(e: PrimExpr) -> PrimExpr:
    """Return a bfloat16 value in single precision; others as they are."""
    return cast(dt.with_lanes(SINGLE, dt.lanes(e.dtype)), e) if is_bf16(e.dtype) else e


class BF16Promote(FunctionRewrite):
    """Do each operation on bfloat16 in single precision, and round its result.

    For example::

        C[i] = A[i] + B[i]     →     C[i] = bfloat16(float32(A[i]) + float32(B[i]))
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_Promote().visit(func.body))


class OtherTypes(StmtExprMutator):
    """Replaces variables and buffers of some element types, ``narrow``, by those of others."""

    narrow = frozenset({BF16})

    def __init__(self) -> None:
        self._variables: dict[Var, Var] = {}
        self._buffers: dict[Buffer, Buffer] = {}

    def is_narrow(self, dtype: str) -> bool:
        """Return whether the elements of a data type are those that others take the place of."""
        return dt.element(dtype) in self.narrow

    def _buffer(self, buffer: Buffer) -> Buffer:
        return buffer

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._variables.get(n, n)

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        return rebuild(n, buffer=self._buffer(n.buffer), body=self.visit(n.body))

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices, predicate = self._visit_tuple(n.indices), self._visit_optional(n.predicate)
        return rebuild(n, buffer=self._buffer(n.buffer), indices=indices, predicate=predicate)


class _Promote(OtherTypes):
    """Does operations on narrow types, which are not computed with, in ``wide``: on bfloat16 in single precision."""

    wide = SINGLE

    def widened(self, dtype: str) -> str:
        """Return the wide type with as many lanes."""
        return dt.with_lanes(self.wide, dt.lanes(dtype))

    def single(self, e: PrimExpr) -> PrimExpr:
        """Return a narrow value in the wide type; others as they are."""
        return cast(self.widened(e.dtype), e) if self.is_narrow(e.dtype) else e

    def visit_BinaryOp(self, n: expr.BinaryOp) -> PrimExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        if not self.is_narrow(a.dtype):
            return n if a is n.a and b is n.b else type(n)(a, b)
        value = type(n)(self.single(a), self.single(b))
        return value if isinstance(n, expr.CmpOp) else cast(n.dtype, value)

    def visit_Call(self, n: Call) -> PrimExpr:
        new: Call = self.visit_Node(n)
        computes = isinstance(n.op, Op) and n.op.reference is not None
        if not computes or not any(self.is_narrow(arg.dtype) for arg in new.args):
            return new
        args = tuple([self.single(arg) for arg in new.args])
        if not self.is_narrow(n.dtype):
            return rebuild(n, args=args)
        return cast(n.dtype, rebuild(n, dtype=self.widened(n.dtype), args=args))


class BF16CastElimination(FunctionRewrite):
    """Leave out the rounding between two operations in single precision.

    For example::

        C[i] = float32(bfloat16(A[i] + B[i])) * 2.0     →     C[i] = (A[i] + B[i]) * 2.0
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_Eliminate().visit(func.body))


class _Eliminate(StmtExprMutator):
    def visit_Cast(self, n: expr.Cast) -> PrimExpr:
        inner = n.value
        if isinstance(inner, expr.Cast) and is_bf16(inner.dtype) and inner.value.dtype == n.dtype:
            return self.visit(inner.value) if dt.element(n.dtype) == SINGLE else self.visit_Node(n)
        return self.visit_Node(n)


class BF16ComputeLegalize(FunctionRewrite):
    """Compute with bfloat16 in single precision, and round only what is stored in memory of the caller.

    For example::

        B = T.allocate([8], "bfloat16")             B = T.allocate([8], "float32")
        B_1[i] = A[i] + A[i]                 →      B_1[i] = float32(A[i]) + float32(A[i])
        C[i] = T.exp(B_1[i])                        C[i] = bfloat16(T.exp(B_1[i]))

    No processor need know the conversions: they are shifts and roundings of the bits.  Memory that an instruction such
    as ``ptx_mma`` gets a pointer to stays what it is.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_BF16Legalizer(pointers_to_bits(func)).visit(func.body))


def pointers_to_bits(func: PrimFunc) -> set[Var]:
    """Return the pointers whose memory has to stay what it is: calls get them, or it has elements of several types."""
    uses = _PointerUses()
    uses.visit(func.body)
    return uses.passed | uses.shared


def pointers_to_several_types(func: PrimFunc) -> set[Var]:
    """Return the pointers to memory that has elements of several types, one after the other."""
    uses = _PointerUses()
    uses.visit(func.body)
    return uses.shared


class _PointerUses(StmtExprVisitor):
    """Collects the pointers that calls are given, and those to elements of several types."""

    def __init__(self) -> None:
        self.passed: set[Var] = set()
        self.shared: set[Var] = set()
        self._elements: dict[Var, str] = {}

    def visit_BufferLoad(self, n: BufferLoad | BufferStore) -> None:
        self._note(n.buffer.data, n.buffer.dtype)
        self.visit_Node(n)

    visit_BufferStore = visit_BufferLoad

    def visit_Allocate(self, n: Allocate) -> None:
        self._note(n.buffer_var, n.dtype)
        self.visit_Node(n)

    def _note(self, pointer: Var, dtype: str) -> None:
        if self._elements.setdefault(pointer, dt.element(dtype)) != dt.element(dtype):
            self.shared.add(pointer)

    def visit_Call(self, n: Call) -> None:
        self.passed.update(arg for arg in n.args if isinstance(arg, Var) and arg.dtype == "handle")
        self.visit_Node(n)


class ComputeLegalizer(_Promote):
    """Widens what is computed, and the memory that a function allocates.

    Pointers in ``kept`` lead to memory whose elements stay narrow.
    """

    def __init__(self, kept: Collection[Var] = ()) -> None:
        super().__init__()
        self._kept = kept

    def rounded(self, dtype: str, e: PrimExpr) -> PrimExpr:
        """Return a value of the wide type in a narrow one."""
        return cast(dtype, e)

    def visit_BinaryOp(self, n: expr.BinaryOp) -> PrimExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        if a is n.a and b is n.b and not self.is_narrow(a.dtype):
            return n
        return type(n)(self.single(a), self.single(b))

    def visit_FloatImm(self, n: expr.FloatImm) -> PrimExpr:
        return expr.FloatImm(self.wide, n.value) if n.dtype in self.narrow else n

    def visit_Cast(self, n: expr.Cast) -> PrimExpr:
        value = self.visit(n.value)
        if self.is_narrow(n.dtype):
            return cast(self.widened(n.dtype), self.single(value))
        return n if value is n.value and not self.is_narrow(value.dtype) else cast(n.dtype, self.single(value))

    def visit_Select(self, n: expr.Select) -> PrimExpr:
        true, false = self.single(self.visit(n.true_value)), self.single(self.visit(n.false_value))
        return rebuild(n, condition=self.visit(n.condition), true_value=true, false_value=false)

    def visit_Broadcast(self, n: expr.Broadcast) -> PrimExpr:
        return rebuild(n, value=self.single(self.visit(n.value)))

    def visit_Shuffle(self, n: expr.Shuffle) -> PrimExpr:
        return rebuild(n, vectors=tuple([self.single(self.visit(v)) for v in n.vectors]))

    def visit_Call(self, n: Call) -> PrimExpr:
        if n.op is REINTERPRET or not isinstance(n.op, Op):
            return self._as_before(n)
        args = tuple([arg if _is_type(arg) else self.single(self.visit(arg)) for arg in n.args])
        dtype = self.widened(n.dtype) if self.is_narrow(n.dtype) else n.dtype
        return (
            n
            if dtype == n.dtype and all(a is b for a, b in zip(args, n.args, strict=True))
            else Call(dtype, n.op, args)
        )

    def _as_before(self, n: Call) -> PrimExpr:
        """Keep a call whose operands and result have to be what they are."""
        args = tuple([self._as_type(old.dtype, self.visit(old)) for old in n.args])
        return self.single(rebuild(n, args=args))

    def _as_type(self, dtype: str, e: PrimExpr) -> PrimExpr:
        """Return a value in the type that it is stored or taken in."""
        if dtype == e.dtype:
            return e
        return self.rounded(dtype, e) if self.is_narrow(dtype) else cast(dtype, self.single(e))

    def visit_Let(self, n: expr.Let | LetStmt) -> PrimExpr | Stmt:
        value = self._bound(n.var, self.visit(n.value))
        return rebuild(n, var=self._variables.get(n.var, n.var), value=value, body=self.visit(n.body))

    visit_LetStmt = visit_Let

    def _bound(self, var: Var, value: PrimExpr) -> PrimExpr:
        if self.is_narrow(var.dtype):
            self._variables[var] = Var(var.name, self.widened(var.dtype), span=var.span)
        return self.single(value)

    def visit_Allocate(self, n: Allocate) -> Stmt:
        if not self.is_narrow(n.dtype) or n.buffer_var in self._kept:
            return self.visit_Node(n)
        dtype = self.widened(n.dtype)
        pointer = self._variables[n.buffer_var] = retyped_pointer(n.buffer_var, dtype)
        return rebuild(
            n, buffer_var=pointer, dtype=dtype, extents=self._visit_tuple(n.extents), body=self.visit(n.body)
        )

    def _buffer(self, buffer: Buffer) -> Buffer:
        pointer = self._variables.get(buffer.data)
        if pointer is None:
            return buffer
        if buffer not in self._buffers:
            dtype = self.widened(buffer.dtype)
            self._buffers[buffer] = rebuild(buffer, data=pointer, dtype=dtype)
        return self._buffers[buffer]

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        buffer, value = self._buffer(n.buffer), self.visit(n.value)
        if self.is_narrow(n.buffer.dtype):
            value = self._as_type(dt.with_lanes(buffer.dtype, dt.lanes(value.dtype)), value)
        indices, predicate = self._visit_tuple(n.indices), self._visit_optional(n.predicate)
        return rebuild(n, buffer=buffer, value=value, indices=indices, predicate=predicate)


def _is_type(e: PrimExpr) -> bool:
    """Return whether an argument says which elements a pointer steps over: they stay what they are, as their memory."""
    return isinstance(e, Call) and e.op is TYPE_ANNOTATION


class _BF16Legalizer(ComputeLegalizer):
    """Computes in single precision, and converts by shifting and rounding."""

    def single(self, e: PrimExpr) -> PrimExpr:
        if not self.is_narrow(e.dtype):
            return e
        return single_of_bits(reinterpret(dt.with_lanes(BITS, dt.lanes(e.dtype)), e))

    def rounded(self, dtype: str, e: PrimExpr) -> PrimExpr:
        return reinterpret(dtype, bits_of_single(cast(self.widened(dtype), e)))


def retyped_pointer(var: Var, dtype: str) -> Var:
    """Return a pointer like ``var`` to elements of another data type."""
    kind = var.type_annotation
    scope = kind.storage_scope if isinstance(kind, PointerType) else "global"
    return Var(var.name, var.dtype, PointerType(PrimType(dtype), scope), span=var.span)
