"""Types of graphs: tensors with shapes, tuples, functions, references, and algebraic data types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr.primexpr import AnyDim, IntImm, PrimExpr, Var, convert
from compiler.ir.extension import public_module
from compiler.ir.node import Node, node, structure
from compiler.ir.types import FuncType, IncompleteType, Type, TypeConstraint, TypeKind, TypeRelation, TypeVar

__all__ = [
    "AnyDim", "Dim", "FuncType", "GlobalTypeVar", "IncompleteType", "RefType", "ShapeVar", "TensorType", "TupleType",
    "Type", "TypeCall", "TypeConstraint", "TypeKind", "TypeRelation", "TypeVar", "is_dynamic", "scalar_type",
]  # fmt: skip

Dim = int | PrimExpr
"""One extent as relations compute with it: a number, or an expression where it is symbolic."""


def ShapeVar(name: str) -> TypeVar:
    """Return a variable that stands for an extent where a type stands."""
    return TypeVar(name, TypeKind.ShapeVar)


@node
class TensorType(Type):
    """A dense array of known rank and data type; without dimensions it is a scalar.

    Symbolic extents are variables of integers, unknown ones ``relay.Any()``; negative ones are refused.
    """

    shape: tuple[Any, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _shape(self.shape))
        if not isinstance(self.dtype, str):
            raise DTypeError(f"TensorType: dtype must be a string, got {show(self.dtype)}")
        object.__setattr__(self, "dtype", dt.canonical(self.dtype))

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The shape with plain ints where the extents are known."""
        return tuple(d.value if isinstance(d, IntImm) else d for d in self.shape)

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape as ints."""
        known = tuple(d.value for d in self.shape if isinstance(d, IntImm))
        if len(known) < len(self.shape):
            raise ArgumentError(f"concrete_shape: the shape of {self} is not fully known")
        return known

    @property
    def is_static(self) -> bool:
        """Whether every extent is a number."""
        return all(isinstance(d, IntImm) for d in self.shape)

    def _key(self) -> Any:
        return (tuple(_dim_key(d) for d in self.shape), self.dtype)


def _shape(shape: Sequence[Dim]) -> tuple[PrimExpr, ...]:
    if not isinstance(shape, (tuple, list)):
        raise ArgumentError(f"TensorType: shape must be a tuple of ints or expressions, got {show(shape)}")
    return tuple([d if type(d) is IntImm and d.dtype == "int32" and d.value >= 0 else _extent(d) for d in shape])


def _extent(value: Dim) -> PrimExpr:
    d = convert(value.value if isinstance(value, IntImm) else value)  # of one data type, however it was computed
    if not dt.is_integral(d.dtype) or (isinstance(d, IntImm) and d.value < 0):
        raise ArgumentError(f"TensorType: shape must be non-negative integers, got {show(d)}")
    return d


def _dim_key(d: Any) -> Any:
    """Return a hashable key of an extent; ``==`` on expressions makes an expression."""
    if isinstance(d, IntImm):
        return d.value
    if isinstance(d, AnyDim):
        return "?"
    if isinstance(d, Var):
        return ("var", id(d))
    if isinstance(d, Node):
        names, _ = structure(type(d))
        return (type(d).__name__, *(_dim_key(getattr(d, name)) for name in names))
    return tuple(_dim_key(item) for item in d) if isinstance(d, tuple) else d


def same_dim(a: Dim, b: Dim) -> bool:
    """Return whether two extents are certainly the same; two unknown ones (``?``) count as the same."""
    return bool(_dim_key(convert(a)) == _dim_key(convert(b)))


def joined_dim(a: Dim, b: Dim) -> Dim:
    """Return the extent of what has one of two extents: an unknown one is that of another tensor no longer."""
    is_known = not isinstance(a, AnyDim) and same_dim(a, b)
    return a if a is b or is_known else AnyDim()


def scalar_type(dtype: str) -> TensorType:
    """Return the type of a tensor without dimensions."""
    return TensorType((), dtype)


@node
class TupleType(Type):
    """Several values."""

    fields: tuple[Type, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))


@node
class RefType(Type):
    """A mutable reference."""

    value: Type


@node
class GlobalTypeVar(Type):
    """The name of an algebraic data type of a module; calling it applies the type to others: ``List(A)``.

    Its kind is that of the name of a data type, unless a program says otherwise.
    """

    name_hint: str
    kind: TypeKind = TypeKind.AdtHandle

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", TypeKind(self.kind))

    def __call__(self, *args: Type) -> TypeCall:
        return TypeCall(self, args)


@node
class TypeCall(Type):
    """A generic data type applied to types, such as ``List[Tensor[(), int32]]``."""

    func: Type
    args: tuple[Type, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", tuple(self.args))


def is_dynamic(tensor_type: TensorType) -> bool:
    """Return whether only the running program knows an extent of a tensor."""
    return any(isinstance(d, AnyDim) for d in tensor_type.shape)


def as_type(value: object, what: str) -> Type:
    """Return a type, or the type of a scalar of a data type's name."""
    if isinstance(value, Type):
        return value
    if isinstance(value, str):
        return scalar_type(value)
    raise ArgumentError(f"{what}: expected a type, got {show(value)}")


def tensor_types(types: Sequence[Type]) -> list[TensorType]:
    """Return the tensor types of a sequence of types, those of nested tuples in their order."""
    tensors: list[TensorType] = []
    for t in types:
        if isinstance(t, TensorType):
            tensors.append(t)
        elif isinstance(t, TupleType):
            tensors += tensor_types(t.fields)
        else:
            raise ArgumentError(f"expected tensors, or tuples of them, got {t}")
    return tensors


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.relay.ty", __all__)
