"""Analyses of scheduled blocks: ``tvm.tir.schedule.analysis``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.arith import Analyzer
from compiler.arith.iterators.detect_iter_map import detect_iter_map, normalize_to_iter_sum
from compiler.arith.iterators.iter_map import IterMapLevel, IterSplitExpr
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Range, Var, const, is_const_int
from compiler.ir.expr.substitute import free_vars
from compiler.ir.extension import public_module
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.schedule.facts import conditions
from compiler.tir.schedule.facts.loop_mapping import TensorizeInfo, get_tensorize_loop_mapping, innermost
from compiler.tir.schedule.facts.matching import DescriptionMatcher
from compiler.tir.schedule.random_variables import BlockRV
from compiler.tir.schedule.tree import all_blocks
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import BufferStore, For

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule

__all__ = [
    "AutoTensorizeMappingInfo", "TensorizeInfo", "get_auto_tensorize_mapping_info",
    "get_tensorize_loop_mapping", "has_block", "is_output_block", "suggest_index_map",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class AutoTensorizeMappingInfo:
    """What a block needs to be rewritten to the axes of an intrinsic."""

    mappings: list[IndexMap]  # from the axes of the block to those of the intrinsic, after the ones that are not mapped
    lhs_buffer_map: Mapping[Buffer, Buffer]  # buffers of the block, with those of the description that they stand for
    rhs_buffer_indices: Mapping[Buffer, list[PrimExpr]]
    # the axes of the block and of the description
    lhs_iters: list[IterVar]
    rhs_iters: list[IterVar]


def get_auto_tensorize_mapping_info(
    sch: Schedule, block: BlockRV, desc_func: PrimFunc
) -> AutoTensorizeMappingInfo | None:
    """Map the axes of a block onto those of an intrinsic that computes the same from elements elsewhere.

    An axis is mapped to the one of its kind that the same operands are indexed by: of a convolution those of the batch
    and of the image together become the rows of a product of matrices. None if the block computes something else, or
    more than one mapping is possible.
    """
    own = sch.get_sref(block).block
    described = innermost(desc_func.body)[0]
    if described is None:
        return None
    matching = _Accesses(own, described.block)
    if not matching.matches(own.body, described.block.body):
        return None
    index_map = _fused(own.iter_vars, described.block.iter_vars, matching)
    if index_map is None:
        return None
    return AutoTensorizeMappingInfo(
        [index_map],
        {mine: other for other, mine in matching.buffers.items()},
        {buffer: list(indices) for buffer, indices in matching.described.items()},
        list(own.iter_vars),
        list(described.block.iter_vars),
    )


class _Accesses(DescriptionMatcher):
    """Compares what is computed, from whichever elements, and notes which variables they are found by."""

    def __init__(self, own: Block, description: Block) -> None:
        DescriptionMatcher.__init__(self)
        self.described: dict[Buffer, tuple[PrimExpr, ...]] = {}  # the indices of each buffer of the description
        # variables in the indices of each buffer of the description, and of the program's that stands for it
        self.used: dict[Buffer, set[Var]] = {}
        self.described_use: dict[Buffer, set[Var]] = {}
        self._domains_known = Analyzer()
        for axis in (*own.iter_vars, *description.iter_vars):
            if axis.dom is not None and not is_const_int(axis.dom.extent, 1):
                self._domains_known.bind(axis.var, axis.dom)

    def _accesses(self, own: BufferLoad | BufferStore, described: BufferLoad | BufferStore) -> bool:
        """Compare accesses: one buffer stands for one, whichever its elements."""
        buffer = self.buffers.setdefault(described.buffer, own.buffer)
        if buffer is not own.buffer or buffer.dtype != described.buffer.dtype:
            return self._differ(f"buffer {own.buffer.name!r} cannot stand for {described.buffer.name!r}")
        self.described[described.buffer] = described.indices
        self.used.setdefault(described.buffer, set()).update(self._variables_of(own.indices))
        self.described_use.setdefault(described.buffer, set()).update(self._variables_of(described.indices))
        return True

    def _variables_of(self, indices: Sequence[PrimExpr]) -> set[Var]:
        return {var for index in indices for var in free_vars(self._domains_known.simplify(index))}


def _fused(own: Sequence[IterVar], described: Sequence[IterVar], accesses: _Accesses) -> IndexMap | None:
    """Return the map that fuses all axes which stand for one of the description; None if there is a choice."""
    buffers = list(accesses.described)
    variables = {axis: Var(axis.var.name, axis.var.dtype) for axis in own}
    unmapped: list[PrimExpr] = []
    fused: dict[IterVar, PrimExpr] = {}
    for axis in own:
        operands = [axis.var in accesses.used[buffer] for buffer in buffers]
        candidates = [
            other
            for other in described
            if other.iter_type == axis.iter_type
            and operands == [other.var in accesses.described_use[buffer] for buffer in buffers]
        ]
        if len(candidates) > 1:
            return None
        if axis.dom is None or not candidates:
            unmapped.append(variables[axis])
        elif candidates[0] in fused:
            fused[candidates[0]] = fused[candidates[0]] * axis.dom.extent + variables[axis]
        else:
            fused[candidates[0]] = variables[axis]
    simplify = Analyzer().simplify
    final = (*unmapped, *[simplify(fused[other]) for other in described if other in fused])
    return IndexMap(tuple(variables.values()), final) if fused else None


def suggest_index_map(
    buffer: Buffer, indices: Sequence[PrimExpr], loops: Sequence[For], predicate: PrimExpr
) -> IndexMap | None:
    """Suggest a layout in which the loops around an access go through the buffer in order.

    None if the index is not a quasi-affine expression of the loops.

    Examples
    --------
    ``A[j, i]`` within a loop over ``i`` and an inner one over ``j`` suggests ``lambda x0, x1: (x1, x0)``.
    """
    ranges = {loop.loop_var: Range.from_fields(loop.min, loop.extent) for loop in loops}
    flat = _flat_index(buffer, indices)
    if not detect_iter_map([flat], ranges, predicate, IterMapLevel.NoCheck):
        return None
    order: dict[Var | None, int] = {loop.loop_var: depth for depth, loop in enumerate(loops)}
    splits = list(normalize_to_iter_sum(flat, ranges).args)
    if not splits or any(_loop_of(split) not in order for split in splits):
        return None
    return _index_map(buffer, sorted(splits, key=lambda split: (order[_loop_of(split)], -_number(split.lower_factor))))


def _flat_index(buffer: Buffer, indices: Sequence[PrimExpr]) -> PrimExpr:
    """Return the offset of an element in a buffer without gaps."""
    flat: PrimExpr = const(0, indices[0].dtype if indices else "int32")
    for index, dim in zip(indices, buffer.shape, strict=True):
        flat = flat * dim + index
    return flat


def _loop_of(split: IterSplitExpr) -> Var | None:
    """Return the loop variable that a part of an index comes from."""
    source = split.source.source
    return source if isinstance(source, Var) else None


def _number(e: PrimExpr) -> int:
    return e.value if isinstance(e, IntImm) else 1


def _index_map(buffer: Buffer, splits: Sequence[IterSplitExpr]) -> IndexMap:
    """Return the map whose results are the digits of an element's offset, in a given order."""
    variables = tuple([Var(f"i{axis}", dim.dtype) for axis, dim in enumerate(buffer.shape)])
    ranges = [Range.from_fields(const(0, dim.dtype), dim) for dim in buffer.shape]
    analyzer = Analyzer.knowing(dict(zip(variables, ranges, strict=True)))
    flat = _flat_index(buffer, variables)
    digits = [analyzer.simplify(flat // split.scale % split.extent) for split in splits]
    return IndexMap(variables, tuple(digits))


def has_block(sch: Schedule, block_name: str) -> bool:
    """Return whether the function that a schedule works on has a block of a name."""
    function = sch.func_working_on
    return function is not None and any(block.name_hint == block_name for block in all_blocks(sch.mod[function].body))


def is_output_block(sch: Schedule, block: BlockRV) -> bool:
    """Return whether a block writes a buffer that the block around it does not allocate."""
    sref = sch.get_sref(block)
    return conditions.is_output_block(sref, conditions.scope_root(sch.state, sref))


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.tir.schedule.analysis", __all__)
