"""Knob values: how an axis is split, loops are ordered and annotated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from compiler.ir.error import ArgumentError, undefined
from compiler.ir.expr.primexpr import IterVar
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.schedule import Schedule

Stageable = Tensor | Operation


class Entity:
    """The value of one knob."""

    kind: ClassVar[str]
    """How records call it."""

    def value(self) -> Any:
        """Return what a record says, of JSON's types."""
        undefined(self, "value")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Entity) and self.value() == other.value()

    def __hash__(self) -> int:
        return hash((self.kind, str(self.value())))

    def __repr__(self) -> str:
        return str(self.value())


class SplitEntity(Entity):
    """The extents of the loops that an axis is split into, outermost first; the first may be -1, for what is left."""

    kind = "sp"

    def __init__(self, size: Sequence[int]) -> None:
        self.size = list(size)

    def value(self) -> list[int]:
        return self.size

    def apply(self, sch: Schedule, op: Stageable, axis: IterVar) -> list[IterVar]:
        """Split an axis."""
        loops = []
        for at in range(1, len(self.size)):
            outer, axis = sch[op].split(axis, math.prod(self.size[at:]))
            loops.append(outer)
        return [*loops, axis]


class ReorderEntity(Entity):
    """The order of some loops."""

    kind = "re"

    def __init__(self, perm: Sequence[int]) -> None:
        self.perm = perm

    def value(self) -> Sequence[int]:
        return self.perm

    def apply(self, sch: Schedule, op: Stageable, axes: Sequence[IterVar]) -> list[IterVar]:
        """Reorder loops, given in the order of the definition.

        Raises ArgumentError if there are more or fewer loops.
        """
        if len(axes) != len(self.perm):
            raise ArgumentError(f"apply: {len(self.perm)} axes must be given, got {len(axes)}")
        new = [axes[at] for at in self.perm]
        sch[op].reorder(*new)
        return new


class AnnotateEntity(Entity):
    """What becomes of each of some loops: ``none``, ``unroll``, ``try_unroll``, ``vec``, ``try_vec``."""

    kind = "an"

    def __init__(self, anns: Sequence[str]) -> None:
        self.anns = list(anns)

    def value(self) -> list[str]:
        return self.anns

    def apply(
        self, sch: Schedule, op: Stageable, axes: Sequence[IterVar], axis_lens: Sequence[int] | None = None,
        max_unroll: int | None = None, vec_size: Sequence[int] | None = None, cfg: object = None,
        source: object = None,
    ) -> list[IterVar]:  # fmt: skip
        """Annotate loops, whose extents ``axis_lens`` are limited by ``max_unroll`` and ``vec_size``.

        Raises ArgumentError if a loop is to become something else.
        """
        for at, (axis, annotation) in enumerate(zip(axes, self.anns, strict=True)):
            extent = None if axis_lens is None else axis_lens[at]
            if annotation in ("unroll", "try_unroll"):
                if max_unroll is None or extent is None or extent <= max_unroll:
                    sch[op].unroll(axis)
            elif annotation in ("vec", "try_vec"):
                if vec_size is None or extent is None or extent in vec_size:
                    sch[op].vectorize(axis)
            elif annotation != "none":
                raise ArgumentError(
                    f"apply: annotation must be none, unroll, try_unroll, vec or try_vec, got {annotation}"
                )
        return list(axes)


class OtherOptionEntity(Entity):
    """A value that a template uses as it likes."""

    kind = "ot"

    def __init__(self, val: object) -> None:
        self.val: object = val

    def value(self) -> Any:
        return self.val


_KINDS = {entity.kind: entity for entity in (SplitEntity, ReorderEntity, AnnotateEntity, OtherOptionEntity)}


def entity_of_json(kind: str, value: object) -> Entity:
    """Return an entity from what a record says."""
    made: Mapping[str, Any] = _KINDS
    if kind not in made:
        raise ArgumentError(f"kind must be one of {', '.join(_KINDS)}, got {kind!r}")
    entity: Entity = made[kind](value)
    return entity
