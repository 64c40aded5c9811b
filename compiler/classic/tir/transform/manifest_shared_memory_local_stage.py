"""Stages copies to shared memory through registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import Range, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.node import rebuild
from compiler.ir.origin import user_place
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite

ANNOTATION = "tir.manifest_shared_memory_local_stage"
_SHARED_SCOPES = ("shared", "shared.dyn")


class ManifestSharedMemoryLocalStage(FunctionRewrite):
    """Give the annotated copies from global to shared memory a stage of their own in registers.

    A thread loads all of its elements before it stores the first one, so that loads overlap, and a software pipeline
    can load for the next iteration while this one is computed::

        for i in range(4):                       for i in range(4):
            with T.block("S"):                       with T.block(""):
                S[i] = A[i] * 2.0        →               S_local[i] = A[i] * 2.0
                                                 for i in range(4):
                                                     with T.block("S"):
                                                         S[i] = S_local[i]

    A copy is a block with the annotation ``tir.manifest_shared_memory_local_stage`` that stores one element.  It stands
    alone in serial or vectorized loops, right in the block that allocates the shared memory. Raises LoweringError if an
    annotated block is anything else.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_Stages().visit(func.body))


@dataclass
class _Scope:
    """The block that is walked through."""

    allocations: tuple[Buffer, ...] = ()
    added: list[Buffer] = field(default_factory=list)


class _Stages(StmtMutator):
    def __init__(self) -> None:
        self._scope = _Scope()

    def visit_Block(self, n: Block) -> Stmt:
        around, self._scope = self._scope, _Scope(n.alloc_buffers)
        body = self.visit(n.body)
        added, self._scope = self._scope.added, around
        return rebuild(n, body=body, alloc_buffers=(*n.alloc_buffers, *added))

    def visit_For(self, n: For) -> Stmt:
        loops: list[For] = []
        inner: Stmt = n
        while isinstance(inner, For):
            loops.append(inner)
            inner = inner.body
        if isinstance(inner, BlockRealize) and _is_annotated(inner):
            return self._staged(_inner_loops(loops), inner)
        return self.visit_Node(n)

    def visit_BlockRealize(self, n: BlockRealize) -> Stmt:
        return self._staged([], n) if _is_annotated(n) else self.visit_Node(n)

    def _staged(self, loops: Sequence[For], copy: BlockRealize) -> Stmt:
        """Return the loads and the stores of a copy."""
        store = copy.block.body
        if not isinstance(store, BufferStore) or store.buffer.scope() not in _SHARED_SCOPES:
            raise _error(copy, "to store one element of shared memory")
        if store.buffer not in self._scope.allocations:
            raise _error(copy, f"to be right in the block that allocates {store.buffer.name}")
        local = decl_buffer(
            [loop.extent for loop in loops] or [1], store.buffer.dtype, f"{store.buffer.name}_local", scope="local"
        )
        self._scope.added.append(local)
        return seq([_load_stage(loops, copy, store, local), _store_stage(loops, copy, store, local)])


def _inner_loops(loops: list[For]) -> list[For]:
    for loop in loops:
        if loop.kind not in (ForKind.SERIAL, ForKind.VECTORIZED):
            raise LoweringError(
                f"ManifestSharedMemoryLocalStage: expected the loops around a copy to be serial or vectorized, "
                f"got {show(loop.loop_var)}, which is {loop.kind.name.lower()}{user_place(loop.span)}"
            )
    return loops


def _is_annotated(n: BlockRealize) -> bool:
    return bool(n.block.annotations.get(ANNOTATION))


def _error(copy: BlockRealize, expected: str) -> LoweringError:
    block = copy.block
    return LoweringError(
        f"ManifestSharedMemoryLocalStage: expected block {block.name_hint!r} {expected}{user_place(block.span)}"
    )


def _load_stage(loops: Sequence[For], copy: BlockRealize, store: BufferStore, local: Buffer) -> Stmt:
    fresh = {loop.loop_var: Var(loop.loop_var.name, loop.loop_var.dtype) for loop in loops}
    indices = [loop.loop_var - loop.min for loop in loops] or [const(0)]
    written = BufferRegion(local, tuple(Range.from_min_extent(index, 1) for index in indices))
    axes = dict(zip((axis.var for axis in copy.block.iter_vars), copy.iter_values, strict=True))
    reads = tuple(substitute(region, axes) for region in copy.block.reads)
    load = Block((), reads, (written,), "", BufferStore(local, substitute(store.value, axes), tuple(indices)))
    nest = _nest(loops, BlockRealize((), copy.predicate, load))
    return substitute(_renamed(nest, fresh), fresh)


def _renamed(nest: Stmt, fresh: dict[Var, Var]) -> Stmt:
    """Return loops with other variables, whose bodies still have the former ones."""
    if not isinstance(nest, For):
        return nest
    return rebuild(nest, loop_var=fresh[nest.loop_var], body=_renamed(nest.body, fresh))


def _store_stage(loops: Sequence[For], copy: BlockRealize, store: BufferStore, local: Buffer) -> Stmt:
    indices = tuple(loop.loop_var - loop.min for loop in loops) or (const(0),)
    annotations = {key: value for key, value in copy.block.annotations.items() if key != ANNOTATION}
    block = rebuild(copy.block, body=rebuild(store, value=BufferLoad(local, indices)), annotations=annotations)
    return _nest(loops, rebuild(copy, block=block))


def _nest(loops: Sequence[For], body: Stmt) -> Stmt:
    for loop in reversed(loops):
        body = rebuild(loop, body=body)
    return body
