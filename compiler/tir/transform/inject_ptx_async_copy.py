"""Asynchronous copies from global to shared memory, by an instruction of PTX."""

from __future__ import annotations

from math import copysign

from compiler.ir import dtype as dt
from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.ir.primexpr import Broadcast, Call, FloatImm, IntImm, PrimExpr, Ramp, is_const_int
from compiler.ir.transform import PassContext
from compiler.ir.types import PointerType, PrimType
from compiler.tir.analysis.features import features
from compiler.tir.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.builtin import IF_THEN_ELSE, is_call
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import AttrStmt, Evaluate, Stmt
from compiler.tir.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import PrimFuncPass

ASYNC_SCOPE = "async_scope"
"""The attribute around statements that may run asynchronously."""
_COPIED_BYTES = (4, 8, 16)
_SHARED_SCOPES = ("shared", "shared.dyn")


class InjectPTXAsyncCopy(PrimFuncPass):
    """Copy from global to shared memory by ``cp.async`` within the attribute ``async_scope``.

    For example::

        with T.attr(0, "async_scope", 1):
            S[i * 4 : i * 4 + 4] = A[0:4]     →     T.ptx_cp_async("float32", S.data, i * 4, A.data, 0, 16)

    The instruction copies 4, 8 or 16 adjacent bytes.  It fills with zeros where its last operand does not hold, so a
    copy of ``T.if_then_else(condition, A[i], 0)`` is one instruction as well.  Other stores stay as they are.  Memory
    of bytes that buffers share is addressed in bytes.

    References
    ----------
    Parallel Thread Execution ISA, "cp.async".
    """

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if ASYNC_SCOPE not in features(func).attrs:
            return func
        return func.with_body(_Inject().visit(func.body))


class _Inject(StmtMutator):
    def __init__(self) -> None:
        self._is_async = False

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key != ASYNC_SCOPE:
            return self.visit_Node(n)  # type: ignore[no-any-return]
        around, self._is_async = self._is_async, True
        body = self.visit(n.body)
        self._is_async = around
        return body  # type: ignore[no-any-return]

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        if not self._is_async or n.buffer.scope() not in _SHARED_SCOPES:
            return n
        return _copy(n, n.value) or _copy_or_zero(n) or n


def _copy_or_zero(store: BufferStore) -> Stmt | None:
    """Return the copy of an element, or of zero, depending on a condition."""
    if not isinstance(store.value, Call) or not is_call(store.value, IF_THEN_ELSE):
        return None
    condition, value, other = store.value.args
    scalar = _scalar(condition)
    if scalar is None or not _is_zero(other):
        return None
    return _copy(store, value, scalar)


def _copy(store: BufferStore, value: PrimExpr, *predicate: PrimExpr) -> Stmt | None:
    """Return the copy of what is loaded; None if it has no instruction."""
    if not isinstance(value, BufferLoad) or value.buffer.scope() != "global":
        return None
    count = dt.storage_bytes(value.dtype)
    begin, source = _first_element(store), _first_element(value)
    if count not in _COPIED_BYTES or begin is None or source is None:
        return None
    begin = begin * _units_per_element(store.buffer)
    operands = (store.buffer.data, begin, value.buffer.data, source, IntImm("int32", count), *predicate)
    return Evaluate(Call(dt.element(value.dtype), Op.get("tir.ptx_cp_async"), operands))


def _first_element(access: BufferLoad | BufferStore) -> PrimExpr | None:
    """Return the index of the first one of adjacent elements of a flat buffer, all of which are accessed."""
    if access.predicate is not None or len(access.indices) != 1 or not is_const_int(access.buffer.elem_offset, 0):
        return None
    (index,) = access.indices
    if isinstance(index, Ramp):
        return index.base if is_const_int(index.stride, 1) and not dt.is_vector(index.base.dtype) else None
    return None if dt.is_vector(index.dtype) else index


def _units_per_element(buffer: Buffer) -> int:
    """Return how many elements of its memory an element of a buffer takes: its bytes, in memory of bytes."""
    kind = buffer.data.type_annotation
    is_bytes = isinstance(kind, PointerType) and kind.element_type == PrimType("uint8")
    return dt.storage_bytes(buffer.dtype) if is_bytes else 1


def _scalar(condition: PrimExpr) -> PrimExpr | None:
    """Return the condition that all lanes have in common."""
    if isinstance(condition, Broadcast):
        return condition.value
    return None if dt.is_vector(condition.dtype) else condition


def _is_zero(value: PrimExpr) -> bool:
    """Return whether all bits of a value are zero."""
    if isinstance(value, Broadcast):
        return _is_zero(value.value)
    if isinstance(value, FloatImm):
        return value.value == 0 and copysign(1.0, value.value) > 0
    return is_const_int(value, 0)
