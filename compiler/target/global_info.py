"""What a module says of its functions together: ``tvm.ir.GlobalInfo``."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.text import TextBuilder
from compiler.target.target import Target, TargetLike
from compiler.tir.printer_expr import ExprPrinter

__all__ = ["DummyGlobalInfo", "GlobalInfo", "VDevice"]


class GlobalInfo:
    """A fact about a module; two are equal if they say the same."""


@dataclass(frozen=True)
class DummyGlobalInfo(GlobalInfo):
    """A fact that says nothing, for tests."""

    def __str__(self) -> str:
        return "I.dummy_global_info()"


@dataclass(frozen=True)
class VDevice(GlobalInfo):
    """A device that data of a module lies on.

    Parameters
    ----------
    target : Target, str or dict, optional
        What code for it is made for.
    vdevice_id : int
        Which of the devices of its kind.
    memory_scope : str
        Which of its memories.
    """

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
