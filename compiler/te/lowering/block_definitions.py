"""Recovers tensor expressions from a TensorIR program, the inverse of :mod:`compiler.te.lowering.create_prim_func`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import Add, BinaryOp, IterVar, Max, Min, Mul, PrimExpr, Var, is_const_int
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import Mutator
from compiler.ir.structural import structural_equal
from compiler.te.definition.axis import reduce_axis
from compiler.te.definition.operation import compute, placeholder
from compiler.te.definition.tensor import Tensor
from compiler.tir.expressions import reducer
from compiler.tir.expressions.reducer import ScalarReducer
from compiler.tir.schedule.facts.reducers import reduction_of
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, SeqStmt, Stmt

_REDUCERS: dict[type[BinaryOp], ScalarReducer] = {
    Add: reducer.sum, Mul: reducer.prod, Min: reducer.min, Max: reducer.max,
}  # fmt: skip


class NotDefinitions(TVMError):
    """A program whose blocks do not define a tensor each."""


def definitions_of_blocks(func: PrimFunc) -> dict[Buffer, Tensor]:
    """Return the tensors that the blocks of a function define, by the buffers that are parameters or allocated.

    Each block stands in loops of its own and stores every element of a buffer once, or reduces into it; what no block
    stores is a placeholder.  ::

        for i, k in T.grid(8, 16):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])       →    B = te.compute(
                with T.init():                                     (8,), lambda vi: te.sum(A[vi, vk], axis=vk))
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
    """
    blocks = list(_blocks(func.body))
    written = {_store(realize.block).buffer for realize in blocks}
    if len(written) < len(blocks):
        raise NotDefinitions("a buffer is stored by several blocks")
    inputs = [buffer for buffer in func.buffer_map.values() if buffer not in written]
    tensors = {buffer: placeholder(buffer.shape, buffer.dtype, buffer.name) for buffer in inputs}
    for realize in blocks:
        tensors[_store(realize.block).buffer] = _tensor(realize.block, tensors)
    return tensors


def _blocks(stmt: Stmt, loops: tuple[For, ...] = ()) -> Iterator[BlockRealize]:
    """Yield the blocks in their order, each the only statement of the loops over its axes."""
    match stmt:
        case SeqStmt() if not loops:
            for item in stmt.seq:
                yield from _blocks(item)
        case For():
            yield from _blocks(stmt.body, (*loops, stmt))
        case BlockRealize() if not loops and not stmt.block.iter_vars:
            yield from _blocks(stmt.block.body)
        case BlockRealize():
            _check_axes(stmt, loops)
            yield stmt
        case _:
            raise NotDefinitions(f"a {type(stmt).__name__} stands outside of the blocks")


def _check_axes(realize: BlockRealize, loops: tuple[For, ...]) -> None:
    """Reject a block that does not run once for every value of its axes."""
    domains = {loop.loop_var: loop for loop in loops}
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        loop = domains.pop(value, None) if isinstance(value, Var) else None
        domain = axis.dom
        if loop is None or domain is None or not is_const_int(loop.min, 0) or not is_const_int(domain.min, 0):
            raise NotDefinitions(f"axis {axis.var.name!r} is not a loop from 0 on")
        if not structural_equal(loop.extent, domain.extent):
            raise NotDefinitions(f"axis {axis.var.name!r} is only part of its loop")
    if domains or not is_const_int(realize.predicate, 1):
        raise NotDefinitions(f"block {realize.block.name_hint!r} has a condition, or loops that are not its axes")


def _store(block: Block) -> BufferStore:
    if not isinstance(block.body, BufferStore) or block.match_buffers or block.alloc_buffers:
        raise NotDefinitions(f"block {block.name_hint!r} is more than one store")
    return block.body


def _tensor(block: Block, tensors: Mapping[Buffer, Tensor]) -> Tensor:
    """Return the definition of the buffer that a block stores."""
    store = _store(block)
    spatial = [axis for axis in block.iter_vars if axis.iter_type == IterVar.DataPar]
    reduced = [axis for axis in block.iter_vars if axis.iter_type == IterVar.CommReduce]
    places = [axis.var for axis in spatial]
    extents = [axis.dom.extent for axis in spatial if axis.dom]
    every = list(store.indices) == places and structural_equal(extents, list(store.buffer.shape))
    if len(spatial) + len(reduced) < len(block.iter_vars) or not every:
        raise NotDefinitions(f"block {block.name_hint!r} does not store one element for each value of its axes")
    combine, value = _reduction(block, store) if reduced else (None, store.value)
    axes = [reduce_axis((0, axis.dom.extent), axis.var.name) for axis in reduced if axis.dom]
    inner = {axis.var: new.var for axis, new in zip(reduced, axes, strict=True)}
    source = _Reads(tensors).visit(value)

    def element(*indices: Var) -> PrimExpr:
        here = substitute(source, {**inner, **dict(zip(places, indices, strict=True))})
        return here if combine is None else combine(here, axis=axes)

    tensor = compute(store.buffer.shape, element, name=store.buffer.name)
    assert isinstance(tensor, Tensor)
    return tensor


def _reduction(block: Block, store: BufferStore) -> tuple[ScalarReducer, PrimExpr]:
    init = block.init
    reduction = reduction_of(init, store) if isinstance(init, BufferStore) else None
    if reduction is None:
        raise NotDefinitions(f"block {block.name_hint!r} is not a sum, product, minimum or maximum")
    return _REDUCERS[reduction.kind], reduction.value


class _Reads(Mutator):
    """Reads tensors where buffers are read."""

    def __init__(self, tensors: Mapping[Buffer, Tensor]) -> None:
        self._tensors = tensors

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        tensor = self._tensors.get(n.buffer)
        if tensor is None:
            raise NotDefinitions(f"{n.buffer.name!r} is read before it is stored")
        return tensor(*[self.visit(index) for index in n.indices])
