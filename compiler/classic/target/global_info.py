"""Module-level information beside the functions: ``tvm.ir.GlobalInfo``."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.printing.text import TextBuilder
from compiler.target.target import Target, TargetLike
from compiler.tir.printing.expr import ExprPrinter


class GlobalInfo:
    """Module-level information, compared structurally."""


@dataclass(frozen=True)
class DummyGlobalInfo(GlobalInfo):
    """An empty GlobalInfo, for tests."""

    def __str__(self) -> str:
        return "I.dummy_global_info()"


@dataclass(frozen=True)
class VDevice(GlobalInfo):
    """A virtual device, by its index among those of the same kind, on which data is placed."""

    target: TargetLike | None = None
    vdevice_id: int = 0
    memory_scope: str = "global"

    def __post_init__(self) -> None:
        if self.target is not None:
            object.__setattr__(self, "target", Target(self.target))

    def __str__(self) -> str:
        out = TextBuilder("")
        ExprPrinter(out).value(self.target.export() if isinstance(self.target, Target) else {})
        out.newline()
        return f'I.vdevice({out.text().rstrip()}, {self.vdevice_id}, "{self.memory_scope}")'
