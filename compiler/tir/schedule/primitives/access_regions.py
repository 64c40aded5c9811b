"""Primitives that override the access regions of a block."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import ExprLike, Range, Var, as_exprs
from compiler.ir.expr.substitute import substitute
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.conditions import buffer_of
from compiler.tir.schedule.facts.regions import variables_at
from compiler.tir.schedule.facts.roles import BLOCK, Role
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import rewritten
from compiler.tir.statements.buffer import BufferRegion

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule


@dataclass(frozen=True)
class RegionMap:
    """A region in terms of the axes of a block."""

    bounds: IndexMap  # from the axes to where each dimension begins and ends, one after the other

    @property
    def python_text(self) -> str:
        """The region as a function of the axes."""
        ends = self.bounds.final_indices
        pairs = ", ".join(f"({low}, {high})" for low, high in zip(ends[::2], ends[1::2], strict=True))
        return f"lambda {', '.join(var.name for var in self.bounds.initial_indices)}: [{pairs}]"

    @staticmethod
    def from_text(text: str, index_dtype: str, known: Mapping[str, Var]) -> RegionMap:
        """Return the region that :attr:`python_text` describes."""
        tree = ast.parse(text, mode="eval").body
        if not isinstance(tree, ast.Lambda) or not isinstance(tree.body, ast.List):
            raise ArgumentError(f"annotate_buffer_access: expected a lambda with a list of pairs, got {show(text)}")
        ends = [end for pair in tree.body.elts if isinstance(pair, ast.Tuple) for end in pair.elts]
        if len(ends) != 2 * len(tree.body.elts):
            raise ArgumentError(f"annotate_buffer_access: expected a lambda with a list of pairs, got {show(text)}")
        flat = ast.unparse(ast.Lambda(tree.args, ast.Tuple(ends, ast.Load())))
        return RegionMap(IndexMap.from_text(flat, index_dtype, known))


class _Region(Role):
    """A region of a buffer: a function of the axes, or its text in a saved trace."""

    is_input = True

    def recorded(self, sch: Schedule, operation: str, value: Any, given: Mapping[str, Any]) -> RegionMap:
        if isinstance(value, RegionMap):
            return value
        block = sch.get_sref(given["block"])
        axes = [Var(axis.var.name, axis.var.dtype) for axis in block.block.iter_vars]
        if isinstance(value, str):
            return RegionMap.from_text(value, axes[0].dtype if axes else "int32", variables_at(sch.state, block))
        ends: list[ExprLike] = []
        for part in value(*axes):
            ends += part if isinstance(part, (tuple, list)) else (part, part + 1)
        return RegionMap(IndexMap(tuple(axes), as_exprs(ends)))


@primitive("AnnotateBufferAccess", block=BLOCK, gen_new_ranges=_Region())
def annotate_buffer_access(
    state: ScheduleState, block: StmtSRef, buffer_index: int, buf_type: str, gen_new_ranges: RegionMap
) -> None:
    """Say which elements of a buffer a block accesses; later steps leave it at that.

    For example ``sch.annotate_buffer_access("B", 0, "read", lambda vi: [(vi - 1, vi + 1)])``::

        with T.block("B"):                   with T.block("B"):
            vi = T.axis.spatial(128, i)          vi = T.axis.spatial(128, i)
            T.reads(A[vi])             →         T.reads(A[vi - 1:vi + 1])
            T.writes(B[vi])                      T.writes(B[vi])
                                                 T.block_attr({"explicit_read_region": [0]})

    The function takes the axes of the block and returns for each dimension where the region begins and ends, or an
    index. Raises ScheduleError if the block has no such buffer, or the region has another number of dimensions, and
    ArgumentError if ``buf_type`` is neither.
    """
    if buf_type not in ("read", "write"):
        raise ArgumentError(f"annotate_buffer_access: buf_type must be 'read' or 'write', got {show(buf_type)}")
    buffer = buffer_of(block, buffer_index, buf_type)
    ranges = _ranges(block, gen_new_ranges)
    if len(ranges) != len(buffer.shape):
        refuse(
            f"Buffer {buffer.name} of block {{0}} has {len(buffer.shape)} dimensions, got a region of {len(ranges)}",
            block,
        )
    field = f"{buf_type}s"
    regions = list(getattr(block.block, field))
    regions[buffer_index] = BufferRegion(buffer, ranges)
    key = f"explicit_{buf_type}_region"
    chosen = list(block.block.annotations.get(key, ()))
    marks = chosen if buffer_index in chosen else [*chosen, buffer_index]
    annotations = {**block.block.annotations, key: marks}
    new = rewritten(block.block, **{field: tuple(regions)}, annotations=annotations)
    state.replace(block, new, {block.block: new})


def _ranges(block: StmtSRef, region: RegionMap) -> tuple[Range, ...]:
    """Return the region in terms of the block's own axes."""
    axes = [axis.var for axis in block.block.iter_vars]
    named = dict(zip(region.bounds.initial_indices, axes, strict=True))
    ends = [substitute(end, named) for end in region.bounds.final_indices]
    simplify = Analyzer().simplify
    pairs = zip(ends[::2], ends[1::2], strict=True)
    return tuple([Range.from_fields(low, simplify(high - low)) for low, high in pairs])
