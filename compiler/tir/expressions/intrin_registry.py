"""The registry of tensor intrinsics: their descriptions and implementations."""

from __future__ import annotations

from collections.abc import Callable

from compiler.ir.error import ArgumentError, expected, show
from compiler.ir.instrument import uninstrumented
from compiler.ir.origin import unrecorded
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc

__all__ = ["TensorIntrin"]

_REGISTERED: dict[str, TensorIntrin | Callable[[], TensorIntrin]] = {}
"""By name; intrinsics that are registered with how to make them are made when they are first asked for."""


class TensorIntrin:
    """An intrinsic of a processor: ``desc`` says by loops and blocks what ``impl`` does with the same buffers.

    Raises ArgumentError if the functions do not have the same kind of parameters, or no root block.
    """

    def __init__(self, desc: PrimFunc, impl: PrimFunc) -> None:
        for func in (desc, impl):
            if not isinstance(func, PrimFunc) or not isinstance(func.body, BlockRealize):
                expected("TensorIntrin", "desc and impl", "functions with a root block", func)
        shapes = [[(str(b.dtype), str(b.shape)) for b in _buffers(func)] for func in (desc, impl)]
        if shapes[0] != shapes[1]:
            raise ArgumentError("TensorIntrin: desc and impl must have buffers of the same shapes and types")
        self.desc = desc
        self.impl = impl

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> TensorIntrin:
        """Register an intrinsic under a name, with ``override`` in place of one of that name.

        Raises ArgumentError if there is an intrinsic of that name, or the functions do not fit each other.
        """
        if name in _REGISTERED and not override:
            raise ArgumentError(f"TensorIntrin '{name}' has already been registered")
        intrin = _REGISTERED[name] = TensorIntrin(desc, impl)
        return intrin

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """Return an intrinsic by its name; with ``allow_missing`` None if there is none.

        Raises ArgumentError if there is none, and there must be.
        """
        if name not in _REGISTERED and not allow_missing:
            raise ArgumentError(f"TensorIntrin {show(name)} is not registered")
        found = _REGISTERED.get(name)
        if not callable(found):
            return found
        with uninstrumented(), unrecorded():  # the user wrote none of it
            made = _REGISTERED[name] = found()
        return made


def register_to_be_made(name: str, make: Callable[[], tuple[PrimFunc, PrimFunc]]) -> None:
    """Register an intrinsic, in place of one of that name; its two functions are made when it is first asked for."""
    _REGISTERED[name] = lambda: TensorIntrin(*make())


def _buffers(func: PrimFunc) -> list[Buffer]:
    return [func.buffer_map[param] for param in func.params if param in func.buffer_map]
