"""Error locations for data types that code generation does not support."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from compiler.ir.node import Node
from compiler.ir.origin import user_place
from compiler.target.codegen.data_type_uses import DataTypeUses
from compiler.target.codegen.llvm.types import MissingTypeError, register_type
from compiler.tir.function import PrimFunc

__all__ = ["placing_missing_types"]


@contextmanager
def placing_missing_types(functions: Iterable[PrimFunc]) -> Iterator[None]:
    """Complete the message of a MissingTypeError, which is raised where the location is unknown.

    The functions are searched for the data type only after the error has occurred.

    Parameters
    ----------
    functions : iterable of PrimFunc
        The functions for which code is generated within the context.

    Raises
    ------
    MissingTypeError
        The message names what has the type, the line of the program, and the type to use instead.
    """
    try:
        yield
    except MissingTypeError:
        for func in functions:
            _Uses().require_of(func)
        raise


class _Uses(DataTypeUses):
    def require(self, dtype: str, what: str, n: Node) -> None:
        """Raise an error for a data type that code generation does not support."""
        try:
            register_type(dtype)
        except MissingTypeError:
            raise MissingTypeError(dtype, f"{what}{user_place(n.span)}") from None
