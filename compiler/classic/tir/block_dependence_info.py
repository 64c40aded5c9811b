"""Block dependences of a program without a schedule."""

from __future__ import annotations

from compiler.ir.error import DTypeError
from compiler.ir.module import IRModule
from compiler.tir.schedule.sref import BlockScope, StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.statements.block import Block
from compiler.tir.statements.function import PrimFunc


class BlockDependenceInfo:
    """The blocks of a program, and what each must run after.

    Raises DTypeError if ``mod`` is something else.

    Examples
    --------
    >>> info = tvm.tir.BlockDependenceInfo(func)
    >>> scope = info.get_block_scope(info.get_sref(root))
    >>> [dep.kind for dep in scope.get_deps_by_src(info.get_sref(producer))]
    [<DepKind.RAW: 0>]
    """

    def __init__(self, mod: IRModule | PrimFunc) -> None:
        if not isinstance(mod, (IRModule, PrimFunc)):
            raise DTypeError(f"BlockDependenceInfo: mod must be a PrimFunc or an IRModule, got {type(mod).__name__}")
        self._state = ScheduleState(mod)

    def get_sref(self, block: Block) -> StmtSRef | None:
        """Return the reference to a block, None for one that the program does not have."""
        return self._state.get_sref(block)

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """Return the blocks directly inside of a block, and their dependences."""
        return self._state.get_block_scope(block_sref)
