"""The device and host targets of functions, as passes need them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

from compiler.ir.error import LoweringError
from compiler.ir.extension import extension_point
from compiler.runtime.device import DEVICE_TYPES
from compiler.tir.statements.function import PrimFunc

CURRENT_TARGET = "current target"
"""The extension point of the target whose ``with`` block is open."""


class FunctionTarget(Protocol):
    """A target, as far as passes look at it."""

    @property
    def kind(self) -> str:
        """The kind of code, e.g. ``cuda``."""

    @property
    def keys(self) -> Sequence[str]:
        """The groups of targets that it belongs to."""

    @property
    def host(self) -> FunctionTarget | None:
        """The target of the functions that launch kernels."""

    @property
    def max_num_threads(self) -> int:
        """Threads that a block of a GPU may have."""

    @property
    def has_scalable_vectors(self) -> bool:
        """Whether the processor says while it runs how long its vectors are."""

    def without_host(self) -> FunctionTarget:
        """Return the target of the kernels alone."""


def target_or_current(func: PrimFunc) -> FunctionTarget | None:
    """Return the target of a function, or the one of the ``with`` block around."""
    given: Any = func.attrs.get("target")
    if given is None:
        current: Any = extension_point(CURRENT_TARGET).find("target")
        given = current() if current is not None else None
    return cast("FunctionTarget | None", given)


def function_target(func: PrimFunc, operation: str) -> FunctionTarget:
    """Return the target of a function.

    Raises LoweringError if the function has none: bind it first.
    """
    target: Any = func.attrs.get("target")
    if target is None:
        name = func.attrs.get("global_symbol")
        which = "a function without a name" if name is None else f"function {str(name)!r}"
        raise LoweringError(f"{operation}: Require the target attribute of {which}; add it with BindTarget")
    return cast("FunctionTarget", target)


def device_type(target: FunctionTarget) -> int | str:
    """Return DLPack's number of the device that a target's code runs on, its kind where there is no number."""
    kind = str(target.kind)
    return DEVICE_TYPES["cpu"] if "cpu" in target.keys else DEVICE_TYPES.get(kind, kind)
