"""Roles of primitive arguments: their types for users, in traces and in implementations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from compiler.ir.error import expected
from compiler.ir.expr.primexpr import PrimExpr
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.random_variables import BlockRV, LoopRV, RandomVariable
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.statements.memory_info import is_storage_scope

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule


class Role:
    """An attribute of a step: kept as it was given.

    Attributes
    ----------
    annotation : str
        The type of what users pass; empty where that is what the primitive takes.
    is_input : bool
        Whether a trace keeps it among the inputs of a step: what random variables may stand for.
    is_flat : bool
        Whether it is a list, each item of which is an input of its own.
    spells_none : bool
        Whether a trace writes ``None`` where it was left out.
    """

    annotation = ""
    is_input = False
    is_flat = False
    spells_none = False

    def recorded(self, sch: Schedule, operation: str, value: object, given: Mapping[str, object]) -> object:
        """Return an argument as a trace keeps it."""
        return value

    def resolved(self, sch: Schedule, value: object) -> object:
        """Return what the primitive works on."""
        return value

    def completed(self, sch: Schedule, value: object, given: Mapping[str, object]) -> None:
        """Carry out what an argument asks for besides, as steps of their own, when the primitive has been applied."""


class _Variable(Role):
    """A block or a loop; a block may be named."""

    is_input = True

    def __init__(self, *kinds: type[RandomVariable]) -> None:
        self._kinds = kinds
        self.annotation = " | ".join(kind.__name__ for kind in kinds) + (" | str" if BlockRV in kinds else "")

    def recorded(self, sch: Schedule, operation: str, value: object, given: Mapping[str, object]) -> object:
        if isinstance(value, str) and BlockRV in self._kinds:
            return sch.find_block(value)
        if not isinstance(value, self._kinds):
            what = " or ".join({BlockRV: "a block", LoopRV: "a loop"}[kind] for kind in self._kinds)
            expected(operation, "argument", f"{what} of the schedule", value)
        return value

    def resolved(self, sch: Schedule, value: Any) -> StmtSRef:
        return sch.get_sref(value)


class _Value(Role):
    """A number, a text, an expression of numbers that the schedule knows, None; or lists and mappings of these."""

    is_input = True

    def resolved(self, sch: Schedule, value: object) -> object:
        if isinstance(value, (list, tuple)):
            return [self.resolved(sch, item) for item in value]
        if isinstance(value, Mapping):
            return {key: self.resolved(sch, item) for key, item in value.items()}
        return sch.evaluated(value) if isinstance(value, PrimExpr) else value


class ListRole(Role):
    """Several inputs of one role."""

    is_input = True

    def __init__(self, role: Role, is_flat: bool = True) -> None:
        self._role = role
        self.annotation = f"Sequence[{role.annotation}]" if role.annotation else ""
        self.is_flat = is_flat  # whether each is an input of its own, instead of all of them together

    def recorded(self, sch: Schedule, operation: str, value: object, given: Mapping[str, object]) -> list[object]:
        if value is None:
            return []
        if not isinstance(value, Sequence) or isinstance(value, str):
            expected(operation, "argument", "a list", value)
        return [self._role.recorded(sch, operation, item, given) for item in value]

    def resolved(self, sch: Schedule, value: Any) -> list[object]:
        return [self._role.resolved(sch, item) for item in value]


class _Target(Role):
    """A loop, or several blocks."""

    annotation = "LoopRV | Sequence[BlockRV | str]"
    is_input = True

    def recorded(self, sch: Schedule, operation: str, value: object, given: Mapping[str, object]) -> object:
        several = isinstance(value, (list, tuple))
        return (ListRole(BLOCK) if several else LOOP).recorded(sch, operation, value, given)

    def resolved(self, sch: Schedule, value: object) -> object:
        return [BLOCK.resolved(sch, v) for v in value] if isinstance(value, list) else LOOP.resolved(sch, value)


class _StorageScope(Role):
    """The name of a kind of memory."""

    def resolved(self, sch: Schedule, value: object) -> str:
        if not isinstance(value, str) or not is_storage_scope(value):
            refuse(
                f"There is no memory {value!r}: storage_scope must be global, shared, local, warp or texture, with a"
                " tag or without, or a memory of matrices such as wmma.accumulator"
            )
        return value


ATTRIBUTE = Role()
STORAGE_SCOPE = _StorageScope()
BLOCK = _Variable(BlockRV)
LOOP = _Variable(LoopRV)
BLOCK_OR_LOOP = _Variable(BlockRV, LoopRV)
VALUE = _Value()
TARGET = _Target()
