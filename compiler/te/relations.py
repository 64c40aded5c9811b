"""How the axes of a stage come from one another: each primitive that makes new axes leaves a relation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from compiler.ir.origin import NO_SPAN, Span
from compiler.ir.primexpr import IterVar, PrimExpr


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """``parent = outer * extent(inner) + inner``; exactly one of ``factor`` and ``nparts`` is given."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: PrimExpr | None
    nparts: PrimExpr | None

    @property
    def size(self) -> PrimExpr:
        """The one that is given."""
        given = self.nparts if self.factor is None else self.factor
        assert given is not None
        return given


@dataclass(frozen=True, slots=True, eq=False)
class Fuse:
    """``fused = outer * extent(inner) + inner``."""

    outer: IterVar
    inner: IterVar
    fused: IterVar


@dataclass(frozen=True, slots=True, eq=False)
class Rebase:
    """``parent = rebased + min(parent)``: a loop from zero for an axis that starts elsewhere."""

    parent: IterVar
    rebased: IterVar


@dataclass(frozen=True, slots=True, eq=False)
class Singleton:
    """An axis of one iteration that comes from nothing."""

    iter: IterVar


IterVarRelation = Split | Fuse | Rebase | Singleton


def parents(relation: IterVarRelation) -> tuple[IterVar, ...]:
    """Return the axes that a relation consumes."""
    match relation:
        case Split(parent=parent) | Rebase(parent=parent):
            return (parent,)
        case Fuse(outer=outer, inner=inner):
            return (outer, inner)
        case Singleton():
            return ()


@dataclass(slots=True)
class IterVarAttr:
    """What a schedule asked for an axis beyond its place in the nest.

    Attributes
    ----------
    iter_type : int, optional
        ``IterVar.Vectorized``, ``Unrolled`` or ``Parallelized``.
    bind_thread : IterVar, optional
        The thread axis that carries the loop.
    pragmas : tuple of (str, PrimExpr)
    dim_align : (factor, offset), optional
        From ``storage_align``.
    span : Span
        The lines of the schedule that asked.
    """

    iter_type: int | None = None
    bind_thread: IterVar | None = None
    pragmas: tuple[tuple[str, PrimExpr], ...] = ()
    dim_align: tuple[int, int] | None = None
    span: Span = field(default=NO_SPAN)


def position(axes: list[IterVar], axis: Any) -> int:
    """Return where ``axis`` itself stands among ``axes``, -1 if nowhere."""
    return next((i for i, a in enumerate(axes) if a is axis), -1)
