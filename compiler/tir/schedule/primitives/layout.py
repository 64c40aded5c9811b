"""Layout transformations of buffers and block axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING, Any, NoReturn

from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import (
    FloatImm,
    IntImm,
    IterVar,
    PrimExpr,
    Range,
    Var,
    as_exprs,
    const,
    convert,
    is_const_int,
)
from compiler.ir.expr.substitute import free_vars, uses_var
from compiler.ir.functor import nodes_of
from compiler.ir.node import rebuild
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.schedule.buffers import ReplaceBuffers, renamed_buffer
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.buffer_traversal import traversals
from compiler.tir.schedule.facts.conditions import buffer_of, check_runs_everywhere
from compiler.tir.schedule.facts.regions import variables_at
from compiler.tir.schedule.facts.roles import BLOCK, Role
from compiler.tir.schedule.facts.stated_accesses import check_closed
from compiler.tir.schedule.registry import primitive, primitives
from compiler.tir.schedule.relayout import Padding, Relayout, nest_of_axes
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import ancestors, hold_only, loop_range, loops_above, with_child
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.stmt import For, Stmt

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule


class BufferChoice(Role):
    """A buffer of a block: ``("read", 0)``, a name, or itself."""

    def recorded(self, sch: Schedule, operation: str, value: Any, given: Mapping[str, Any]) -> tuple[str, int]:
        if isinstance(value, (tuple, list)) and len(value) == 2 and value[0] in ("read", "write"):
            return value[0], int(value[1])
        block = sch.get_sref(given["block"]).block
        for kind, regions in (("write", block.writes), ("read", block.reads)):
            for index, region in enumerate(regions):
                if value is region.buffer or value == region.buffer.name:
                    return kind, index
        raise ArgumentError(
            f'{operation}: buffer must be ("read", index), ("write", index), or a buffer of block '
            f"{block.name_hint!r}, got {show(value)}"
        )


class IndexMapping(Role):
    """A map of indices: an :class:`IndexMap`, a function, or its text in a saved trace.

    It maps the indices of the buffer with ``of_buffer``, else the axes of the block.
    """

    is_input = True

    def __init__(self, of_buffer: bool) -> None:
        self._of_buffer = of_buffer

    def recorded(self, sch: Schedule, operation: str, value: Any, given: Mapping[str, Any]) -> object:
        if isinstance(value, IndexMap):
            return value
        block = sch.get_sref(given["block"])
        if self._of_buffer:
            kind, number = given["buffer"]
            mapped: Sequence[PrimExpr] = buffer_of(block, number, kind).shape
        else:
            mapped = [axis.var for axis in block.block.iter_vars]
        dtype = mapped[0].dtype if mapped else "int32"
        if isinstance(value, str):
            return IndexMap.from_text(value, dtype, variables_at(sch.state, block))
        if self._of_buffer:
            return IndexMap.from_func_with_separators(value, len(mapped), index_dtype=dtype)[0]
        return IndexMap.from_func(value, len(mapped), index_dtype=dtype)

    def completed(self, sch: Schedule, value: Any, given: Mapping[str, Any]) -> None:
        """Separate the axes that ``IndexMap.AXIS_SEPARATOR`` stands between."""
        if not self._of_buffer or isinstance(value, (IndexMap, str)):
            return
        count = len(given["index_map"].initial_indices)
        separators = IndexMap.from_func_with_separators(value, count)[1]
        if separators:
            primitives["set_axis_separator"].method()(sch, given["block"], given["buffer"], separators)


class PadValue(Role):
    """What padding holds: a number, an expression, or a function of the new indices."""

    is_input = True
    spells_none = True

    def recorded(self, sch: Schedule, operation: str, value: Any, given: Mapping[str, Any]) -> object:
        if value is None or isinstance(value, IndexMap):
            return value
        index_map: IndexMap = given["index_map"]
        count = len(index_map.final_indices)
        dtype = index_map.final_indices[0].dtype if count else "int32"
        if isinstance(value, str):
            return IndexMap.from_text(value, dtype)
        if callable(value):
            return IndexMap.from_func(value, count, index_dtype=dtype)
        kind, index = given["buffer"]
        element = buffer_of(sch.get_sref(given["block"]), index, kind).dtype
        variables = tuple([Var(f"indices_{axis}", dtype) for axis in range(count)])
        return IndexMap(variables, (_padding_of_type(value, element),))


def _padding_of_type(value: object, dtype: str) -> PrimExpr:
    """Return a Python number as a constant of the type of a buffer's elements, and an expression as it is."""
    if isinstance(value, float):
        return FloatImm(dtype, value)
    return IntImm(dtype, value) if isinstance(value, int) and not isinstance(value, bool) else convert(value)


@primitive("TransformLayout", block=BLOCK, buffer=BufferChoice(), index_map=IndexMapping(True), pad_value=PadValue())
def transform_layout(
    state: ScheduleState,
    block: StmtSRef,
    buffer: Sequence[Any],
    index_map: IndexMap,
    pad_value: IndexMap | None = None,
    assume_injective_transform: bool = False,
) -> None:
    """Store the elements of a buffer in another layout.

    For example ``sch.transform_layout("B", ("write", 0), lambda i, j: (j // 16, i, j % 16))``::

        B = T.alloc_buffer((128, 128))       →       B = T.alloc_buffer((8, 128, 16))
        B[vi, vj] = A[vi, vj] * 2.0                  B[vj // 16, vi, vj % 16] = A[vi, vj] * 2.0

    Raises ScheduleError if the map leaves elements free, and there is no value for them; or the buffer is used
    otherwise than by indices.

    Parameters
    ----------
    buffer : (str, int), str or Buffer
        The buffer: ``("read", index)`` or ``("write", index)``, its name, or itself.
    index_map : IndexMap or callable
        From the indices of an element to those that it gets.
    pad_value : int, float, PrimExpr, IndexMap or callable, optional
        What elements hold that the map leaves free; a function is one of their indices.  Without it none may be free.
    assume_injective_transform : bool
        Whether to take for granted that the map is one to one, and leaves nothing free.
    """
    old = buffer_of(block, buffer[1], buffer[0])
    home = home_of(block, old)
    new = renamed_buffer(old, old.name, old.storage_scope, index_map.map_shape(old.shape))
    rewrite = Relayout(home, old, new, index_map)
    if not assume_injective_transform:
        inverse, free = _inverse(block, old, index_map)
        if not is_const_int(free, 0):
            if pad_value is None:
                _refuse_padding(block, old, new, index_map, free)
            else:
                _check_pad_value(block, old, pad_value)
            rewrite.padding = Padding(inverse, free, pad_value)
            rewrite.traversals = traversals(home.block, old)
    replace_buffer(state, home, rewrite, {old: new})


def _inverse(block: StmtSRef, old: Buffer, index_map: IndexMap) -> tuple[IndexMap, PrimExpr]:
    """Return the map back, and where no element is mapped to."""
    try:
        return index_map.non_surjective_inverse(old.shape)
    except ArgumentError as error:
        refuse(f"The transformation of buffer {old.name}, which block {{0}} accesses, is not injective: {error}", block)


def _refuse_padding(block: StmtSRef, old: Buffer, new: Buffer, index_map: IndexMap, free: PrimExpr) -> None:
    refuse(
        f"The transformation {index_map} applied on buffer {old.name} of shape {list(old.shape)} would result in shape "
        f"{list(new.shape)}.  However, this would introduce padding wherever {free} is true.",
        block,
    )


def _check_pad_value(block: StmtSRef, old: Buffer, pad_value: IndexMap) -> None:
    value = pad_value.final_indices[0]
    if value.dtype != old.dtype:
        refuse(
            f"Buffer {old.name} has elements of type {old.dtype}, but the transformation fills padding with "
            f"{pad_value}, which is of type {value.dtype}.",
            block,
        )
    others = [n.buffer.name for n in nodes_of(value, BufferLoad) if n.buffer is not old]
    if others:
        refuse(
            f"The transformation of buffer {old.name} fills padding with {pad_value}, "
            f"which loads from buffer {others[0]}.",
            block,
        )


@primitive("SetAxisSeparator", block=BLOCK, buffer=BufferChoice())
def set_axis_separator(
    state: ScheduleState, block: StmtSRef, buffer: Sequence[Any], axis_separators: Sequence[int] | None
) -> None:
    """Let the dimensions of a buffer be flattened in groups.

    For example ``sch.set_axis_separator("B", ("write", 0), [1])``::

        B = T.alloc_buffer((128, 128))       →       B = T.alloc_buffer((128, 128), axis_separators=[1])

    The buffer is ``("read", index)`` or ``("write", index)``, its name, or itself.
    """
    old = buffer_of(block, buffer[1], buffer[0])
    separators = as_exprs([int(axis) for axis in axis_separators or ()])
    new = rebuild(renamed_buffer(old, old.name, old.storage_scope), strides=old.strides, axis_separators=separators)
    replace_buffer(state, home_of(block, old), ReplaceBuffers({old: new}), {old: new})


@primitive("TransformBlockLayout", block=BLOCK, index_map=IndexMapping(False))
def transform_block_layout(state: ScheduleState, block: StmtSRef, index_map: IndexMap) -> None:
    """Give a block other axes, and a loop for each.

    For example ``sch.transform_block_layout("B", lambda i, j: (i * 16 + j,))``::

        for i, j in T.grid(8, 16):                         for ax0 in range(128):
            with T.block("B"):                                 with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])     →          v0 = T.axis.spatial(128, ax0)
                B[vi, vj] = A[vi, vj] * 2.0                        B[v0 // 16, v0 % 16] = A[v0 // 16, v0 % 16] * 2.0

    The axes of the block are just the loops around it; the map takes them one to one to the new ones. Raises
    ScheduleError if the axes are not loops, or the map is not one to one.
    """
    realize = state.realize_of(block)
    nest = plain_nest(state, block, realize)
    axes = realize.block.iter_vars
    domains = [axis.dom.extent for axis in axes if axis.dom is not None]
    try:
        inverse = index_map.inverse(domains)
    except ArgumentError:
        _refuse_mapping(block, index_map)
    analyzer = Analyzer()
    extents = index_map.map_shape(domains)
    if not analyzer.can_prove_equal(reduce(mul, extents, const(1)), reduce(mul, domains, const(1))):
        _refuse_mapping(block, index_map)
    kinds = [_kind(block, index_map, index) for index in index_map.final_indices]
    new_axes = [
        IterVar(Range.from_fields(const(0, dim.dtype), dim), Var(f"v{at}", dim.dtype), kind)
        for at, (dim, kind) in enumerate(zip(extents, kinds, strict=True))
    ]
    for axis in new_axes:
        assert axis.dom is not None
        analyzer.bind(axis.var, axis.dom)
    back = inverse.map_indices([axis.var for axis in new_axes], analyzer)
    stmt, new = nest_of_axes(realize.block, new_axes, dict(zip((axis.var for axis in axes), back, strict=True)))
    replace_leaf(state, nest, block, stmt, new)


def _refuse_mapping(block: StmtSRef, index_map: IndexMap) -> NoReturn:
    refuse(f"The {index_map} over the axes of block {{0}} is not bijective", block)


def _kind(block: StmtSRef, index_map: IndexMap, index: PrimExpr) -> int:
    """Return what kind of axis a sum of axes is."""
    used = set(free_vars(index))
    pairs = zip(index_map.initial_indices, block.block.iter_vars, strict=True)
    kinds = {axis.iter_type for var, axis in pairs if var in used}
    if len(kinds) > 1:
        refuse(f"The {index_map} mixes data-parallel and reduction axes of block {{0}}", block)
    return next(iter(kinds), IterVar.DataPar)


def plain_nest(state: ScheduleState, block: StmtSRef, realize: BlockRealize) -> Stmt:
    """Return the loops around a block, which must be its axes, all from 0 on, and nothing else."""
    loops = loops_above(block)
    variables = [sref.loop.loop_var for sref in loops]
    plain = len(loops) == len(realize.iter_values) and set(variables) == set(realize.iter_values)
    if not plain or not hold_only(loops, realize):
        refuse("The axes of block {0} are expected to be just the loops around it, which hold nothing else", block)
    extents: dict[PrimExpr, For] = {sref.loop.loop_var: sref.loop for sref in loops}
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        around = extents[value]
        if axis.dom is None or not _same_range(loop_range(around), axis.dom):
            refuse(
                f"The loop {{1}} is expected to run over just the values of axis {axis.var.name} of block {{0}}",
                block,
                around,
            )
        if not is_const_int(axis.dom.min, 0) or uses_var(axis.dom.extent, extents.__contains__):
            refuse(
                "The loop {1} around block {0} must begin at 0, and no other loop of the block may decide how far it "
                "runs",
                block,
                around,
            )
    check_closed(block)
    check_runs_everywhere(state, block)
    return loops[0].loop if loops else realize


def _same_range(a: Range, b: Range) -> bool:
    equal = Analyzer().can_prove_equal
    return equal(a.min, b.min) and equal(a.extent, b.extent)


def replace_leaf(state: ScheduleState, nest: Stmt, block: StmtSRef, stmt: Stmt, new: Block) -> None:
    """Put loops around a rewritten block in place of those that were around it."""
    scope = next(above for above in ancestors(block) if above.is_block)
    around = with_child(scope.block, nest, stmt)
    state.replace(scope, around, {scope.block: around, block.block: new})
    state.rebound(block)


# rewriting


def home_of(block: StmtSRef, buffer: Buffer) -> StmtSRef:
    """Return the block that allocates a buffer; the root block for a parameter."""
    around = [above for above in (block, *ancestors(block)) if above.is_block]
    for above in around:
        if any(match.buffer is buffer for match in above.block.match_buffers):
            refuse(
                f"The buffer {buffer.name} is defined by match_buffer in block {{0}}, so it cannot be changed", above
            )
    return next((a for a in around if any(buffer is other for other in a.block.alloc_buffers)), around[-1])


def replace_buffer(
    state: ScheduleState, home: StmtSRef, rewrite: ReplaceBuffers, buffers: Mapping[Buffer, Buffer]
) -> None:
    """Rewrite all accesses to a buffer, and its definition, be it in a block or a parameter."""
    new = rewrite.visit(home.block)
    state.replace(home, new, rewrite.reuse)
    state.replace_parameters(home, buffers)
    state.refresh(home)
