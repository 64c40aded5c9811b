"""How buffers are laid out: where copies that pack or permute a tensor put its elements in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from app.artifacts import MAX_AXES, MAX_LAYOUT_NAME, MAX_RULE, Layout
from app.docstrings import shortened
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, FloorDiv, FloorMod, IntImm, PrimExpr, Select, Var
from compiler.ir.expr.producer import ProducerLoad
from compiler.ir.expr.substitute import free_vars, post_order_visit
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.ir.origin import Span
from compiler.te.definition.operation import ComputeOp
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.expressions.evaluation import Array
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt_functor import StmtVisitor
from compiler.tir.warp_access.index_values import DataDependentError, IndexValues

MAX_LAYOUTS = 8
ROWS, COLUMNS = 16, 64
"""The part of a tensor that is drawn, at most."""
LINE, LINES = 64, 16
"""Bytes of a cache line, and how many of them are drawn."""
_MAX_ELEMENTS = 1 << 60
_MAX_PLACES = 1 << 15
"""The elements that are followed; of a larger buffer, those of a box at its beginning."""


def schedule_layouts(schedule: Schedule) -> list[Layout]:
    """Return the layouts that the stages of a schedule of tensor expressions make."""
    copies = (_of_stage(stage.op) for stage in schedule.stages if isinstance(stage.op, ComputeOp))
    return _layouts(copy for copy in copies if copy is not None)


def block_layouts(mod: IRModule) -> list[Layout]:
    """Return the layouts that the blocks of a program make."""
    finder = _Blocks()
    for func in mod.functions.values():
        if isinstance(func, PrimFunc):
            finder.visit(func.body)
    return _layouts(finder.copies)


def _layouts(copies: Iterable[_Copy]) -> list[Layout]:
    """Return the layouts of some buffers, each once: what fills it comes before what reads it back."""
    made: dict[str, Layout] = {}
    for copy in copies:
        packing = copy.packing()
        layout = _layout(packing) if len(made) < MAX_LAYOUTS else None
        if layout is not None:
            made.setdefault(packing.name, layout)
    return list(made.values())


@dataclass(frozen=True, slots=True)
class _Copy:
    """The places of elements in a buffer, and which elements these are, in terms of variables from 0 on."""

    name: str
    dtype: str
    shape: Sequence[int]
    places: Sequence[PrimExpr]
    source: str
    source_shape: Sequence[int]
    elements: Sequence[PrimExpr]
    condition: PrimExpr | None  # where there is an element, and no padding
    extents: Mapping[Var, int]
    span: Span

    def packing(self) -> _Copy:
        """Return the same elements in the buffer that is packed, where this copy takes it apart again."""
        if not self.source or _divides(self.places) or not _divides(self.elements):
            return self
        return replace(
            self, name=self.source, shape=self.source_shape, places=self.elements,
            source=self.name, source_shape=self.shape, elements=self.places,
        )  # fmt: skip


def _of_stage(op: ComputeOp) -> _Copy | None:
    load, condition = _loaded(op.body[0])
    extents = {axis.var: axis.dom.extent for axis in op.axes if axis.dom is not None}
    if len(op.body) > 1 or not isinstance(load, ProducerLoad) or len(extents) < len(op.axes):
        return None
    sizes = {var: extent.value for var, extent in extents.items() if isinstance(extent, IntImm)}
    source = _constants(load.producer.shape)
    if len(sizes) < len(extents) or source is None or not _rearranges(load.indices, list(sizes), sizes):
        return None
    shape = list(sizes.values())
    places = list(sizes)
    return _Copy(
        op.name, load.dtype, shape, places, load.producer.name, source, load.indices, condition, sizes, op.span
    )


def _loaded(value: PrimExpr) -> tuple[PrimExpr, PrimExpr | None]:
    """Return what an expression loads, and where it does instead of giving padding."""
    if isinstance(value, Call) and value.op is IF_THEN_ELSE:
        return value.args[1], value.args[0]
    return (value.true_value, value.condition) if isinstance(value, Select) else (value, None)


def _constants(shape: Sequence[object]) -> list[int] | None:
    sizes = [extent.value for extent in shape if isinstance(extent, IntImm)]
    return sizes if len(sizes) == len(shape) else None


def _rearranges(indices: Sequence[PrimExpr], places: Sequence[PrimExpr], extents: Mapping[Var, int]) -> bool:
    """Return whether a copy is more than a part of a tensor in its own order, at ``places``."""
    axes = [*free_vars(tuple(places)), *extents]
    moving = [[axes.index(var) for var in free_vars(index) if extents.get(var, 1) > 1] for index in indices]
    order = [axis for moved in moving for axis in moved]
    return _divides(indices) or any(len(moved) > 1 for moved in moving) or sorted(set(order)) != order


class _Blocks(StmtVisitor):
    """Finds stores whose indices divide, and copies that rearrange."""

    def __init__(self) -> None:
        self.copies: list[_Copy] = []
        self._blocks: list[Block] = []

    def visit_Block(self, n: Block) -> None:
        self._blocks.append(n)
        self.visit_Node(n)
        self._blocks.pop()

    def visit_BufferStore(self, n: BufferStore) -> None:
        if self._blocks and (copy := self._copy(n)) is not None:
            self.copies.append(copy)

    def _copy(self, n: BufferStore) -> _Copy | None:
        load, condition = _loaded(n.value)
        shape = _constants(n.buffer.shape)
        divides = _divides(n.indices)
        axes = [axis for block in self._blocks for axis in block.iter_vars]
        used = set(free_vars((*n.indices, *(load.indices if isinstance(load, BufferLoad) else ()))))
        extents = {axis.var: axis.dom.extent for axis in axes if axis.var in used and axis.dom is not None}
        sizes = {var: extent.value for var, extent in extents.items() if isinstance(extent, IntImm)}
        if shape is None or len(sizes) < len(used):
            return None
        if isinstance(load, BufferLoad):
            source_shape = _constants(load.buffer.shape)
            if source_shape is None or not (divides or _rearranges(load.indices, n.indices, sizes)):
                return None
            source, elements = load.buffer.name, load.indices
        elif divides:
            spatial = [axis.var for axis in self._blocks[-1].iter_vars if axis.var in sizes]
            source, elements, source_shape = "", tuple(spatial), [sizes[var] for var in spatial]
            if len(spatial) < len(sizes):
                return None
        else:
            return None
        return _Copy(
            n.buffer.name, n.buffer.dtype, shape, n.indices, source, source_shape, elements, condition, sizes, n.span
        )


def _divides(indices: Sequence[PrimExpr]) -> bool:
    """Return whether indices are parts of other ones, such as ``i // 8`` and ``i % 8``, or exchanged by bits."""
    parts: list[Node] = []
    for index in indices:
        post_order_visit(index, parts.append)
    return any(isinstance(part, (FloorDiv, FloorMod, Call)) for part in parts)


def _layout(copy: _Copy) -> Layout | None:
    """Follow a copy element by element; None if that is not one to one, or nothing is in another order."""
    if not 0 < len(copy.source_shape) <= MAX_AXES or not 0 < len(copy.shape) <= MAX_AXES:
        return None
    if max(prod(copy.shape), prod(copy.source_shape)) >= _MAX_ELEMENTS:
        return None
    values, valid = _values(copy)
    if values is None:
        return None
    places, elements = values
    inside = valid & _inside(places, copy.shape) & _inside(elements, copy.source_shape)
    place = np.ravel_multi_index([each[inside] for each in places], copy.shape)
    element = np.ravel_multi_index([each[inside] for each in elements], copy.source_shape)
    order = np.argsort(element)
    if not len(element) or _repeats(element[order]) or _repeats(np.sort(place)):
        return None
    if list(copy.shape) == list(copy.source_shape) and (place == element).all():
        return None
    rows, columns = _drawn_axes(copy)
    height, width = (
        min(copy.source_shape[rows] if rows != columns else 1, ROWS),
        min(copy.source_shape[columns], COLUMNS),
    )
    size = dt.storage_bytes(copy.dtype)
    memory = np.full(min(prod(copy.shape), LINES * LINE // size), -1)
    memory[place[place < len(memory)]] = element[place < len(memory)]
    down, across = np.divmod(np.arange(height * width), width)
    drawn = [np.zeros_like(down)] * len(copy.elements)
    drawn[rows], drawn[columns] = down, across
    wanted = np.ravel_multi_index(drawn, copy.source_shape)
    found = order[np.minimum(np.searchsorted(element, wanted, sorter=order), len(order) - 1)]
    offsets = np.where(element[found] == wanted, place[found], -1).reshape(height, width)
    followed = np.nonzero(offsets >= 0)  # of a large tensor, not all that could be drawn
    height, width = (int(np.max(at, initial=0)) + 1 for at in followed)
    return Layout(
        name=shortened(copy.name, MAX_LAYOUT_NAME),
        source=shortened(copy.source, MAX_LAYOUT_NAME),
        rule=shortened(_rule(copy), MAX_RULE),
        dtype=copy.dtype,
        element=size,
        shape=list(copy.source_shape),
        packed=list(copy.shape),
        axes=(rows, columns),
        rows=height,
        columns=width,
        offsets=offsets[:height, :width].reshape(-1).tolist(),
        memory=memory.tolist(),
        origins=sorted(copy.span),
    )


def _values(copy: _Copy) -> tuple[tuple[list[Array], list[Array]] | None, Array]:
    """Return the places and the elements over all values of the variables, and where there is an element."""
    extents = _box(list(copy.extents.values()))
    grid = np.unravel_index(np.arange(prod(extents)), extents) if extents else ()
    evaluate = IndexValues(dict(zip(copy.extents, grid, strict=True)))
    shape = (prod(extents),)

    def of(indices: Sequence[PrimExpr]) -> list[Array]:
        return [np.broadcast_to(np.asarray(evaluate.visit(index), "int64"), shape) for index in indices]

    try:
        valid = np.ones(shape, bool)
        if copy.condition is not None:
            valid = np.broadcast_to(np.asarray(evaluate.visit(copy.condition), bool), shape)
        return (of(copy.places), of(copy.elements)), valid
    except DataDependentError:
        return None, np.zeros(shape, bool)


def _box(extents: list[int]) -> list[int]:
    """Return extents of so few elements that they can be followed."""
    while prod(extents) > _MAX_PLACES:
        largest = extents.index(max(extents))
        extents[largest] = -(-extents[largest] // 2)
    return extents


def _inside(indices: Sequence[Array], shape: Sequence[int]) -> Array:
    inside = np.ones(indices[0].shape, bool)
    for index, extent in zip(indices, shape, strict=True):
        inside &= (index >= 0) & (index < extent)
    return inside


def _drawn_axes(copy: _Copy) -> tuple[int, int]:
    """Return the axes of the tensor that are drawn down and across: those that are divided, else the last ones."""
    divided = [at for at, index in enumerate(copy.elements) if len(set(free_vars(index))) > 1]
    if not divided:
        used = {var for place in copy.places if not isinstance(place, Var) for var in free_vars(place)}
        used = used or {*free_vars(tuple(copy.places))[-1:]}  # of a permutation, what is side by side now
        divided = [at for at, index in enumerate(copy.elements) if used & set(free_vars(index))]
    last = [at for at in reversed(range(len(copy.elements))) if at not in divided and copy.source_shape[at] > 1]
    chosen = sorted([*divided, *last][:2])
    return (chosen[0], chosen[-1]) if chosen else (0, 0)


def _repeats(ordered: Array) -> bool:
    return bool((ordered[1:] == ordered[:-1]).any())


def _rule(copy: _Copy) -> str:
    """Return the rule in words: ``packed[p, k, c] = B[k, p * 16 + c]``."""
    placed, taken = (", ".join(map(str, indices)) for indices in (copy.places, copy.elements))
    return f"{copy.name}[{placed}] = {copy.source}[{taken}]" if copy.source else f"{copy.name}[{placed}] of ({taken})"
