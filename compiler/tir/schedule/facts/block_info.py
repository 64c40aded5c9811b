"""Cached properties of a scheduled block: its scope and flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from compiler.tir.schedule.sref import BlockScope, StmtSRef


class CachedFlags(NamedTuple):
    """The cached flags of a block.

    Attributes
    ----------
    affine_binding : bool
        Whether its iterator values are quasi-affine and independent of each other.
    region_cover : bool
        Whether the preceding blocks in its scope write every element that it reads from their outputs.
    stage_pipeline : bool
        Whether its child blocks form a pipeline of stages, each of which only reads what the preceding ones have
        completely written.
    """

    affine_binding: bool
    region_cover: bool
    stage_pipeline: bool


@dataclass(slots=True)
class BlockInfo:
    """The cached properties of a block: the scope of its child blocks, and its flags."""

    scope: BlockScope
    affine_binding: bool = False
    region_cover: bool = True
    stage_pipeline: bool = False

    def assign(self, other: BlockInfo) -> None:
        """Copy the properties of another block."""
        self.scope = other.scope
        self.affine_binding = other.affine_binding
        self.region_cover = other.region_cover
        self.stage_pipeline = other.stage_pipeline

    def with_srefs(self, srefs: Mapping[StmtSRef, StmtSRef]) -> BlockInfo:
        """Return the same properties in terms of other references, given by a mapping."""
        blocks = [srefs[block] for block in self.scope.blocks]
        dependencies = [type(d)(srefs[d.src], srefs[d.dst], d.kind) for d in self.scope.dependencies]
        return replace(self, scope=BlockScope(blocks, dependencies))
