"""Producers of tensors, and reads of their elements."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from compiler.ir.expr.coercion import as_exprs
from compiler.ir.expr.scalars import PrimExpr
from compiler.ir.node import Node, node


@node
class DataProducer(Node):
    """Something whose elements can be read: a tensor of tensor expressions."""

    unique_instance: ClassVar[bool] = True

    name: str

    if TYPE_CHECKING:

        @property
        def dtype(self) -> str:
            """The data type of the elements; every subclass has one."""


@node
class ProducerLoad(PrimExpr):
    """One element of a :class:`DataProducer`, by an index for each dimension."""

    children: ClassVar[tuple[str, ...]] = ("indices",)

    producer: Any
    indices: tuple[PrimExpr, ...]
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if type(self.indices) is not tuple:
            object.__setattr__(self, "indices", as_exprs(self.indices))
        object.__setattr__(self, "dtype", self.producer.dtype)
