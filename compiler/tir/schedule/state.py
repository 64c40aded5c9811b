"""The schedule state: the program, references to its loops and blocks, and block properties."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from enum import IntFlag

from compiler.ir.error import ArgumentError, expected, show
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.tir.schedule.facts import properties
from compiler.tir.schedule.facts.block_info import BlockInfo, CachedFlags
from compiler.tir.schedule.facts.dependencies import scope_of_blocks
from compiler.tir.schedule.facts.reference_reuse import ReferenceReuse
from compiler.tir.schedule.sref import BlockScope, StmtSRef
from compiler.tir.schedule.tree import ancestors, blocks_below, changed, children_of, with_child
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, Stmt


class ScheduleDebugMask(IntFlag):
    """What is checked after each change of a program."""

    VERIFY_SREF_TREE = 1
    VERIFY_CACHED_FLAGS = 2


_MASKS = {"none": 0, "all": ScheduleDebugMask.VERIFY_SREF_TREE | ScheduleDebugMask.VERIFY_CACHED_FLAGS}


class ScheduleState:
    """A program that is being scheduled, with a reference to each of its loops and blocks.

    Raises ArgumentError if the body of a function is not a root block.

    Parameters
    ----------
    debug_mask : str or int
        ``"all"`` to check the references and the flags after each primitive, ``"none"``, or a sum of members of
        :class:`ScheduleDebugMask`.
    enable_check : bool
        Whether primitives check that what they are asked for keeps the program's meaning as far as that can be told
        from the regions of blocks.
    """

    def __init__(self, mod: IRModule | PrimFunc, *, debug_mask: str | int = "none", enable_check: bool = True) -> None:
        self.mod = _as_module(mod)
        self.debug_mask = _mask(debug_mask)
        self.enable_check = enable_check
        self._srefs: dict[Stmt, StmtSRef] = {}
        self._infos: dict[StmtSRef, BlockInfo] = {}
        self._roots: dict[StmtSRef, GlobalVar] = {}
        for var, func in self.mod.items():
            if isinstance(func, PrimFunc):
                self._add_function(var, func)

    def _add_function(self, var: GlobalVar, func: PrimFunc) -> None:
        if not isinstance(func.body, BlockRealize):
            raise ArgumentError(
                f"Schedule: the body of {var.name_hint!r} must be a root block, got {type(func.body).__name__}; "
                "TVMScript adds one to a function with blocks"
            )
        root = StmtSRef(func.body.block)
        self._roots[root] = var
        self._srefs[func.body.block] = root
        self._refer_below(root)
        for block in self._blocks_inside_out(root):
            self._inspect(block)

    def _refer_below(self, above: StmtSRef) -> None:
        """Make references to everything below a loop or block."""
        assert above.stmt is not None
        for child, index in children_of(above.stmt):
            node = child.block if isinstance(child, BlockRealize) else child
            sref = self._srefs[node] = StmtSRef(node, above, index)
            self._refer_below(sref)

    def _blocks_inside_out(self, sref: StmtSRef) -> Iterator[StmtSRef]:
        for inner in self.subtree(sref, inner_first=True):
            if inner.is_block:
                yield inner

    def subtree(self, sref: StmtSRef, inner_first: bool = False) -> Iterator[StmtSRef]:
        """Yield a reference and those to the loops and blocks below: after it, or before it with ``inner_first``."""
        assert sref.stmt is not None
        if not inner_first:
            yield sref
        for child, _ in children_of(sref.stmt):
            node = child.block if isinstance(child, BlockRealize) else child
            yield from self.subtree(self._srefs[node], inner_first)
        if inner_first:
            yield sref

    def loops(self) -> list[StmtSRef]:
        """Return the loops of all functions."""
        return [sref for sref in self._srefs.values() if not sref.is_block]

    # references

    def get_sref(self, stmt: Block | For) -> StmtSRef | None:
        """Return the reference to a loop or block, None if the program has no such one."""
        return self._srefs.get(stmt)

    def sref_of(self, stmt: Stmt) -> StmtSRef:
        """Return the reference to a loop or block, or to that of a realization, that the program has."""
        return self._srefs[stmt.block if isinstance(stmt, BlockRealize) else stmt]

    def realize_of(self, block: StmtSRef) -> BlockRealize:
        """Return the realization of a block: the values of its axes.

        Raises AssertionError if the block is not where its reference says: a defect of a primitive.
        """
        if block.parent is None:
            body = self.function_of(block).body
            assert isinstance(body, BlockRealize)
            return body
        assert block.parent.stmt is not None
        children = (child for child, _ in children_of(block.parent.stmt))
        return next(child for child in children if isinstance(child, BlockRealize) and child.block is block.stmt)

    def child_blocks(self, sref: StmtSRef) -> list[StmtSRef]:
        """Return the blocks below a loop or block that lie in no other block below it."""
        assert sref.stmt is not None
        return [self._srefs[realize.block] for realize in blocks_below(sref.stmt)]

    def root_of(self, sref: StmtSRef) -> StmtSRef:
        """Return the root block of the function that a loop or block is in."""
        return next((above for above in ancestors(sref) if above.parent is None), sref)

    def root_of_function(self, name: str) -> StmtSRef | None:
        """Return the root block of a function, None if there is no such function of loop IR."""
        return next((root for root, var in self._roots.items() if var.name_hint == name), None)

    def function_of(self, sref: StmtSRef) -> PrimFunc:
        """Return the function that a loop or block is in."""
        function = self.mod[self._roots[self.root_of(sref)]]
        assert isinstance(function, PrimFunc)
        return function

    # facts about blocks

    def info(self, block: StmtSRef) -> BlockInfo:
        """Return what is known about a block."""
        known = self._infos.get(block)
        return self._inspect(block) if known is None else known

    def _inspect(self, block: StmtSRef) -> BlockInfo:
        """Find out what there is to know about a block from what it looks like."""
        info = self._infos[block] = BlockInfo(scope_of_blocks(self.child_blocks(block)))
        info.affine_binding = properties.has_affine_binding(self.realize_of(block), block)
        info.stage_pipeline = properties.is_stage_pipeline(self, info.scope)
        return info

    def rebound(self, block: StmtSRef) -> None:
        """Note that the axes of a block have other values than before."""
        self.info(block).affine_binding = properties.has_affine_binding(self.realize_of(block), block)

    def refresh(self, block: StmtSRef) -> None:
        """Find out anew what there is to know about a block and the blocks directly inside of it.

        A primitive has changed the inner blocks, beyond what keeps the flags as they were.
        """
        for child in self.child_blocks(block):
            info = self.info(child)
            info.affine_binding = properties.has_affine_binding(self.realize_of(child), child)
            info.region_cover = True
        self._inspect(block)

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """Return the blocks directly inside of a block, and how they depend on each other."""
        return self.info(block_sref).scope

    def _get_cached_flags(self, block_sref: StmtSRef) -> CachedFlags:
        info = self.info(block_sref)
        return CachedFlags(info.affine_binding, info.region_cover, info.stage_pipeline)

    # changes

    def replace(
        self,
        src_sref: StmtSRef,
        tgt_stmt: Block | For | BlockRealize,
        block_sref_reuse: Mapping[Block, Block] | None = None,
    ) -> None:
        """Replace a loop or block.

        References to loops stay where a loop with the same variable takes their place, references to blocks where
        ``block_sref_reuse`` says which one does, or where the very same object is found again. A loop is replaced by a
        loop, or by a block with the values of its axes. Raises ArgumentError if a block is to be replaced by something
        else than a block, or a loop by a block without values.
        """
        source = src_sref.stmt
        _check_replacement(source, tgt_stmt)
        assert source is not None
        if source is tgt_stmt:
            return
        old = list(self.subtree(src_sref))
        above = src_sref.parent
        reuse = ReferenceReuse(old, block_sref_reuse or {})
        for sref in old:
            assert sref.stmt is not None
            del self._srefs[sref.stmt]
        node = tgt_stmt.block if isinstance(tgt_stmt, BlockRealize) else tgt_stmt
        if src_sref.parent is None:
            reuse.insist(node, src_sref)
        self._adopt(node, above, src_sref.seq_index, reuse)
        for sref in reuse.abandoned():
            sref.stmt = sref.parent = None
            self._infos.pop(sref, None)
        self._change_ancestors(above, source, tgt_stmt)
        self._update_scopes(node, above)

    def _adopt(self, node: Block | For, above: StmtSRef | None, index: int, reuse: ReferenceReuse) -> None:
        """Let references refer to a new loop or block and to everything below."""
        sref = reuse.take(node)
        sref.stmt, sref.parent, sref.seq_index = node, above, index
        self._srefs[node] = sref
        for child, place in children_of(node):
            self._adopt(child.block if isinstance(child, BlockRealize) else child, sref, place, reuse)

    def _change_ancestors(self, above: StmtSRef | None, old: Stmt, new: Stmt) -> None:
        """Rebuild everything around what is replaced."""
        while above is not None:
            around = above.stmt
            assert around is not None
            changed_around = with_child(around, old, new)
            del self._srefs[around]
            self._srefs[changed_around] = above
            above.stmt = changed_around
            self._renumber(above)
            old, new = around, changed_around
            root, above = above, above.parent
        if isinstance(new, Block):
            root = self._srefs[new]
        self._change_function(root, new)

    def _renumber(self, above: StmtSRef) -> None:
        assert above.stmt is not None
        for child, index in children_of(above.stmt):
            self.sref_of(child).seq_index = index

    def _change_function(self, root: StmtSRef, block: Stmt) -> None:
        var = self._roots[root]
        func = self.mod[var]
        body = changed(func.body, block=block)
        functions = {v: func.with_body(body) if v is var else f for v, f in self.mod.items()}
        self.mod = self.mod.with_functions(functions)

    def replace_parameters(self, sref: StmtSRef, buffers: Mapping[Buffer, Buffer]) -> None:
        """Let parameters of the function that a loop or block is in point to new buffers in place of old ones."""
        var = self._roots[self.root_of(sref)]
        func = self.mod[var]
        buffer_map = {param: buffers.get(buffer, buffer) for param, buffer in func.buffer_map.items()}
        if any(buffer is not func.buffer_map[param] for param, buffer in buffer_map.items()):
            with derived_from(func.span):
                new = rebuild(func, buffer_map=buffer_map)
            self.mod = self.mod.with_functions({v: new if v is var else f for v, f in self.mod.items()})

    def _update_scopes(self, node: Block | For, above: StmtSRef | None) -> None:
        """Recompute which blocks depend on which; the flags stay what they were where references did."""
        scopes = [sref for sref in self.subtree(self._srefs[node]) if sref.is_block]
        if above is not None:
            scopes += [block for block in (above, *ancestors(above)) if block.is_block][:1]
        for block in scopes:
            info = self._infos.get(block)
            if info is not None:
                info.scope = scope_of_blocks(self.child_blocks(block))

    # checks

    def verify(self) -> None:
        """Check what the debug mask says.

        Raises AssertionError if a reference, or what is known about a block, is wrong: a defect of a primitive.
        """
        for root in self._roots:
            if self.debug_mask & ScheduleDebugMask.VERIFY_SREF_TREE:
                self._verify_references(root)
        if self.debug_mask & ScheduleDebugMask.VERIFY_CACHED_FLAGS:
            self._verify_flags()

    def _verify_references(self, sref: StmtSRef) -> None:
        assert sref.stmt is not None, "a reference refers to nothing"
        assert self._srefs.get(sref.stmt) is sref, f"{sref.stmt} has another reference"
        for child, index in children_of(sref.stmt):
            inner = self.sref_of(child)
            assert (inner.parent, inner.seq_index) == (sref, index), f"{child} is not where its reference says"
            self._verify_references(inner)

    def _verify_flags(self) -> None:
        fresh = ScheduleState(self.mod)
        for block, sref in self._srefs.items():
            if isinstance(block, Block):
                claimed, actual = self._get_cached_flags(sref), fresh._get_cached_flags(fresh._srefs[block])
                wrong = [name for name, c, a in zip(claimed._fields, claimed, actual, strict=True) if c and not a]
                assert not wrong, f"block {block.name_hint!r} was said to have {', '.join(wrong)}"

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that brings the state back to what it is now."""
        mod, srefs, infos = self.mod, dict(self._srefs), dict(self._infos)
        links = [(sref, sref.stmt, sref.parent, sref.seq_index) for sref in srefs.values()]
        contents = [(info, copy.copy(info)) for info in infos.values()]

        def restore() -> None:
            if self.mod is mod:
                return
            self.mod, self._srefs, self._infos = mod, srefs, infos
            for sref, stmt, parent, index in links:
                sref.stmt, sref.parent, sref.seq_index = stmt, parent, index
            for info, former in contents:
                info.assign(former)

        return restore

    def copy(self) -> tuple[ScheduleState, dict[StmtSRef, StmtSRef]]:
        """Return a state of the same program with references of its own, and which of them stands for which."""
        twin = ScheduleState.__new__(ScheduleState)
        twin.mod, twin.debug_mask, twin.enable_check = self.mod, self.debug_mask, self.enable_check
        match = {sref: StmtSRef(sref.stmt, None, sref.seq_index) for sref in self._srefs.values()}
        for sref, other in match.items():
            other.parent = None if sref.parent is None else match[sref.parent]
        twin._srefs = {stmt: match[sref] for stmt, sref in self._srefs.items()}
        twin._roots = {match[root]: var for root, var in self._roots.items()}
        twin._infos = {match[sref]: info.with_srefs(match) for sref, info in self._infos.items()}
        return twin, match


def _as_module(mod: IRModule | PrimFunc) -> IRModule:
    if isinstance(mod, PrimFunc):
        return IRModule({"main": mod})
    if not isinstance(mod, IRModule):
        expected("Schedule", "mod", "an IRModule or a PrimFunc", mod)
    return mod


def _mask(debug_mask: str | int) -> int:
    if isinstance(debug_mask, str):
        if debug_mask not in _MASKS:
            raise ArgumentError(f"Schedule: debug_mask must be 'all', 'none' or a number, got {show(debug_mask)}")
        return int(_MASKS[debug_mask])
    return debug_mask


def _check_replacement(source: Stmt | None, target: Stmt) -> None:
    if source is None:
        raise ArgumentError("replace: the reference is stale: its statement is no longer in the program")
    if isinstance(source, Block) and not isinstance(target, Block):
        raise ArgumentError(f"replace: a block is replaced by a block, got {type(target).__name__}")
    if isinstance(source, For) and not isinstance(target, (For, BlockRealize)):
        raise ArgumentError(f"replace: a loop is replaced by a loop or a BlockRealize, got {type(target).__name__}")
