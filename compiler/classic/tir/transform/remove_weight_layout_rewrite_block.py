"""Removes the blocks that rewrite weight layouts, when the weights are already given in that layout."""

from __future__ import annotations

from compiler.ir.node import rebuild
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Stmt, no_op
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite

LAYOUT_REWRITE = "meta_schedule.layout_rewrite_preproc"


class RemoveWeightLayoutRewriteBlock(FunctionRewrite):
    """Let weights be parameters in the layout that the computation uses, and remove the blocks that made it.

    For example, for a block with the annotation ``meta_schedule.layout_rewrite_preproc``::

        def main(A, W: T.Buffer((16, 16))):                   def main(A, W_: T.Buffer((4, 4, 4, 4))):
            W_ = T.alloc_buffer((4, 4, 4, 4))            →        …
            W_[i // 4, j // 4, i % 4, j % 4] = W[i, j]            C[…] = A[…] * W_[…]
            C[…] = A[…] * W_[…]

    The block stays as one that does nothing.

    Parameters
    ----------
    skip_ndarray_rewrite : bool
        Whether constants of the function are left as they are; functions have none.
    """

    skip_ndarray_rewrite: bool = False

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        remove = _Remove()
        body = remove.visit(func.body)
        if not remove.rewritten:
            return func
        buffers = {param: remove.rewritten.get(buffer, buffer) for param, buffer in func.buffer_map.items()}
        return rebuild(func, body=_RemoveAllocations(set(remove.rewritten.values())).visit(body), buffer_map=buffers)


class _Remove(StmtExprMutator):
    """Empties the blocks, and notes which buffer stands for which weight."""

    def __init__(self) -> None:
        self.rewritten: dict[Buffer, Buffer] = {}  # the buffers in the new layout, by those in the old one

    def visit_Block(self, n: Block) -> Stmt:
        store = n.body
        if not n.annotations.get(LAYOUT_REWRITE):
            return self.visit_Node(n)
        if isinstance(store, BufferStore) and isinstance(store.value, BufferLoad):
            self.rewritten[store.value.buffer] = store.buffer
        return rebuild(n, body=no_op(), reads=(), writes=())


class _RemoveAllocations(StmtExprMutator):
    def __init__(self, parameters: set[Buffer]) -> None:
        self._parameters = parameters

    def visit_Block(self, n: Block) -> Stmt:
        left = tuple(buffer for buffer in n.alloc_buffers if buffer not in self._parameters)
        return rebuild(n, alloc_buffers=left, body=self.visit(n.body))
