"""The lowest common ancestor of all accesses to each buffer."""

from __future__ import annotations

from functools import reduce

from compiler.ir.expr.primexpr import IterVar, Var
from compiler.ir.expr.substitute import free_vars
from compiler.ir.functor import Visitor
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, Stmt

__all__ = ["detect_buffer_access_lca"]

Path = tuple[Stmt, ...]


def detect_buffer_access_lca(func: PrimFunc) -> dict[Buffer, Stmt | None]:
    """Return the innermost loop or block that holds all accesses to each buffer.

    A block that accumulates in a buffer needs what is there to outlive the loops of its reduction axes, so that the
    loop around these counts; and global memory is seen by all blocks of threads, so that what is returned for it holds
    all loops over these, or is one of them. None stands for the function.
    """
    visitor = _Accesses(func)
    visitor.visit(func.body)
    paths = {buffer: visitor.path_of_all_threads(buffer, path) for buffer, path in visitor.paths.items()}
    return {buffer: path[-1] if path else None for buffer, path in paths.items()}


class _Accesses(Visitor):
    """Finds the longest path of loops and blocks that all accesses to a buffer have in common."""

    def __init__(self, func: PrimFunc) -> None:
        self.paths: dict[Buffer, Path] = {}
        self._pointers: dict[Var, Buffer] = {buffer.data: buffer for buffer in func.buffer_map.values()}
        self._path: Path = ()
        self._kernels: list[Path] = []

    def path_of_all_threads(self, buffer: Buffer, path: Path) -> Path:
        """Return the part of a path that all loops over blocks of threads have in common, for global memory."""
        return reduce(_common, self._kernels, path) if buffer.storage_scope in ("", "global") else path

    def visit_For(self, n: For) -> None:
        self.visit(n.min)
        self.visit(n.extent)
        if n.thread_binding is not None and n.thread_binding.thread_tag.startswith("blockIdx"):
            self._kernels.append((*self._path, n))
        self._within(n, n.body)

    def _within(self, n: Stmt, *parts: Stmt | None) -> None:
        outer, self._path = self._path, (*self._path, n)
        for part in parts:
            if part is not None:
                self.visit(part)
        self._path = outer

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        for value in (*n.iter_values, n.predicate):
            self.visit(value)
        around = self._around_reduction(n)
        if around is not None:
            for region in n.block.writes:
                self._use(region.buffer, around)
        self.visit(n.block)

    def visit_Block(self, n: Block) -> None:
        self._pointers.update({buffer.data: buffer for buffer in n.alloc_buffers})
        path = (*self._path, n)
        for match in n.match_buffers:
            self._use(match.source.buffer, path)
        self._within(n, n.init, n.body)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._use(n.buffer, self._path)
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._use(n.buffer, self._path)
        self.visit_Node(n)

    def visit_Var(self, n: Var) -> None:
        if n in self._pointers:
            self._use(self._pointers[n], self._path)

    def _use(self, buffer: Buffer, path: Path) -> None:
        buffer = self._pointers.get(buffer.data, buffer)
        self.paths[buffer] = _common(self.paths.get(buffer, path), path)

    def _around_reduction(self, n: BlockRealize) -> Path | None:
        """Return the path to the loops of the block's reduction axes; None if it has none."""
        pairs = zip(n.block.iter_vars, n.iter_values, strict=True)
        values = tuple([value for axis, value in pairs if axis.iter_type != IterVar.DataPar])
        used = set(free_vars(values))
        for depth, loop in enumerate(self._path):
            if isinstance(loop, For) and loop.loop_var in used:
                return self._path[:depth]
        return None


def _common(a: Path, b: Path) -> Path:
    length = 0
    for x, y in zip(a, b, strict=False):
        if x is not y:
            break
        length += 1
    return a[:length]
