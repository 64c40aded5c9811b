"""The anchor block of a module: its heaviest reduction."""

from __future__ import annotations

from compiler.classic.tir.analysis.flops import estimate_tir_flops
from compiler.ir.functor import Visitor
from compiler.ir.module import IRModule
from compiler.tir.statements.block import Block
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For


def find_anchor_block(mod: IRModule) -> Block | None:
    """Return the reduction with the most arithmetic; what comes before and after it is fused with it.

    It is the block that sets initial values and whose outermost loop does the most operations; None without one. Raises
    ArgumentError if there are several candidates, and the extent of one of their loops is not constant.
    """
    candidates = _Reductions()
    for _, func in mod.items():
        if isinstance(func, PrimFunc):
            candidates.visit(func.body)
    if len(candidates.blocks) <= 1:
        return next(iter(candidates.blocks), None)
    return max(candidates.blocks, key=lambda block: estimate_tir_flops(candidates.blocks[block]))


class _Reductions(Visitor):
    """Collects reductions with the outermost of the loops that are directly around them."""

    def __init__(self) -> None:
        self.blocks: dict[Block, For | Block] = {}
        self._outermost: For | None = None

    def visit_For(self, n: For) -> None:
        outside = self._outermost
        self._outermost = outside or n
        self.visit_Node(n)
        self._outermost = outside

    def visit_Block(self, n: Block) -> None:
        if n.init is not None:
            self.blocks[n] = self._outermost or n
        outside, self._outermost = self._outermost, None
        self.visit_Node(n)
        self._outermost = outside
