"""What a module says of its functions together: ``tvm.ir.GlobalInfo``."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.target.target import Target, TargetLike

__all__ = ["DummyGlobalInfo", "GlobalInfo", "VDevice"]


class GlobalInfo:
    """A fact about a module."""


class DummyGlobalInfo(GlobalInfo):
    """A fact that says nothing, for tests."""


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
