"""Frames of TIR: functions, blocks, loops and scoping statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.classic.tir.script_builder.base import IRBuilder, IRBuilderFrame
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var, const
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.types import Type
from compiler.tir.analysis.block_access import get_block_access_region
from compiler.tir.script.definitions import Loop, Scope, Wrap, sequence_of
from compiler.tir.statements.block import Block, BlockRealize, MatchBufferRegion
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import IfThenElse, Stmt, While
from compiler.tir.statements.stmt_functor import StmtMutator

__all__ = [
    "AllocateConstFrame", "AllocateFrame", "AssertFrame", "AttrFrame", "BlockFrame", "BlockInitFrame",
    "DeclBufferFrame", "ElseFrame", "ForFrame", "IRModuleFrame", "IfFrame", "LaunchThreadFrame", "LetFrame",
    "PrimFuncFrame", "RealizeFrame", "ScopeFrame", "TIRFrame", "ThenFrame", "WhileFrame",
]  # fmt: skip

DETECT_ACCESS = "tir.script_parsing_detect_access"
"""Annotation of a block whose regions the function around it finds: 1 for what it reads, 2 for what it writes."""


class TIRFrame(IRBuilderFrame):
    """A frame that takes statements."""

    def __init__(self) -> None:
        IRBuilderFrame.__init__(self)
        self.stmts: list[Stmt] = []

    def take(self, built: object) -> None:
        if not isinstance(built, Stmt):
            raise self.misplaced(built)
        self.stmts.append(built)

    @property
    def body(self) -> Stmt:
        """The statements as one."""
        return sequence_of(self.stmts)


class ScopeFrame(TIRFrame):
    """A statement around others: an allocation, an attribute, a binding, an assertion, …

    Its variable is called ``name`` until it is given another name.
    """

    _wrap: Wrap

    def __init__(self, scope: Scope, name: str = "v") -> None:
        TIRFrame.__init__(self)
        self._scope = scope
        self._name = name

    def entered(self) -> object:
        value, self._wrap = self._scope.enter(self._name)
        return value

    def finish(self, builder: IRBuilder) -> None:
        builder.emit(self._wrap(self.body))


class AllocateFrame(ScopeFrame):
    """An allocation, of ``T.allocate``."""


class AllocateConstFrame(ScopeFrame):
    """Constant memory, of ``T.allocate_const``."""


class AssertFrame(ScopeFrame):
    """A condition that must hold, of ``T.Assert``."""


class AttrFrame(ScopeFrame):
    """A fact about statements, of ``T.attr``."""


class DeclBufferFrame(ScopeFrame):
    """A buffer in memory that is there, of ``T.decl_buffer``."""


class LaunchThreadFrame(ScopeFrame):
    """Threads that run statements, of ``T.launch_thread``."""


class LetFrame(ScopeFrame):
    """A variable with a value, of ``T.LetStmt``."""


class RealizeFrame(ScopeFrame):
    """A buffer that is there for statements, of ``T.realize``."""


class ForFrame(TIRFrame):
    """A nest of loops; the ``with`` gives the variable, or a list of several."""

    def __init__(self, loops: Loop | Sequence[Loop]) -> None:
        TIRFrame.__init__(self)
        self._is_nest = not isinstance(loops, Loop)
        self.loops = [loops] if isinstance(loops, Loop) else list(loops)
        self.vars = [Var("v", loop.extent.dtype) for loop in self.loops]

    @property
    def doms(self) -> list[Range]:
        """What the variables run over."""
        return [Range.from_fields(loop.min, loop.extent) for loop in self.loops]

    def entered(self) -> Var | list[Var]:
        return self.vars if self._is_nest and len(self.vars) != 1 else self.vars[0]

    def finish(self, builder: IRBuilder) -> None:
        stmt = self.body
        for var, loop in zip(reversed(self.vars), reversed(self.loops), strict=True):
            stmt = loop.around(var, stmt)
        builder.emit(stmt)


class WhileFrame(TIRFrame):
    """A loop with a condition."""

    def __init__(self, condition: PrimExpr) -> None:
        TIRFrame.__init__(self)
        self.condition = condition

    def finish(self, builder: IRBuilder) -> None:
        builder.emit(While(self.condition, self.body))


class IfFrame(TIRFrame):
    """A branch: :class:`ThenFrame` and :class:`ElseFrame` inside of it hold what runs."""

    def __init__(self, condition: PrimExpr) -> None:
        TIRFrame.__init__(self)
        self.condition = condition
        self.branches: dict[type[BranchFrame], Stmt] = {}

    def take(self, built: object) -> None:
        raise ArgumentError("T.If: statements must be in T.Then or T.Else")

    def finish(self, builder: IRBuilder) -> None:
        if ThenFrame not in self.branches:
            raise ArgumentError("T.If: expected T.Then inside of it, got none")
        builder.emit(IfThenElse(self.condition, self.branches[ThenFrame], self.branches.get(ElseFrame)))


class BranchFrame(TIRFrame):
    """What runs where a condition holds, or where it does not."""

    word = ""

    def entered(self) -> object:
        frames = IRBuilder.current().frames
        around = frames[-2] if len(frames) > 1 else None
        if not isinstance(around, IfFrame):
            frames.pop()
            raise ArgumentError(f"{self.word}: must be directly inside of T.If")
        if type(self) in around.branches:
            frames.pop()
            raise ArgumentError(f"{self.word}: the enclosing T.If already has one")
        return self

    def finish(self, builder: IRBuilder) -> None:
        around = builder.innermost(IfFrame)
        assert around is not None
        around.branches[type(self)] = self.body


class ThenFrame(BranchFrame):
    """What runs where the condition of the :class:`IfFrame` around it holds."""

    word = "T.Then"


class ElseFrame(BranchFrame):
    """What runs where the condition of the :class:`IfFrame` around it does not hold."""

    word = "T.Else"


class BlockFrame(TIRFrame):
    """A block; with ``no_realize``, it stands alone, without values of its axes."""

    def __init__(self, name: str, no_realize: bool) -> None:
        TIRFrame.__init__(self)
        self.name = name
        self.no_realize = no_realize
        self.iter_vars: list[IterVar] = []
        self.iter_values: list[PrimExpr] = []
        self.facts: dict[str, Any] = {}
        self.init: Stmt | None = None
        self.alloc_buffers: list[Buffer] = []
        self.match_buffers: list[MatchBufferRegion] = []

    def finish(self, builder: IRBuilder) -> None:
        block = Block(
            tuple(self.iter_vars),
            self.facts.get("reads", ()),
            self.facts.get("writes", ()),
            self.name,
            self.body,
            self.init,
            tuple(self.alloc_buffers),
            tuple(self.match_buffers),
            self._annotations(),
        )
        predicate = self.facts.get("predicate", const(True, "bool"))
        builder.emit(block if self.no_realize else BlockRealize(tuple(self.iter_values), predicate, block))

    def _annotations(self) -> dict[str, object]:
        """Return the annotations, with a note of the regions that were left out."""
        missing = sum(bit for part, bit in (("reads", 1), ("writes", 2)) if part not in self.facts)
        detect = {DETECT_ACCESS: const(missing, "int64")} if missing else {}
        return {**self.facts.get("annotations", {}), **detect}


class BlockInitFrame(TIRFrame):
    """What a block does before the first iteration of its reduction axes."""

    def finish(self, builder: IRBuilder) -> None:
        block = builder.innermost(BlockFrame)
        if block is None:
            raise ArgumentError("T.init: must be directly inside of T.block")
        if block.init is not None:
            raise ArgumentError("T.init: the block already has one")
        block.init = self.body


class PrimFuncFrame(TIRFrame):
    """A function; a private one has no name outside of its module."""

    def __init__(self, is_private: bool) -> None:
        TIRFrame.__init__(self)
        self.is_private = is_private
        self.name = ""
        self.params: list[Var] = []
        self.buffer_map: dict[Var, Buffer] = {}
        self.attrs: dict[str, object] = {}
        self.ret_type: Type | None = None
        self.root_alloc_buffers: list[Buffer] = []

    def finish(self, builder: IRBuilder) -> None:
        symbol = {} if self.is_private or not self.name else {"global_symbol": self.name}
        complete = _CompleteRegions([*self.buffer_map.values(), *self.root_alloc_buffers])
        body = self._with_root(complete.visit(self.body))
        func = PrimFunc(tuple(self.params), body, self.ret_type, self.buffer_map, {**symbol, **self.attrs})
        module = builder.innermost(IRModuleFrame)
        if module is None:
            builder.emit(func)
        elif self.name:
            module.define(self.name, func)
        else:
            raise ArgumentError("T.prim_func: expected T.func_name inside of it, got none")

    def _with_root(self, body: Stmt) -> Stmt:
        """Return the body in the root block that blocks and allocated buffers need."""
        is_root = isinstance(body, BlockRealize) and not body.block.iter_vars
        if not self.root_alloc_buffers and (is_root or not _has_block(body)):
            return body
        root = Block((), (), (), "root", body, None, tuple(self.root_alloc_buffers))
        return BlockRealize((), const(True, "bool"), root)


class _CompleteRegions(StmtMutator):
    """Finds the regions of blocks that leave them out."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self._buffers = {buffer.data: buffer for buffer in buffers}

    def visit_Block(self, n: Block) -> Stmt:
        self._buffers.update({buffer.data: buffer for buffer in n.alloc_buffers})
        self._buffers.update({match.buffer.data: match.buffer for match in n.match_buffers})
        block: Block = self.visit_Node(n)
        missing = block.annotations.get(DETECT_ACCESS)
        if missing is None:
            return block
        reads, writes, _ = get_block_access_region(block, self._buffers)
        annotations = {key: value for key, value in block.annotations.items() if key != DETECT_ACCESS}
        regions = {"reads": tuple(reads)} if int(missing) & 1 else {}
        regions |= {"writes": tuple(writes)} if int(missing) & 2 else {}
        return rebuild(block, **regions, annotations=annotations)


def _has_block(stmt: Stmt) -> bool:
    """Return whether a block is among some statements."""
    todo: list[object] = [stmt]
    while todo:
        item = todo.pop()
        if isinstance(item, (Block, BlockRealize)):
            return True
        for name in item.children if isinstance(item, Stmt) else ():
            child = getattr(item, name)
            todo.extend(child if isinstance(child, tuple) else (child,))
    return False


class IRModuleFrame(IRBuilderFrame):
    """A module of functions."""

    def __init__(self) -> None:
        IRBuilderFrame.__init__(self)
        self.module = IRModule({})
        self.attrs: dict[str, object] = {}
        self.global_infos: dict[str, list[Any]] = {}

    def take(self, built: object) -> None:
        raise self.misplaced(built)

    def define(self, name: str, func: PrimFunc) -> None:
        """Give a function of the module its definition."""
        self.module[name] = func

    def finish(self, builder: IRBuilder) -> None:
        builder.emit(IRModule(dict(self.module.items()), attrs=self.attrs, global_infos=self.global_infos))
