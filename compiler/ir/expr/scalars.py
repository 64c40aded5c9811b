"""The base class of expressions, variables and constants."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, ClassVar

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr import BaseExpr
from compiler.ir.expr.operators import ExprOperators
from compiler.ir.node import node
from compiler.ir.printing.format import text_of
from compiler.ir.types import PrimType, Type

__all__ = ["AnyDim", "FloatImm", "IntImm", "PrimExpr", "SizeVar", "StringImm", "Var"]


@node
class PrimExpr(BaseExpr, ExprOperators):
    """Base of all expressions; ``dtype`` is e.g. ``int32``, ``float32x8`` (eight lanes), ``bool``, ``handle``."""

    if TYPE_CHECKING:

        @property
        def dtype(self) -> str:
            """The data type; a field of each subclass."""

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__


@node
class Var(PrimExpr):
    """A variable, the same one only if it is the same object; two may have one name.

    The type of a pointer is its ``dtype``, as TVM's constructor takes it, or the ``type_annotation`` of a ``handle``.
    """

    unique_instance: ClassVar[bool] = True
    free_var: ClassVar[bool] = True

    name: str
    dtype: str = "int32"
    type_annotation: Type | None = None

    def __post_init__(self) -> None:
        if isinstance(self.dtype, Type):  # TVM's constructor takes a type in place of a data type
            object.__setattr__(self, "type_annotation", None if isinstance(self.dtype, PrimType) else self.dtype)
            object.__setattr__(self, "dtype", getattr(self.dtype, "dtype", "handle"))
        if not isinstance(self.name, str):
            raise ArgumentError(f"Var: name must be a string, got {self.name!r}")
        object.__setattr__(self, "dtype", dt.canonical(self.dtype))

    @property
    def name_hint(self) -> str:
        """The name, as TVM also calls it."""
        return self.name


@node
class SizeVar(Var):
    """A variable that is at least zero, such as a symbolic extent."""


@node
class IntImm(PrimExpr):
    """An integer or boolean constant; one that does not fit into its type is refused."""

    __match_args__ = ("value",)  # rules match the value; the dtype seldom matters

    dtype: str
    value: int

    def __post_init__(self) -> None:
        low, high = dt.constant_range(self.dtype)
        if self.dtype in ("uint1", "int1"):
            object.__setattr__(self, "dtype", "bool")
        if type(self.value) is not int:
            object.__setattr__(self, "value", _integer(self.value))
        if not low <= self.value <= high:
            raise ArgumentError(f"IntImm: {self.value} does not fit into {self.dtype} ({low} to {high})")

    def __hash__(self) -> int:
        # A constant is an element of a set, or a key, as the number is; one of another type is another one.
        return hash(self.value) if self.dtype == "int32" else hash((self.dtype, self.value))

    def __bool__(self) -> bool:
        return self.value != 0

    def __int__(self) -> int:
        return self.value

    __index__ = __int__


def int_value(e: PrimExpr) -> int:
    """Return the number that a constant integer is.

    Raises ArgumentError if the expression is not such a constant.
    """
    if not isinstance(e, IntImm):
        raise ArgumentError(f"expected a constant integer, got {show(e)}")
    return e.value


def _integer(value: object) -> int:
    if isinstance(value, (bool, int)) or (hasattr(value, "__index__") and not isinstance(value, BaseExpr)):
        return operator.index(value)
    raise DTypeError(f"IntImm: value must be an integer, got {show(value)}")


@node
class FloatImm(PrimExpr):
    """A floating-point constant, infinities and NaN included; a finite one beyond those of its type is refused."""

    __match_args__ = ("value",)

    dtype: str
    value: float

    def __post_init__(self) -> None:
        overflow = dt.float_overflow(self.dtype)
        if overflow <= abs(self.value) < math.inf:
            raise ArgumentError(f"FloatImm: {self.value} does not fit into {self.dtype} (less than {overflow:g})")

    def __bool__(self) -> bool:
        return self.value != 0

    def __float__(self) -> float:
        return self.value


@node
class StringImm(PrimExpr):
    """A string constant, at run time a pointer."""

    value: str
    dtype: str = "handle"

    def __eq__(self, other: object) -> bool:  # type: ignore[override]
        return isinstance(other, (StringImm, str)) and self.value == (other if isinstance(other, str) else other.value)

    def __ne__(self, other: object) -> bool:  # type: ignore[override]
        return not self == other

    def __hash__(self) -> int:
        return hash(self.value)


@node
class AnyDim(PrimExpr):
    """An extent that only the running program knows: ``relay.Any()``, printed as ``?``."""

    dtype: str = "int64"
