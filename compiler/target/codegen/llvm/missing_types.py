"""Saying where a function has values of a data type that no code is made for."""

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
    """Name what is of a data type that code generation lacks: types are looked up where no line is known.

    Only once one is missing are the functions searched for it, so that those without pay nothing.

    Parameters
    ----------
    functions : iterable of PrimFunc
        For which code is generated meanwhile.

    Raises
    ------
    MissingTypeError
        The message names what is of the type, the user's line, and the type to use in its place.
    """
    try:
        yield
    except MissingTypeError:
        for func in functions:
            _Uses().require_of(func)
        raise


class _Uses(DataTypeUses):
    def require(self, dtype: str, what: str, n: Node) -> None:
        """Reject a data type that code generation lacks."""
        try:
            register_type(dtype)
        except MissingTypeError:
            raise MissingTypeError(dtype, f"{what}{user_place(n.span)}") from None
