"""Moves buffer allocations to where they are used."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr.primexpr import IterVar, Var, const
from compiler.ir.expr.substitute import free_vars
from compiler.ir.functor import Visitor
from compiler.ir.node import Node, rebuild
from compiler.tir.analysis.block_access import get_block_read_write_region
from compiler.tir.statements.block import ALIGNMENTS, Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.statement import Annotations
from compiler.tir.statements.stmt import For, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite

Path = tuple[Node, ...]


class PlanAndUpdateBufferAllocationLocation(FunctionRewrite):
    """Allocate each buffer in the innermost loop or block that holds all of its accesses.

    For example::

        B = T.alloc_buffer((16, 16))             for i in range(16):
        for i in range(16):                          with T.block():
            for j in range(16): …            →           B = T.alloc_buffer((16, 16))
                B[i, j] = A[i, j] + 1.0                  for j in range(16): …
            for j in range(16): …                            B[i, j] = A[i, j] + 1.0
                C[i, j] = B[i, j] * 2.0                  for j in range(16): …

    A buffer that a block accumulates in outlives the loops of the block's reduction axes.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        uses = _Uses()
        uses.visit(func.body)
        places: dict[Node, list[Buffer]] = {}
        pointers = {}
        for buffer, home in uses.homes.items():
            path = uses.paths.get(buffer, home)
            place = path[-1] if len(path) >= len(home) else home[-1]
            places.setdefault(place, []).append(buffer)
            pointers[buffer.data] = buffer
        pointers.update({buffer.data: buffer for buffer in func.buffer_map.values()})
        return func.with_body(_Move(places, pointers).visit(func.body))


class _Uses(Visitor):
    """Finds the loops and blocks around all accesses of each buffer that a block allocates."""

    def __init__(self) -> None:
        self.homes: dict[Buffer, Path] = {}  # the path to the block that allocates a buffer
        self.paths: dict[Buffer, Path] = {}  # the longest path that all accesses have in common
        self._owners: dict[Var, Buffer] = {}
        self._path: Path = ()
        self._reduction: Path = ()

    def _within(self, n: Node) -> Path:
        outer, self._path = self._path, (*self._path, n)
        return outer

    def visit_For(self, n: For) -> None:
        self.visit(n.min)
        self.visit(n.extent)
        outer = self._within(n)
        self.visit(n.body)
        self._path = outer

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        for value in (*n.iter_values, n.predicate):
            self.visit(value)
        reduced = _reduction_variables(n)
        loops = [at for at, node in enumerate(self._path) if isinstance(node, For) and node.loop_var in reduced]
        self.visit_Block(n.block, min(loops, default=None))

    def visit_Block(self, n: Block, reduction: int | None = None) -> None:
        outer = self._within(n)
        for buffer in n.alloc_buffers:
            self.homes[buffer] = self._path
            self._owners[buffer.data] = buffer
        for region in n.writes if reduction is not None else ():
            self._use(region.buffer, outer[:reduction])
        for match in n.match_buffers:
            self._use(match.source.buffer, self._path)
        for stmt in (n.init, n.body):
            if stmt is not None:
                self.visit(stmt)
        self._path = outer

    def _block_path(self) -> Path:
        """Return the path to the innermost block: its loops may carry values from one iteration to the next."""
        length = len(self._path)
        while length and not isinstance(self._path[length - 1], Block):
            length -= 1
        return self._path[:length]

    def visit_BufferLoad(self, n: BufferLoad | BufferStore) -> None:
        self._use(n.buffer, self._block_path())
        self.visit_Node(n)

    visit_BufferStore = visit_BufferLoad

    def visit_Var(self, n: Var) -> None:
        if n in self._owners:
            self._use(self._owners[n], self._block_path())

    def _use(self, buffer: Buffer, path: Path) -> None:
        common = self.paths.get(buffer)
        if common is not None:
            length = next((i for i, (a, b) in enumerate(zip(common, path, strict=False)) if a is not b), None)
            path = path[: min(len(common), len(path)) if length is None else length]
        self.paths[buffer] = path


def _reduction_variables(n: BlockRealize) -> set[Var]:
    """Return the loop variables that the reduction axes of a block depend on."""
    pairs = zip(n.block.iter_vars, n.iter_values, strict=True)
    values = tuple(value for axis, value in pairs if axis.iter_type != IterVar.DataPar)
    return set(free_vars(values))


class _Move(StmtMutator):
    def __init__(self, places: dict[Node, list[Buffer]], pointers: dict[Var, Buffer]) -> None:
        self._places = places
        self._pointers = pointers

    def visit_Block(self, n: Block) -> Stmt:
        buffers = tuple(self._places.get(n, ()))
        outside = [tuple([r for r in regions if r.buffer not in buffers]) for regions in (n.reads, n.writes)]
        init = None if n.init is None else self.visit(n.init)
        return rebuild(
            n,
            reads=outside[0],
            writes=outside[1],
            alloc_buffers=buffers,
            init=init,
            annotations=_with_alignments(n, outside[1]),
            body=self.visit(n.body),
        )

    def visit_For(self, n: For) -> Stmt:
        body = self.visit(n.body)
        buffers = self._places.get(n)
        if not buffers:
            return rebuild(n, body=body)
        opaque = Block((), (), (), "", body, alloc_buffers=tuple(buffers))
        reads, writes = get_block_read_write_region(opaque, self._pointers)
        block = rebuild(opaque, reads=tuple(reads), writes=tuple(writes))
        return rebuild(n, body=BlockRealize((), const(True, "bool"), block))


def _with_alignments(n: Block, writes: Sequence[BufferRegion]) -> Annotations:
    """Return the annotations of a block whose alignments count what is left of the regions that it writes."""
    if ALIGNMENTS not in n.annotations or len(writes) == len(n.writes):
        return n.annotations
    place = {region: index for index, region in enumerate(writes)}
    entries = [(n.writes[int(position)], rest) for position, *rest in n.annotations[ALIGNMENTS]]
    left = [[const(place[region]), *rest] for region, rest in entries if region in place]
    others = {key: value for key, value in n.annotations.items() if key != ALIGNMENTS}
    return {**others, ALIGNMENTS: left} if left else others
