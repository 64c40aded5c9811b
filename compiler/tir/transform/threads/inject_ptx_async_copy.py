"""Replaces copies from global to shared memory by PTX's asynchronous copies."""

from __future__ import annotations

from math import copysign

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Broadcast, Call, FloatImm, IntImm, PrimExpr, Ramp, Var, is_const_int
from compiler.ir.op import Op
from compiler.ir.transform import register_config_option
from compiler.ir.types import PointerType, PrimType
from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import IF_THEN_ELSE, is_call
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, Evaluate, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite
from compiler.tir.transform.threads.async_queues import ASYNC_SCOPE

USE_ASYNC_COPY = "tir.use_async_copy"
"""The option of pass contexts that lets builds for CUDA copy asynchronously."""
register_config_option(USE_ASYNC_COPY, (bool, int))

_COPIED_BYTES = (4, 8, 16)
_SHARED_SCOPES = ("shared", "shared.dyn")


class InjectPTXAsyncCopy(FunctionRewrite):
    """Copy from global to shared memory by ``cp.async`` within the attribute ``async_scope``.

    For example::

        with T.attr(0, "async_scope", 1):
            S[i * 4 : i * 4 + 4] = A[0:4]     →     T.ptx_cp_async("float32", S.data, i * 4, A.data, 0, 16)

    The instruction copies 4, 8 or 16 adjacent bytes.  It fills with zeros where its last operand does not hold, so a
    copy of ``T.if_then_else(condition, A[i], 0)`` is one instruction as well.  Other stores stay as they are.  Memory
    of bytes that buffers share is addressed in bytes.

    Builds for CUDA do so where ``PassContext(config={"tir.use_async_copy": True})`` says it.

    Parameters
    ----------
    aligned : bool
        Whether several elements are copied at once only from and to multiples of their size, as the instruction wants.

    References
    ----------
    Parallel Thread Execution ISA, "cp.async".
    """

    aligned: bool = False

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if ASYNC_SCOPE not in features(func).attrs:
            return func
        return func.with_body(_Inject(self.aligned).visit(func.body))


class _Inject(StmtMutator):
    def __init__(self, aligned: bool) -> None:
        self._is_async = False
        self._aligned = aligned

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key != ASYNC_SCOPE:
            return self.visit_Node(n)
        around, self._is_async = self._is_async, True
        body = self.visit(n.body)
        self._is_async = around
        return body

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        if not self._is_async or n.buffer.scope() not in _SHARED_SCOPES:
            return n
        copy = _copy(n, n.value) or _copy_or_zero(n)
        return n if copy is None or (self._aligned and not _is_aligned(copy)) else copy


def _is_aligned(copy: Evaluate) -> bool:
    """Return whether a copy begins at multiples of its size, in both memories."""
    call = copy.value
    assert isinstance(call, Call)
    target, begin, _, source, count = call.args[:5]
    assert isinstance(count, IntImm)
    elements = count.value // dt.storage_bytes(call.dtype)
    places = ((begin, count.value if _has_bytes(target) else elements), (source, elements))
    starts = [(Analyzer().modular_set(index), size) for index, size in places]
    return all(start.coeff % size == 0 and start.base % size == 0 for start, size in starts)


def _copy_or_zero(store: BufferStore) -> Evaluate | None:
    """Return the copy of an element, or of zero, depending on a condition."""
    if not isinstance(store.value, Call) or not is_call(store.value, IF_THEN_ELSE):
        return None
    condition, value, other = store.value.args
    scalar = _scalar(condition)
    if scalar is None or not _is_zero(other):
        return None
    return _copy(store, value, scalar)


def _copy(store: BufferStore, value: PrimExpr, *predicate: PrimExpr) -> Evaluate | None:
    """Return the copy of what is loaded; None if it has no instruction."""
    if not isinstance(value, BufferLoad) or value.buffer.scope() != "global":
        return None
    count = dt.storage_bytes(value.dtype)
    begin, source = _first_element(store), _first_element(value)
    if count not in _COPIED_BYTES or begin is None or source is None:
        return None
    if _has_bytes(store.buffer.data):
        begin = begin * dt.storage_bytes(store.buffer.dtype)
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


def _has_bytes(pointer: PrimExpr) -> bool:
    """Return whether memory is one of bytes."""
    kind = pointer.type_annotation if isinstance(pointer, Var) else None
    return isinstance(kind, PointerType) and kind.element_type == PrimType("uint8")


def _scalar(condition: PrimExpr) -> PrimExpr | None:
    """Return the condition that all lanes have in common."""
    if isinstance(condition, Broadcast):
        return condition.value
    return None if dt.is_vector(condition.dtype) else condition


def _is_zero(value: PrimExpr) -> bool:
    if isinstance(value, Broadcast):
        return _is_zero(value.value)
    if isinstance(value, FloatImm):
        return value.value == 0 and copysign(1.0, value.value) > 0
    return is_const_int(value, 0)
