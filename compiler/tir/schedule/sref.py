"""References to the loops and blocks of a scheduled program, and block dependences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from compiler.tir.statements.block import Block
from compiler.tir.statements.stmt import For


class StmtSRef:
    """A reference to a loop or block that stays valid while the program around it is rewritten.

    Attributes
    ----------
    stmt : Block, For or None
        What it refers to now; None once that is gone.
    parent : StmtSRef or None
        The innermost loop or block around it; None for the root block of a function.
    seq_index : int
        Its place among the statements of its parent's body, -1 if it is the only one.
    """

    __slots__ = ("parent", "seq_index", "stmt")

    def __init__(self, stmt: Block | For | None, parent: StmtSRef | None = None, seq_index: int = -1) -> None:
        self.stmt = stmt
        self.parent = parent
        self.seq_index = seq_index

    @property
    def block(self) -> Block:
        """The block that it refers to."""
        assert isinstance(self.stmt, Block), self.stmt
        return self.stmt

    @property
    def loop(self) -> For:
        """The loop that it refers to."""
        assert isinstance(self.stmt, For), self.stmt
        return self.stmt

    @property
    def node(self) -> Block | For:
        """The block or loop that it refers to."""
        assert self.stmt is not None
        return self.stmt

    @property
    def is_block(self) -> bool:
        """Whether it refers to a block."""
        return isinstance(self.stmt, Block)

    def same_as(self, other: object) -> bool:
        """Return whether ``other`` is this very reference."""
        return self is other

    @staticmethod
    def inline_mark() -> StmtSRef:
        """Return the place of a block that is computed where it is used."""
        return _INLINE

    @staticmethod
    def root_mark() -> StmtSRef:
        """Return the place of a block that is computed under no loop."""
        return _ROOT


_INLINE, _ROOT = StmtSRef(None), StmtSRef(None)


LoopSRef: TypeAlias = StmtSRef
"""A reference to a loop, where primitives give one: other references that they give are to blocks."""


class DepKind(IntEnum):
    """Why a block must run after another one: it reads what that writes, writes it again, or overwrites its input."""

    RAW = 0
    WAW = 1
    WAR = 2
    OPAQUE = 3


@dataclass(frozen=True, slots=True, eq=False)
class Dependency:
    """A block, ``dst``, that must run after another one, ``src``."""

    src: StmtSRef
    dst: StmtSRef
    kind: DepKind


class BlockScope:
    """The blocks directly inside of a block, and how they depend on each other."""

    def __init__(self, blocks: Iterable[StmtSRef], dependencies: Iterable[Dependency]) -> None:
        self.blocks = tuple(blocks)
        self.dependencies = tuple(dependencies)

    def get_deps_by_src(self, block: StmtSRef) -> list[Dependency]:
        """Return what depends on a block."""
        return [dep for dep in self.dependencies if dep.src is block]

    def get_deps_by_dst(self, block: StmtSRef) -> list[Dependency]:
        """Return what a block depends on."""
        return [dep for dep in self.dependencies if dep.dst is block]
