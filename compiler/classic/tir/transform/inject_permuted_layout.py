"""Permutes the layout of shared memory so that matrix instructions have no bank conflicts."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, Range, Var, const
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.origin import user_place
from compiler.tir.expressions.arithmetic import bitwise_xor, floordiv, floormod
from compiler.tir.expressions.builtin import ACCESS_PTR, is_call
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import THREAD_KEYS, AttrStmt, For, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite

ANNOTATION = "permuted_layout"
_SHARED_SCOPES = ("shared", "shared.dyn")
_GROUP = 8
"""How many neighbours of a row stay together: what a thread copies at a time, 16 bytes of half precision."""
_LDMATRIX, _MMA_STORE = Op.get("tir.ptx_ldmatrix"), Op.get("tir.mma_store")
_ROW = 32
"""Rows are a multiple of this many elements."""


class InjectPermutedLayout(FunctionRewrite):
    """Permute groups of eight elements within the rows of shared memory, another way in each row.

    ``ldmatrix`` reads eight elements in each of eight rows at a time.  Without the permutation these are in the same
    banks; with it, in different ones::

        S[i, j * 8 + v]     →     S[i, (j ^ i % 8) * 8 + v]

    Rows of an odd multiple of 32 elements take half of the row's number, ``i % 8 // 2``.  What is permuted are stores,
    loads, ``ldmatrix`` and ``mma_store`` in blocks with the annotation ``permuted_layout``, which goes.  All accesses
    of a buffer have to be in such blocks. Raises LoweringError if such memory is not a matrix, or its rows are not a
    multiple of 32 elements.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_Permute(func).visit(func.body))


class _Permute(StmtExprMutator):
    def __init__(self, func: PrimFunc) -> None:
        self._is_permuted = False
        self._analyzer = Analyzer()
        self._buffers: dict[Var, Buffer] = {buffer.data: buffer for buffer in func.buffer_map.values()}

    def visit_Block(self, n: Block) -> Stmt:
        self._buffers.update({buffer.data: buffer for buffer in n.alloc_buffers})
        around = self._is_permuted
        if ANNOTATION in n.annotations:
            self._is_permuted = bool(n.annotations[ANNOTATION])
        if self._is_permuted:
            n = rebuild(n, annotations={key: value for key, value in n.annotations.items() if key != ANNOTATION})
        for axis in n.iter_vars:
            if axis.dom is not None:
                self._analyzer.bind(axis.var, axis.dom)
        body = self.visit(n.body)
        init = None if n.init is None else self.visit(n.init)
        self._is_permuted = around
        return rebuild(n, init=init, body=body)

    def visit_For(self, n: For) -> Stmt:
        self._analyzer.bind(n.loop_var, Range.from_min_extent(n.min, n.extent))
        return self.visit_Node(n)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key in THREAD_KEYS:
            self._analyzer.bind(n.node.var, Range.from_min_extent(0, n.value))
        return self.visit_Node(n)

    # Accesses

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        return self._at_permuted(self.visit_Node(n))  # type: ignore[return-value]

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        return self._at_permuted(self.visit_Node(n))  # type: ignore[return-value]

    def _at_permuted(self, access: BufferLoad | BufferStore) -> BufferLoad | BufferStore:
        if not self._is_permuted or access.buffer.scope() not in _SHARED_SCOPES:
            return access
        width = _row_size(access.buffer, access)
        row, column = access.indices
        return rebuild(access, indices=(row, self._permuted(row, column, width)))

    def visit_Call(self, n: Call) -> PrimExpr:
        call: Call = self.visit_Node(n)
        if not self._is_permuted:
            return call
        if is_call(call, _LDMATRIX):
            *before, address, offset = call.args
            return rebuild(call, args=(*before, self._address(address, offset), const(0, offset.dtype)))
        if is_call(call, _MMA_STORE):
            rows, columns, address, *after = call.args
            return rebuild(call, args=(rows, columns, self._address(address), *after))
        return call

    def _address(self, address: PrimExpr, more: PrimExpr | None = None) -> PrimExpr:
        """Return the address of a permuted element, which ``more`` elements are added to."""
        if not isinstance(address, Call) or address.op is not ACCESS_PTR:
            raise LoweringError(f"InjectPermutedLayout: expected T.tvm_access_ptr, got {address}")
        kind, data, offset, *rest = address.args
        buffer = self._buffers.get(data) if isinstance(data, Var) else None
        if buffer is None:
            raise LoweringError(f"InjectPermutedLayout: no block allocates {data}{user_place(address.span)}")
        if buffer.scope() not in _SHARED_SCOPES:
            return address
        width = _row_size(buffer, address)
        total = offset if more is None else offset + more
        row = self._analyzer.simplify(floordiv(total, const(width)))
        column = self._analyzer.simplify(floormod(total, const(width)))
        place = self._analyzer.simplify(row * width + self._permuted(row, column, width))
        return rebuild(address, args=(kind, data, place, *rest))

    def _permuted(self, row: PrimExpr, column: PrimExpr, width: int) -> PrimExpr:
        """Return the column where an element of a row is."""
        simplify = self._analyzer.simplify
        turn = floormod(row, const(8))
        if width % (2 * _ROW):
            turn = floordiv(turn, const(2))
        group = bitwise_xor(simplify(floordiv(column, const(_GROUP))), simplify(turn))
        return simplify(group * _GROUP + floormod(column, const(_GROUP)))


def _row_size(buffer: Buffer, access: BufferLoad | BufferStore | Call) -> int:
    """Return how many elements a row of shared memory has."""
    width = buffer.shape[-1]
    if len(buffer.shape) != 2 or not isinstance(width, IntImm) or width.value % _ROW:
        shape = ", ".join(map(str, buffer.shape))
        raise LoweringError(
            f"InjectPermutedLayout: expected rows of a multiple of {_ROW} elements for {buffer.name}, "
            f"got shape ({shape}){user_place(access.span)}"
        )
    return width.value
