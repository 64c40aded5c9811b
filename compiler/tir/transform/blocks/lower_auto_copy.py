"""Lowers copies between memory scopes to vectorised, thread-parallel or tensor-core copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import nodes_of
from compiler.ir.node import Node, rebuild
from compiler.ir.origin import user_place
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import THREAD_KEYS, AttrStmt, For, ForKind, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtMutator, StmtVisitor
from compiler.tir.transform.blocks.coalesced_copy import CoalescedCopy, in_order_of, loops_around, share_out
from compiler.tir.transform.blocks.fragment_copies import Place, Tiles, copy_tile, is_fragment, tiles_of
from compiler.tir.transform.blocks.shared_memory_padding import SharedMemoryPadding
from compiler.tir.transform.pass_base import FunctionRewrite

_SHARED_SCOPES = ("shared", "shared.dyn")
_WARP = 32


class LowerAutoCopy(FunctionRewrite):
    """Lower the copies in blocks with the annotation ``auto_copy``, by the memories that they copy from and to.

    Between global and shared memory, the loops are shared out among the threads of a block, which copy
    ``vector_bytes`` at once; with ``local_stage``, a thread loads all of its elements into registers first::

        with T.block("S"):                                 with T.block("S"):
            T.block_attr({"auto_copy": 1})                     T.block_attr({"auto_copy": 1})
            for i, j in T.grid(8, 64):              →          for k in range(2):
                S[i, j] = A[i, j]                                  for ty in T.thread_binding(8, "threadIdx.y"):
                                                                       for tx in T.thread_binding(32, "threadIdx.x"):
                                                                           S[((k * 8 + ty) * 32 + tx) // 64 % 8, …] = …

    Tiles are copied between shared memory and the fragments of tensor cores by ``tvm_load_matrix_sync`` and
    ``tvm_store_matrix_sync``, and results go to global memory by way of shared memory, a row of tiles at a time.
    The rows of shared memory become longer where a warp's accesses are in fewer of its banks otherwise.

    A block with the annotation ``warp_execution`` leaves ``threadIdx.x``, of 32 threads, to the instructions of warps.
    Raises LoweringError if such a block writes several buffers, or tiles do not fit its loops.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        survey = _Survey()
        survey.visit(func.body)
        if not survey.has_copies:
            return func
        padding = SharedMemoryPadding()
        body = _Lower(survey.threads(), padding).visit(func.body)
        return func.with_body(_AddStrides(padding).visit(body))


def _number(value: Any) -> int:
    """Return an annotation's number; zero where there is none."""
    return value.value if isinstance(value, IntImm) else int(value or 0)


class _Survey(StmtVisitor):
    """What a function says of its threads, and whether there are copies to lower."""

    def __init__(self) -> None:
        self.has_copies = False
        self._extents: dict[str, PrimExpr] = {}

    def threads(self) -> dict[str, PrimExpr]:
        """Return the extents of the threads of a block, the axis that changes fastest last."""
        tags = ("threadIdx.z", "threadIdx.y", "threadIdx.x")
        return {tag: self._extents[tag] for tag in tags if tag in self._extents}

    def visit_For(self, n: For) -> None:
        if n.thread_binding is not None:
            self._extents[n.thread_binding.thread_tag] = n.extent
        self.visit_Node(n)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key in THREAD_KEYS:
            self._extents[n.node.thread_tag] = n.value
        self.visit_Node(n)

    def visit_Block(self, n: Block) -> None:
        self.has_copies |= _number(n.annotations.get("auto_copy")) != 0
        self.visit_Node(n)
        if _number(n.annotations.get("warp_execution")):
            self._extents["threadIdx.x"] = const(_WARP)


class _Lower(StmtMutator):
    def __init__(self, threads: Mapping[str, PrimExpr], padding: SharedMemoryPadding) -> None:
        self._threads = threads
        self._padding = padding
        self._around: list[tuple[Var, PrimExpr, str]] = []

    def visit_For(self, n: For) -> Stmt:
        if n.thread_binding is None:
            return self.visit_Node(n)
        return self._within(n, n.loop_var, n.extent, n.thread_binding.thread_tag)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key not in THREAD_KEYS:
            return self.visit_Node(n)
        return self._within(n, n.node.var, n.value, n.node.thread_tag)

    def _within(self, n: Stmt, var: Var, extent: PrimExpr, tag: str) -> Stmt:
        self._around.append((var, extent, tag))
        new: Stmt = self.visit_Node(n)
        self._around.pop()
        return new

    def visit_Block(self, n: Block) -> Stmt:
        if not _number(n.annotations.get("auto_copy")):
            return self.visit_Node(n)
        if not n.writes:  # of a copy that nothing reads, which the block holds itself
            return n
        if len(n.writes) != 1:
            raise LoweringError(
                f"LowerAutoCopy: block {n.name_hint!r} must write one buffer, it writes {len(n.writes)}"
                f"{user_place(n.span)}"
            )
        target = n.writes[0].buffer
        sources = [region.buffer for region in n.reads]
        fragment = next((buffer for buffer in (target, *sources) if is_fragment(buffer)), None)
        if fragment is not None:
            return self._copy_fragments(n, fragment, target)
        scopes = {_memory(buffer) for buffer in sources}
        if (_memory(target), scopes) == ("shared", {"global"}):
            return self._copy_to_shared(n)
        if _memory(target) == "global" and "shared" in scopes:
            return self._copy_to_global(n)
        return n

    # Between global and shared memory

    def _copy_to_shared(self, n: Block) -> Stmt:
        loops, conditions, body = loops_around(n.body)
        if not loops:
            return n
        copy = self._shared_out(n, loops, conditions, body)
        staged = copy.staged(n.writes[0].buffer.name) if _number(n.annotations.get("local_stage")) else None
        if staged is None:
            return rebuild(n, body=copy.nest())
        nest, local = staged
        return rebuild(n, body=nest, alloc_buffers=(*n.alloc_buffers, local))

    def _copy_to_global(self, n: Block) -> Stmt:
        loops, conditions, body = loops_around(n.body)
        if not loops:
            return n
        if isinstance(body, BufferStore):
            loops = in_order_of(loops, body.indices)
        return rebuild(n, body=self._shared_out(n, loops, conditions, body).nest())

    def _shared_out(
        self, n: Block, loops: Sequence[For], conditions: tuple[PrimExpr, ...], body: Stmt
    ) -> CoalescedCopy:
        """Return loops shared out among the threads; what they access in shared memory is noted."""
        bits = dt.bits(n.writes[0].buffer.dtype)
        lanes = max(1, _number(n.annotations.get("vector_bytes")) * 8 // bits)
        copy = share_out(loops, conditions, body, self._threads, lanes)
        if isinstance(copy.body, BufferStore):
            accesses: list[BufferStore | BufferLoad] = [copy.body, *nodes_of(copy.body.value, BufferLoad)]
            for access in accesses:
                if _memory(access.buffer) == "shared":
                    self._padding.note_copy(copy, access.buffer, access.indices)
        return copy

    # Fragments

    def _copy_fragments(self, n: Block, fragment: Buffer, target: Buffer) -> Stmt:
        loops, conditions, store = loops_around(n.body)
        load = _load_of(store, fragment) if not conditions else None
        if not isinstance(store, BufferStore) or load is None:
            raise LoweringError(
                f"LowerAutoCopy: block {n.name_hint!r} must do nothing but store elements that it loads"
                f"{user_place(n.span)}"
            )
        source, stored = Place(load.buffer, load.indices), Place(store.buffer, store.indices)
        if _memory(target) == "global":
            return self._by_way_of_shared(n, tiles_of(loops, fragment, (source, stored), store), store, load)
        if store.value is not load:
            raise LoweringError(
                f"LowerAutoCopy: block {n.name_hint!r} copies fragments, and cannot compute{user_place(n.span)}"
            )
        tiles = tiles_of(loops, fragment, (source, stored), store)
        memory = load.buffer if is_fragment(target) else target
        self._padding.note_matrix(memory, tiles.size, tiles.size)
        first = tiles.within()
        body: Stmt = copy_tile(tiles, _at(source, first), _at(stored, first))
        body = tiles.tile_loop(tiles.row_tile, tiles.tile_loop(tiles.column_tile, body))
        return rebuild(n, body=_wrapped(tiles.around, body))

    def _by_way_of_shared(self, n: Block, tiles: Tiles, store: BufferStore, load: BufferLoad) -> Stmt:
        """Let each warp put a row of tiles into shared memory, and all threads copy these to global memory."""
        warps = [(var, extent) for var, extent, tag in self._around if tag in ("threadIdx.y", "threadIdx.z")]
        columns = tiles.count(tiles.column)
        counts = [*(extent for _, extent in warps), columns]
        shape = [*counts, const(tiles.size), const(tiles.size)]
        name = f"{load.buffer.name}_shared_dyn"
        staging = decl_buffer(shape, load.buffer.dtype, name, strides=_compact(shape), scope="shared.dyn")
        own = (*(var for var, _ in warps), tiles.column_tile, const(0), const(0))
        tile = copy_tile(tiles, _at(Place(load.buffer, load.indices), tiles.within()), Place(staging, own))
        names = [*(var.name for var, _ in warps), tiles.column_tile.name]
        names += [f"{loop.loop_var.name}_1" for loop in (tiles.row, tiles.column)]
        variables = [Var(f"{name}_cache", "int32") for name in names]
        loops = [
            For(var, const(0), extent, ForKind.SERIAL, store) for var, extent in zip(variables, shape, strict=True)
        ]
        staged = _Replace({load: BufferLoad(staging, tuple(variables))}).visit(store)
        *of_warps, column_tile, row, column = variables
        staged = substitute(staged, tiles.within(row, column))
        staged = substitute(
            staged, dict(zip([*(var for var, _ in warps), tiles.column_tile], [*of_warps, column_tile], strict=True))
        )
        copy = self._shared_out(n, loops, (), staged)
        body = tiles.tile_loop(tiles.row_tile, seq([tiles.tile_loop(tiles.column_tile, tile), copy.nest()]))
        return rebuild(n, body=_wrapped(tiles.around, body), alloc_buffers=(*n.alloc_buffers, staging))


def _memory(buffer: Buffer) -> str:
    """Return the scope of a buffer, ``shared`` for all shared memory."""
    return "shared" if buffer.scope() in _SHARED_SCOPES else buffer.scope()


def _load_of(store: Stmt, fragment: Buffer) -> BufferLoad | None:
    """Return the load of what a statement copies from a fragment, or to it."""
    if not isinstance(store, BufferStore):
        return None
    if store.buffer is fragment:
        return store.value if isinstance(store.value, BufferLoad) else None
    return next((load for load in nodes_of(store.value, BufferLoad) if load.buffer is fragment), None)


def _at(place: Place, values: Mapping[Var, PrimExpr]) -> Place:
    return Place(place.buffer, substitute(place.indices, values))


def _compact(shape: Sequence[PrimExpr]) -> list[PrimExpr]:
    strides: list[PrimExpr] = [const(1)]
    for dim in reversed(shape[1:]):
        strides.insert(0, strides[0] * dim)
    return strides


def _wrapped(loops: Sequence[For], body: Stmt) -> Stmt:
    for loop in reversed(loops):
        body = rebuild(loop, body=body)
    return body


class _Replace(StmtExprMutator):
    """Puts loads in the places of others."""

    def __init__(self, new: Mapping[BufferLoad, BufferLoad]) -> None:
        self._new = new

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        return self._new[n] if n in self._new else self.visit_Node(n)


class _AddStrides(StmtExprMutator):
    """Puts buffers with longer rows in the places of those that blocks allocate."""

    def __init__(self, padding: SharedMemoryPadding) -> None:
        self._padding = padding
        self._buffers: dict[Buffer, Buffer] = {}

    def visit_Block(self, n: Block) -> Stmt:
        for buffer in n.alloc_buffers:
            self._buffers[buffer] = self._padding.padded(buffer)
        new: Block = self.visit_Node(n)
        return rebuild(new, alloc_buffers=tuple([self._buffers[buffer] for buffer in n.alloc_buffers]))

    def _padded(self, n: BufferLoad | BufferStore | BufferRegion) -> Node:
        return rebuild(self.visit_Node(n), buffer=self._buffers.get(n.buffer, n.buffer))

    visit_BufferLoad = visit_BufferStore = visit_BufferRegion = _padded
