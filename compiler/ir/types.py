"""Types of variables beyond data types."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, ClassVar

from compiler.ir.attrs import Attrs
from compiler.ir.attrs.dict_attrs import NO_ATTRS
from compiler.ir.node import Node, node, structure
from compiler.ir.printing.format import text_of


class TypeKind(IntEnum):
    """What a type is the type of, with TVM's numbers."""

    Type = 0
    """Of values."""
    ShapeVar = 1
    """An extent in place of a type."""
    BaseType = 2
    """A data type in place of a type."""
    Constraint = 4
    """A condition on types."""
    AdtHandle = 5
    """Of nothing: it is the name of a data type, to be applied."""
    TypeData = 6
    """Of nothing: it defines a data type."""


@node
class Type(Node):
    """Base of all types; two types are equal if they are built alike."""

    def _key(self) -> object:
        """Return what tells this type from others of its class."""
        names, _ = structure(type(self))
        return tuple(getattr(self, name) for name in names)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__


class InferredTypes(tuple[Type, ...]):
    """Types that inference wrote on a node where none were: they follow from the node and are not part of it."""

    __slots__ = ()


@node
class PrimType(Type):
    """A scalar or a vector of machine data, e.g. ``PrimType("float32")``."""

    dtype: str


@node
class PointerType(Type):
    """A pointer to elements in a storage scope: ``global``, also if it is empty, ``shared``, ``local``."""

    element_type: PrimType
    storage_scope: str = "global"

    def __post_init__(self) -> None:
        if not self.storage_scope:
            object.__setattr__(self, "storage_scope", "global")


@node
class TypeVar(Type):
    """A type that a generic function or data type is open in; compared by identity."""

    unique_instance: ClassVar[bool] = True
    free_var: ClassVar[bool] = True

    name_hint: str
    kind: TypeKind = TypeKind.Type

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", TypeKind(self.kind))

    def _key(self) -> object:
        return id(self)


@node
class IncompleteType(Type):
    """A type that inference has not found yet; the same one only if it is the same object."""

    unique_instance: ClassVar[bool] = True
    free_var: ClassVar[bool] = True

    kind: TypeKind = TypeKind.Type

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", TypeKind(self.kind))

    def _key(self) -> object:
        return id(self)


@node
class TypeConstraint(Type):
    """A condition on types: base of :class:`TypeRelation`."""


@node
class TypeRelation(TypeConstraint):
    """The condition that the types of an operator's inputs, and then of its outputs, go together."""

    func: Any
    args: tuple[Type, ...]
    num_inputs: int
    attrs: Attrs = NO_ATTRS

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", tuple(self.args))
        object.__setattr__(self, "num_inputs", int(self.num_inputs))
        object.__setattr__(self, "attrs", NO_ATTRS if self.attrs is None else self.attrs)


@node
class FuncType(Type):
    """The type of a function."""

    defines: ClassVar[tuple[str, ...]] = ("type_params",)

    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[TypeVar, ...] = ()
    type_constraints: tuple[TypeConstraint, ...] = ()

    def __post_init__(self) -> None:
        for name in ("arg_types", "type_params", "type_constraints"):
            object.__setattr__(self, name, tuple(getattr(self, name) or ()))

    def _key(self) -> object:
        """Return what two equal types agree in: the variables that it binds count by their places."""
        if not self.type_params:
            return Type._key(self)
        places = {var: place for place, var in enumerate(self.type_params)}
        return (
            tuple(var.kind for var in places),
            *(_by_places(part, places) for part in (self.arg_types, self.ret_type, self.type_constraints)),
        )


def _by_places(part: object, places: Mapping[TypeVar, int]) -> object:
    """Return a part of a generic function's type, with places instead of the variables that the function binds."""
    if isinstance(part, TypeVar):
        return places.get(part, part)
    if isinstance(part, tuple):
        return tuple(_by_places(p, places) for p in part)
    if isinstance(part, FuncType) and part.type_params:
        return part
    if isinstance(part, Type):
        return (type(part).__name__, _by_places(part._key(), places))
    return part
