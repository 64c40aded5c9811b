"""Error locations for data types that code generation does not support."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.node import Node
from compiler.ir.origin import user_place
from compiler.target.codegen.data_type_uses import DataTypeUses
from compiler.target.codegen.llvm.types import MissingTypeError, register_type
from compiler.target.cpu.cpu_features import converts_halves
from compiler.target.target import Target
from compiler.tir.statements.function import PrimFunc


@contextmanager
def placing_missing_types(functions: Iterable[PrimFunc]) -> Iterator[None]:
    """Complete the message of a MissingTypeError, which is raised where the location is unknown.

    The functions are searched for the data type only after the error has occurred.
    """
    try:
        yield
    except MissingTypeError:
        for func in functions:
            _Uses().require_of(func)
        raise


def require_half_precision(functions: Iterable[PrimFunc], llvm: str, target: Target) -> None:
    """Check that the processor converts the half-precision numbers of a program."""
    if " half" not in llvm or converts_halves(target.triple, target.cpu, target.llvm_features):
        return
    for func in functions:
        _Halves().require_of(func)


class _Halves(DataTypeUses):
    def require(self, dtype: str, what: str, n: Node) -> None:
        """Raise an error for half precision."""
        if dt.element(dtype) == "float16":
            raise BuildError(
                f"LLVM code generation: {what}{user_place(n.span)} is of type float16, and the target's -mattr leaves"
                f" out what converts it on x86: leave sse2 in, or add f16c; or compute in float32"
            )


class _Uses(DataTypeUses):
    def require(self, dtype: str, what: str, n: Node) -> None:
        """Raise an error for a data type that code generation does not support."""
        try:
            register_type(dtype)
        except MissingTypeError:
            raise MissingTypeError(dtype, f"{what}{user_place(n.span)}") from None
