"""Mappings between the axes of a block and those of an intrinsic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.arith import Analyzer
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var, is_const_int
from compiler.ir.expr.substitute import free_vars
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.schedule.facts.loop_mapping import innermost
from compiler.tir.schedule.facts.matching import DescriptionMatcher
from compiler.tir.schedule.random_variables import BlockRV
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import BufferStore

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule


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
